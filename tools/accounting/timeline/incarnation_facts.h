// One start of the training program (an incarnation), from its marks: steps, saves and phases.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/checkpoints.h"
#include "tools/accounting/timeline/saves.h"
#include "tools/accounting/timeline/steps.h"
#include "tools/accounting/timeline/timeline_parts.h"

namespace goodput {

// A period in which the loop did not train: a save, an evaluation, a custom phase.
struct PhaseSpan {
  Ns begin = 0;
  Ns end = 0;
  std::string name;  // empty for a save
  EvidenceRef from;
  EvidenceRef to;
  std::optional<Evidence> evidence = std::nullopt;  // absent: that of its record
};

struct IncarnationFacts {
  Incarnation summary;
  std::set<std::int32_t> slurm_steps;  // Slurm steps of its tasks
  std::optional<Ns> failed_at;         // when its first task ended other than with exit 0
  std::optional<int> failed_by;        // the signal that killed one of them
  std::vector<StepRecord> steps;       // by begin
  StepsOfParts parts;
  Arrivals arrivals;
  SaveRanges whole_saves;                // each of which began and ended within one step
  std::vector<PhaseSpan> saves;          // the others
  std::vector<PhaseSpan> save_parts;     // of these, and time after them that belongs to them
  std::vector<PhaseSpan> overhead;       // after the first step
  std::vector<PhaseSpan> failed_tries;   // of steps that the program tried again
  std::vector<PhaseSpan> startup_parts;  // before it
  Checkpoints checkpoints;
  std::vector<PhaseSpan> unknown;  // named by the reason
  std::vector<TimeSpan> cuts;      // saves, overhead, failed tries and unknown time, merged
  std::optional<Ns> last_evidence;
  DurationHistogram step_times;   // net durations of one step; without the first and last record
  std::optional<Ns> median_step;  // of these
  // Why its saves are unknown, if it does not mark them: AttemptFacts::checkpoints_unseen.
  std::string saves_unseen;
  bool placed = false;  // its steps were inferred from checkpoints
};

// Net time of [begin, end) without `cuts`.
Ns NetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end);
// The moment at which `net` of net time has passed since `begin`, at most `end`.
Ns AfterNetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end, Ns net);

}  // namespace goodput
