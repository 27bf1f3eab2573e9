// The cause of an incarnation's end, with the evidence for it and for other possible causes, and the cost of
// the interruption.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/stop_signal.h"
#include "tools/accounting/timeline/timeline_parts.h"

namespace goodput {

// How an attempt's end relates to a preemption that Slurm remembered; see stale_preempted_state.h.
enum class Remembered {
  kNone,
  kOfEarlier,   // its state PREEMPTED is left over from an earlier attempt's preemption
  kShownLater,  // its own preemption was not seen, but a later attempt's state shows it
};

// The information by which the end of one incarnation is judged.
struct EndContext {
  const AttemptFacts* attempt = nullptr;
  const IncarnationFacts* program = nullptr;
  const StepOutcome* fate = nullptr;
  bool last_of_attempt = true;
  std::optional<StopRequest> stop;    // that reached it before it ended
  std::optional<LastSeen> node_loss;  // that ended it
  std::optional<Ns> script_killed;    // when Slurm ended the batch script
  Remembered remembered = Remembered::kNone;
  // The next incarnation, if any, and when its attempt's resources were up.
  const IncarnationFacts* next = nullptr;
  bool next_in_same_attempt = false;
  bool next_of_same_job = false;
  std::optional<Ns> next_ready;
};

// Its tasks were gone before the requeue, so the requeue did not end them.
bool ExitedBeforeRequeue(const EndContext& context);

// The kernel killed it because memory ran out, whatever its script did then.
bool RanOutOfMemory(const EndContext& context);

// Whether Slurm expedites the requeue of a job whose attempt ended by `cause`. It does so after a node
// failed, or, seen by its flag, after epilogs failed, if the job asked for it.
bool IsExpedited(const AttemptFacts& attempt, const std::string& cause);

Interruption JudgeInterruption(const EndContext& context);

}  // namespace goodput
