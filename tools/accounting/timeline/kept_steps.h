// Decides which steps were kept, which separates productive time from lost work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// What became of one incarnation's steps. In this order:
//   1. A later incarnation of the same training ran steps: those below the smallest first step of all later
//      ones are kept, the rest is lost, whatever was saved. A logged restore step takes precedence over the
//      first logged number, and applies even before any step ran.
//   2. Exit 0 or a job end without a stop signal: kept.
//   3. Covered by a complete checkpoint: kept.
//   4. Running, or the run continues and its next step is unknown, or its saves are unknown, or it is not
//      known whether the next incarnation does the same training again: at risk.
//   5. Lost.
//
// A job may do several trainings one after another: folds, stages, the trials of a search. An incarnation
// begins another training if it begins with the first step, in the same allocation as the one before it, and
// that one had finished. Nothing tells how that one ended if a loop trains again in the same process, or if a
// script starts programs without srun. It had finished if the job completed and no start of the next training
// went beyond its last step, as one that does the same again would; otherwise it may have, and its steps are
// at risk.
struct StepOutcome {
  enum class Rule : std::uint8_t { kResumedAt, kFinished, kCheckpoints };
  Rule rule = Rule::kCheckpoints;
  std::int64_t kept_below = 0;  // kResumedAt: steps below this are kept
  // kCheckpoints: records whose work ended by this moment are kept; absent: none.
  std::optional<Ns> covered_until;
  Bucket uncovered = Bucket::kLostWork;  // kCheckpoints: the bucket of the rest
  std::string why;                       // for the steps not kept
  bool training_ends = false;            // the next program with steps begins another training
};

// A program, and how it ended.
struct Ended {
  const IncarnationFacts* program = nullptr;
  int allocation = 0;       // programs with the same number had the same one
  bool finished = false;    // with exit 0 or its job's end, without a stop signal
  bool unfinished = false;  // it was told to stop, or its log would tell if it had finished
  bool completed = false;   // its job
};

// One per program, in the given order (by attempt, then begin). `goes_on`: the run's last attempt is pending
// or running.
std::vector<StepOutcome> DecideOutcomes(const std::vector<Ended>& programs, bool goes_on);

// Counts the steps that the program may have done after those it reported (StepRecord::may_be_more): those
// that the next start did not repeat, or else as many as fit. If nothing tells of them, as after exit 0,
// none.
void SettleUntoldSteps(const StepOutcome& fate, IncarnationFacts& program);

// How many steps of the record are kept, from its first.
std::int64_t KeptSteps(const StepOutcome& fate, const StepRecord& step);

}  // namespace goodput
