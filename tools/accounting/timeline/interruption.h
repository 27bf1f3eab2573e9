// Why an incarnation ended, with the evidence for it and for its rivals, and what the interruption cost.
#pragma once

#include <optional>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/stop_signal.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// What an attempt's end has to do with a preemption that Slurm remembered: see remembered_preemption.h.
enum class Remembered {
  kNone,
  kOfEarlier,   // its state PREEMPTED is what is left of an earlier attempt's preemption
  kShownLater,  // nobody saw its preemption, but a later attempt's state tells of it
};

// What the end of one incarnation is judged by.
struct EndContext {
  const AttemptFacts* attempt = nullptr;
  const Program* program = nullptr;
  const StepOutcome* fate = nullptr;
  bool last_of_attempt = true;
  std::optional<StopRequest> stop;    // that reached it before it ended
  std::optional<LastSeen> node_loss;  // that ended it
  std::optional<Ns> script_killed;    // when Slurm ended the batch script
  Remembered remembered = Remembered::kNone;
  // The incarnation after it, if there is one, and when its attempt's resources were up.
  const Program* next = nullptr;
  bool next_in_same_attempt = false;
  std::optional<Ns> next_ready;
};

// Its tasks were gone when the requeue came: they did not leave because of that.
bool ExitedBeforeRequeue(const EndContext& context);

// The kernel killed it for want of memory, whatever its script made of that.
bool RanOutOfMemory(const EndContext& context);

Interruption JudgeInterruption(const EndContext& context);

}  // namespace goodput
