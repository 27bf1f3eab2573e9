#include "tools/accounting/timeline/node_loss.h"

#include <algorithm>
#include <tuple>

namespace goodput {
namespace {

void CutAt(Ns t, std::vector<PhaseSpan>& spans) {
  for (PhaseSpan& span : spans) {
    span.begin = std::min(span.begin, t);
    span.end = std::min(span.end, t);
  }
}

}  // namespace

std::optional<LastSeen> FindNodeLoss(const AttemptFacts& attempt, const IncarnationFacts& program) {
  const bool told =
      attempt.state == "NODE_FAIL" || !attempt.failed_node.empty() || !attempt.down_nodes.empty();
  if (!told || !attempt.end || !program.summary.ended) return std::nullopt;
  // The node that the controller names, or the one that fell silent first.
  std::optional<LastSeen> lost;
  for (const bool named : {true, false}) {
    for (const LastSeen& seen : attempt.last_seen) {
      if (named && seen.node != attempt.failed_node) continue;
      if (!lost || std::tie(seen.t, seen.node) < std::tie(lost->t, lost->node)) lost = seen;
    }
    if (lost) break;
  }
  if (!lost) return std::nullopt;
  // Later marks of the program prove that it still lived.
  for (const Checkpoint& checkpoint : program.checkpoints)
    lost->t = std::max(lost->t, checkpoint.complete.value_or(checkpoint.begin));
  lost->t = std::max({lost->t, program.last_evidence.value_or(lost->t), program.summary.begin});
  if (lost->t >= program.summary.end) return std::nullopt;
  return lost;
}

void EndWithNode(const LastSeen& lost, IncarnationFacts& program) {
  CutAt(lost.t, program.saves);
  CutAt(lost.t, program.save_parts);
  CutAt(lost.t, program.overhead);
  CutAt(lost.t, program.startup_parts);
  for (TimeSpan& cut : program.cuts) {
    cut.begin = std::min(cut.begin, lost.t);
    cut.end = std::min(cut.end, lost.t);
  }
  if (program.steps.empty()) return;
  StepRecord& last = program.steps.back();
  if (last.end <= lost.t) return;
  last.work_end = last.work_end == last.end ? lost.t : std::min(last.work_end, lost.t);
  last.end = lost.t;
  last.net = NetTime(program.cuts, last.begin, last.end);
}

}  // namespace goodput
