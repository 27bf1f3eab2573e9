// Decides which steps were kept, which separates productive time from lost work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// What became of one incarnation's steps. In this order:
//   1. A later incarnation ran steps: those below the smallest first step of all later ones are kept, the
//      rest is lost, whatever was saved. A logged restore step takes precedence over the first logged number,
//      and applies even before any step ran.
//   2. Exit 0 or a job end without a stop signal: kept.
//   3. Covered by a complete checkpoint: kept.
//   4. Running, or the run continues and its next step is unknown, or its saves are unknown: at risk.
//   5. Lost.
struct StepOutcome {
  enum class Rule : std::uint8_t { kResumedAt, kFinished, kCheckpoints };
  Rule rule = Rule::kCheckpoints;
  std::int64_t kept_below = 0;  // kResumedAt: steps below this are kept
  // kCheckpoints: records whose work ended by this moment are kept; absent: none.
  std::optional<Ns> covered_until;
  Bucket uncovered = Bucket::kLostWork;  // kCheckpoints: the bucket of the rest
  std::string why;                       // for the steps not kept
};

// One per program, in the given order (by attempt, then begin). `finished[i]`: program i ended with exit 0 or
// its job's end, without a stop signal. `goes_on`: the run's last attempt is pending or running.
std::vector<StepOutcome> DecideOutcomes(const std::vector<const IncarnationFacts*>& programs,
                                        const std::vector<bool>& finished, bool goes_on);

// Counts the steps that the program may have done after those it reported (StepRecord::may_be_more): those
// that the next start did not repeat, or else as many as fit. If nothing tells of them, as after exit 0,
// none.
void SettleUntoldSteps(const StepOutcome& fate, IncarnationFacts& program);

// How many steps of the record are kept, from its first.
std::int64_t KeptSteps(const StepOutcome& fate, const StepRecord& step);

}  // namespace goodput
