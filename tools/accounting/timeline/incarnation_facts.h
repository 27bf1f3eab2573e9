// One start of the training program (an incarnation), from what it marked: its steps, saves and phases.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/steps.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// A stretch the loop did not train: a save, an evaluation, a custom phase.
struct PhaseSpan {
  Ns begin = 0;
  Ns end = 0;
  std::string name;  // empty for a save
  EvidenceRef from;
  EvidenceRef to;
  std::optional<Evidence> evidence = std::nullopt;  // absent: as the record it is from
};

struct Program {
  Incarnation summary;
  std::set<std::int32_t> slurm_steps;  // its tasks are of
  std::optional<Ns> failed_at;         // when the first of them ended other than with exit 0
  std::optional<int> failed_by;        // the signal that one died of
  std::vector<StepRecord> steps;       // by begin
  DurationHistogram parts;             // what the steps of parts of blocks took
  std::vector<PhaseSpan> saves;
  std::vector<PhaseSpan> overhead;       // after the first step
  std::vector<PhaseSpan> startup_parts;  // before it
  std::vector<Checkpoint> checkpoints;
  std::vector<PhaseSpan> unknown;  // named by why
  std::vector<TimeSpan> cuts;      // saves, overhead and what is unknown, merged
  std::optional<Ns> last_evidence;
  DurationHistogram step_times;   // net, of a step each; first and last record left out
  std::optional<Ns> median_step;  // of these
  // Why nobody knows what it saved, where it does not say itself: AttemptFacts::checkpoints_unseen.
  std::string saves_unseen;
  bool placed = false;  // its steps were not told, but placed between checkpoints
};

// Net time of [begin, end) after `cuts`.
Ns NetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end);
// The moment at which `net` of net time has passed since `begin`, at most `end`.
Ns AfterNetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end, Ns net);

}  // namespace goodput
