// What a timeline consists of besides its intervals. Functions that make one of these include this and not
// the whole timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct TimelineOptions {
  // A step whose net time exceeds max(stall_factor x expected, 1 s) has stalled.
  double stall_factor = 5;
};

// One start of the program: an attempt or, within it, a new srun or a lower step number.
struct Incarnation {
  int attempt = 0;   // index into Timeline::attempts
  int training = 0;  // counts those that the run did one after another (kept_steps.h)
  std::int32_t slurm_step = kNoStep;
  Ns begin = 0;
  Ns end = 0;
  bool ended = false;  // false: still running
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> kept_step;  // the highest kept step
  std::optional<Ns> first_step_begin;
  // What the first step took beyond the mean of the others and still counts as productive.
  Ns first_step_excess = 0;
  std::optional<Ns> last_step_begin;
  std::optional<Ns> last_progress;  // the end of the last finished step
  std::optional<std::int64_t> restored_step;
  std::optional<Ns> exited;      // when the last of its tasks exited, possibly after the attempt's end
  std::optional<int> exit_code;  // the worst of its tasks
  std::optional<int> exit_signal;
  bool replaced = false;  // another process replaced its own, in the same task
};

struct Checkpoint {
  int incarnation = 0;
  std::optional<std::int64_t> step;
  Ns begin = 0;
  std::optional<Ns> complete;
  Evidence evidence = Evidence::kMark;
  EvidenceRef ref;
  EvidenceRef complete_ref;       // of a file
  Ns earlier = 0;                 // it may have begun up to this much earlier
  bool stands_for_steps = false;  // of a program that reports saves, but no steps
};

// One attempt as reports show it.
struct AttemptSummary {
  // Points into the RunFacts given to BuildTimeline, or into Timeline::mended.
  const AttemptFacts* facts = nullptr;
  std::optional<Ns> ready;  // resources up on the last node
  std::optional<std::int64_t> first_step;
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> kept_step;
};

struct Interruption {
  int attempt = 0;
  Ns time = 0;
  std::string cause;
  bool planned = false;
  std::string node;
  // How the run went on: "in_place" (in the same allocation), "expedite" (Slurm's expedited requeue), "ajr"
  // (a requeue of a job that asks NVIDIA's Autonomous Job Recovery for it, of no other cause), "requeue" (any
  // other, of the same job), "resubmit" (another job). Empty: it did not.
  std::string recovery;
  std::optional<Ns> t_ch;      // begin of the last kept checkpoint -> last progress
  std::optional<Ns> t_detect;  // last progress -> end
  std::optional<Ns> t_re;      // end -> resources up
  std::optional<Ns> t_rm;      // resources up -> first step
  std::vector<std::string> evidence;
};

// A step that took far longer than normal.
struct Stall {
  int attempt = 0;
  std::int64_t step = 0;  // the last reported number
  Ns last_progress = 0;   // when that step began, or the last save or phase in it ended
  Ns begin = 0;  // the time in the bucket `stall` lies within [begin, end); begin is one usual step later
  Ns end = 0;
  Ns ns = 0;               // time of it in the bucket
  bool recovered = false;  // a later step began; false: the program ended in it
  EvidenceRef ref;         // of the step
};

struct StepCounts {
  int trainings = 0;          // with steps, one after another: folds, stages, trials
  std::int64_t executed = 0;  // each try of a step counts
  std::int64_t kept = 0;
  std::int64_t lost = 0;
  std::int64_t failed = 0;  // of those lost: tries that failed, after which the program went on
  std::int64_t at_risk = 0;
  std::optional<Ns> median;
  // Of the kept steps of a run with marks of the world that all tell them (kept_tokens.h).
  std::optional<double> kept_tokens;
  // Of all incarnations whose first step began within the timeline.
  Ns first_step_excess = 0;
};

}  // namespace goodput
