#include "tools/accounting/timeline/stale_preempted_state.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <string_view>

namespace goodput {
namespace {

constexpr std::string_view kSlurm = "slurmstepd";

bool StateAlone(const EndContext& end) {
  return end.attempt->state == "PREEMPTED" && !end.attempt->preempt_time;
}

bool WasGivenATime(const EndContext& end) {
  return end.attempt->preempt_time.has_value();
}

// Whether or not it obeyed. After a task has failed, signals are Slurm's way of ending the others.
bool WasSentTerm(const EndContext& end) {
  const IncarnationFacts& program = *end.program;
  const Ns until = program.failed_at.value_or(program.summary.exited.value_or(program.summary.end));
  const std::vector<SignalFact>& signals = end.attempt->signals;
  return std::any_of(signals.begin(), signals.end(), [&](const SignalFact& signal) {
    return signal.signo == SIGTERM && signal.sender == kSlurm && signal.t <= until &&
           program.slurm_steps.count(signal.slurm_step) != 0;
  });
}

bool EndedUntold(const EndContext& end) {
  if (end.program == nullptr || end.stop || WasSentTerm(end)) return false;
  return end.program->summary.exit_code && !end.program->summary.exit_signal;
}

// Slurm's signals are seen on the nodes of this job, so without any it was not told to end.
bool ShowsSignals(const EndContext& end) {
  const std::vector<SignalFact>& signals = end.attempt->signals;
  return std::any_of(signals.begin(), signals.end(),
                     [](const SignalFact& signal) { return signal.sender == kSlurm; });
}

// A requeue also sends TERM, but not earlier.
bool LeftBeforeItsRequeue(const EndContext& end) {
  if (end.attempt->state != "REQUEUED" || end.program == nullptr || !end.stop) return false;
  return end.stop->signo == SIGTERM && end.stop->sender == kSlurm && ExitedBeforeRequeue(end);
}

}  // namespace

std::vector<Remembered> FindRemembered(const std::vector<EndContext>& ends) {
  std::vector<Remembered> remembered(ends.size(), Remembered::kNone);
  for (std::size_t later = 0; later < ends.size(); ++later) {
    const EndContext& end = ends[later];
    if (!StateAlone(end)) continue;
    // The closest earlier attempt for which `was` holds; another stale state in between has used up the
    // remembered preemption.
    const auto find = [&](const std::function<bool(const EndContext&)>& was) -> std::optional<std::size_t> {
      for (std::size_t i = later; i-- > 0;) {
        if (ends[i].attempt->job_id != end.attempt->job_id) continue;
        if (StateAlone(ends[i])) break;
        if (was(ends[i])) return i;
      }
      return std::nullopt;
    };
    if (const std::optional<std::size_t> timed = find(WasGivenATime)) {
      // On a busy cluster, another job takes the nodes of any job that ends.
      const bool untold = EndedUntold(end) && ShowsSignals(ends[*timed]);
      if (end.attempt->preempted_by.empty() || untold) remembered[later] = Remembered::kOfEarlier;
      continue;
    }
    const std::optional<std::size_t> told = find(LeftBeforeItsRequeue);
    if (!told || !EndedUntold(end)) continue;
    remembered[*told] = Remembered::kShownLater;
    remembered[later] = Remembered::kOfEarlier;
  }
  return remembered;
}

}  // namespace goodput
