#include "tools/timeline/stop_signal.h"

#include <algorithm>
#include <csignal>
#include <tuple>
#include <vector>

#include "tools/base/signal_name.h"
#include "tools/timeline/signal_ledger.h"

namespace goodput {
namespace {

bool InitialState(const AttemptFacts& attempt) {
  return !attempt.end && attempt.state != "COMPLETED";
}

// Steps begun since; where none is known, the time since, but for one checkpoint.
bool ObeyedBy(const AttemptFacts& attempt, const Program& program, Ns signal, Ns end) {
  if (!attempt.step_marks.empty() || !attempt.step_blocks.empty())
    return StepsBegun(attempt, signal, end) <= kStepsToObey;
  // More than one checkpoint is training that went on.
  const auto later = std::count_if(program.checkpoints.begin(), program.checkpoints.end(),
                                   [&](const Checkpoint& checkpoint) { return checkpoint.begin >= signal; });
  if (later > 1) return false;
  Ns from = signal;
  for (const Checkpoint& checkpoint : program.checkpoints) {
    if (checkpoint.begin < signal || checkpoint.begin - signal > kTimeToObey) continue;
    // One that was never complete kept it busy until the end.
    from = std::max(from, checkpoint.complete.value_or(end));
    break;
  }
  return end - from <= kTimeToObey;
}

bool Orders(const AttemptFacts& attempt, const Program& program, const std::vector<int>& asking,
            const SignalFact& signal) {
  const Incarnation& summary = program.summary;
  const bool asks =
      signal.signo == SIGTERM || std::find(asking.begin(), asking.end(), signal.signo) != asking.end();
  if (!asks || signal.ignored || IsOwnAffair(signal)) return false;
  // The batch script stands for the program it runs.
  if (signal.slurm_step != kBatchStep && program.slurm_steps.count(signal.slurm_step) == 0) return false;
  const Ns end = summary.exited.value_or(summary.end);
  if (signal.t < summary.begin || signal.t > end) return false;
  if (program.failed_at && *program.failed_at < signal.t) return false;
  if (!summary.ended) return signal.signo == SIGTERM;
  return ObeyedBy(attempt, program, signal.t, end);
}

}  // namespace

std::optional<StopOrder> FindStopOrder(const AttemptFacts& attempt, const Program& program) {
  std::optional<StopOrder> order;
  if (attempt.preempt_time && *attempt.preempt_time <= program.summary.end &&
      *attempt.preempt_time >= program.summary.begin) {
    order = StopOrder{*attempt.preempt_time, 0, "", Evidence::kScheduler, {}};
  }
  const std::vector<int> asking = CheckpointSignals(attempt);
  const auto key = [](const StopOrder& one) {
    return std::tie(one.t, one.signo, one.sender, one.ref.source, one.ref.offset);
  };
  for (const SignalFact& signal : attempt.signals) {
    if (!Orders(attempt, program, asking, signal)) continue;
    const StopOrder its{signal.t, signal.signo, signal.sender, Evidence::kSignal, signal.ref};
    if (!order || key(its) < key(*order)) order = its;
  }
  return order;
}

std::string InWords(const StopOrder& order) {
  if (order.signo == 0) return "the scheduler preempted it";
  return SignalName(order.signo) + (order.sender.empty() ? "" : " from " + order.sender);
}

bool Finished(const AttemptFacts& attempt, const Program& program, const std::optional<StopOrder>& stop,
              bool last_of_attempt) {
  if (!program.summary.ended || stop) return false;
  if (program.summary.exit_code || program.summary.exit_signal) {
    return !program.summary.exit_signal && program.summary.exit_code.value_or(0) == 0 &&
           (!last_of_attempt || attempt.state == "COMPLETED" || InitialState(attempt));
  }
  return last_of_attempt && attempt.state == "COMPLETED";
}

}  // namespace goodput
