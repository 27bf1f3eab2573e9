#include "tools/accounting/timeline/stop_signal.h"

#include <algorithm>
#include <csignal>
#include <tuple>
#include <vector>

#include "tools/accounting/timeline/signal_ledger.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

bool InitialState(const AttemptFacts& attempt) {
  return !attempt.end && attempt.state != "COMPLETED";
}

// Steps begun since then; if no step is known, the time since, ignoring one checkpoint.
bool ObeyedBy(const AttemptFacts& attempt, const IncarnationFacts& program, Ns signal, Ns end) {
  if (!attempt.step_marks.empty() || !attempt.step_blocks.empty())
    return StepsBegun(attempt, signal, end) <= kStepsToObey;
  // More than one checkpoint means that training continued.
  const auto later = std::count_if(program.checkpoints.begin(), program.checkpoints.end(),
                                   [&](const Checkpoint& checkpoint) { return checkpoint.begin >= signal; });
  if (later > 1) return false;
  Ns from = signal;
  for (const Checkpoint& checkpoint : program.checkpoints) {
    if (checkpoint.begin < signal || checkpoint.begin - signal > kTimeToObey) continue;
    // One that never completed kept it busy until the end.
    from = std::max(from, checkpoint.complete.value_or(end));
    break;
  }
  return end - from <= kTimeToObey;
}

// Whether it reached this program while it lived; whether it was obeyed is another question.
bool Asks(const IncarnationFacts& program, const std::vector<int>& asking, const SignalFact& signal) {
  const Incarnation& summary = program.summary;
  const bool asks =
      signal.signo == SIGTERM || std::find(asking.begin(), asking.end(), signal.signo) != asking.end();
  if (!asks || signal.ignored || IsOwnAffair(signal)) return false;
  // The batch script represents the program that it runs.
  if (signal.slurm_step != kBatchStep && program.slurm_steps.count(signal.slurm_step) == 0) return false;
  const Ns end = summary.exited.value_or(summary.end);
  if (signal.t < summary.begin || signal.t > end) return false;
  if (program.failed_at && *program.failed_at < signal.t) return false;
  return summary.ended || signal.signo == SIGTERM;
}

// What the program itself reports, if no signal was seen.
std::optional<StopRequest> OwnWord(const AttemptFacts& attempt, const IncarnationFacts& program) {
  const Incarnation& summary = program.summary;
  const Mark* first = nullptr;
  for (const Mark& mark : attempt.marks) {
    const bool its = mark.kind == Mark::Kind::kStop && mark.t >= summary.begin &&
                     mark.t <= summary.exited.value_or(summary.end) &&
                     (mark.slurm_step == kBatchStep || program.slurm_steps.count(mark.slurm_step) != 0);
    if (its && (first == nullptr || mark.t < first->t)) first = &mark;
  }
  if (first == nullptr) return std::nullopt;
  return StopRequest{first->t, 0, "", Evidence::kLog, first->ref};
}

}  // namespace

std::optional<StopRequest> FindStopRequest(const AttemptFacts& attempt, const IncarnationFacts& program) {
  std::optional<StopRequest> order;
  if (attempt.preempt_time && *attempt.preempt_time <= program.summary.end &&
      *attempt.preempt_time >= program.summary.begin) {
    order = StopRequest{*attempt.preempt_time, 0, "", Evidence::kScheduler, {}};
  }
  const std::vector<int> asking = CheckpointSignals(attempt);
  std::vector<const SignalFact*> asked;
  for (const SignalFact& signal : attempt.signals) {
    if (Asks(program, asking, signal)) asked.push_back(&signal);
  }
  const auto before = [](const SignalFact* a, const SignalFact* b) {
    return std::tie(a->t, a->signo, a->sender, a->ref.source, a->ref.offset) <
           std::tie(b->t, b->signo, b->sender, b->ref.source, b->ref.offset);
  };
  std::sort(asked.begin(), asked.end(), before);
  // The later the signal, the less was done after it.
  const Ns end = program.summary.exited.value_or(program.summary.end);
  const auto obeyed = std::partition_point(asked.begin(), asked.end(), [&](const SignalFact* signal) {
    return program.summary.ended && !ObeyedBy(attempt, program, signal->t, end);
  });
  if (obeyed == asked.end() && !order) return OwnWord(attempt, program);
  if (obeyed == asked.end() || (order && order->t <= (*obeyed)->t)) return order;
  const SignalFact& first = **obeyed;
  return StopRequest{first.t, first.signo, first.sender, Evidence::kSignal, first.ref};
}

std::string InWords(const StopRequest& order) {
  if (order.signo == 0)
    return order.evidence == Evidence::kLog ? "its own output" : "the scheduler preempted it";
  return SignalName(order.signo) + (order.sender.empty() ? "" : " from " + order.sender);
}

bool Finished(const AttemptFacts& attempt, const IncarnationFacts& program,
              const std::optional<StopRequest>& stop, bool last_of_attempt) {
  if (!program.summary.ended || stop) return false;
  if (program.summary.exit_code || program.summary.exit_signal) {
    return !program.summary.exit_signal && program.summary.exit_code.value_or(0) == 0 &&
           (!last_of_attempt || attempt.state == "COMPLETED" || InitialState(attempt));
  }
  return last_of_attempt && attempt.state == "COMPLETED";
}

}  // namespace goodput
