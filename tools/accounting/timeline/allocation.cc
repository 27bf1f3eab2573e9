#include "tools/accounting/timeline/allocation.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace goodput {
namespace {

bool IsNumbered(std::int32_t slurm_step) {
  return slurm_step >= 0;
}

// Sorted by time; the time is copied next to the pointer, since thousands of nodes have many events.
struct Timed {
  Ns t;
  const NodeEvent* event;
  friend bool operator<(const Timed& a, const Timed& b) {
    if (a.t != b.t) return a.t < b.t;
    const auto rest = [](const NodeEvent& e) {
      return std::tie(e.kind, e.node, e.slurm_step, e.task, e.ref.source, e.ref.offset);
    };
    return rest(*a.event) < rest(*b.event);
  }
};

std::vector<Timed> InOrder(const std::vector<NodeEvent>& events) {
  std::vector<Timed> sorted;
  sorted.reserve(events.size());
  for (const NodeEvent& event : events) sorted.push_back({event.t, &event});
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Resources are up when the extern step has started on the last node; without PrologFlags=Contain there is no
// extern step, and the first step of any kind counts. srun alone starts both at once, and a node where either
// has started is up.
void FindReady(const std::vector<Timed>& events, Allocation& allocation) {
  for (const bool want_extern : {true, false}) {
    std::unordered_set<std::int32_t> nodes;
    std::unordered_map<std::int32_t, const NodeEvent*> up;  // the first start of any step, by node
    std::optional<std::int32_t> first_step;
    // If several nodes are last at the same time, the first.
    const NodeEvent* last = nullptr;
    for (const auto& [t, event] : events) {
      if (event->kind != NodeEvent::Kind::kStepStart) continue;
      const NodeEvent* const first = up.try_emplace(event->node, event).first->second;
      if ((event->slurm_step == kExternStep) != want_extern) continue;
      if (!want_extern) {
        if (!first_step) first_step = event->slurm_step;
        if (event->slurm_step != *first_step) continue;
      }
      if (nodes.insert(event->node).second && (last == nullptr || first->t > last->t)) last = first;
    }
    if (last == nullptr) continue;
    allocation.ready = std::clamp(last->t, allocation.begin, allocation.end);
    allocation.ready_ref = last->ref;
    return;
  }
}

// A task or a node of a step.
std::uint64_t OfStep(std::int32_t slurm_step, std::int32_t number) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(slurm_step)) << 32U |
         static_cast<std::uint32_t>(number);
}

// Tasks whose exit was not seen were gone when their step had ended on their node.
void EndWithSteps(const std::vector<Timed>& events, const std::vector<std::int32_t>& node_of,
                  Allocation& allocation) {
  std::unordered_map<std::uint64_t, const NodeEvent*> ends;
  for (const auto& [t, event] : events) {
    if (event->kind == NodeEvent::Kind::kStepEnd)
      ends.try_emplace(OfStep(event->slurm_step, event->node), event);
  }
  for (std::size_t i = 0; i < allocation.lives.size(); ++i) {
    TaskLife& life = allocation.lives[i];
    const auto end = life.end ? ends.end() : ends.find(OfStep(life.slurm_step, node_of[i]));
    if (end == ends.end()) continue;
    life.end = std::clamp(end->second->t, allocation.begin, allocation.end);
    life.exited = end->second->ref;
  }
}

// Each task's first start, and its first exit after that.
void ReadLives(const std::vector<Timed>& events, Allocation& allocation) {
  std::unordered_map<std::uint64_t, std::size_t> place;  // in lives
  std::vector<std::int32_t> node_of;
  std::vector<TaskLife>& lives = allocation.lives;
  const auto clamp = [&](Ns t) { return std::clamp(t, allocation.begin, allocation.end); };
  std::size_t open = 0;
  for (const auto& [t, event] : events) {
    if (event->slurm_step == kExternStep) continue;
    if (event->kind == NodeEvent::Kind::kTaskStart) {
      if (!place.try_emplace(OfStep(event->slurm_step, event->task), lives.size()).second) continue;
      TaskLife& life = lives.emplace_back();
      life.slurm_step = event->slurm_step;
      life.task = event->task;
      life.begin = clamp(t);
      life.started = event->ref;
      node_of.push_back(event->node);
      ++open;
    } else if (event->kind == NodeEvent::Kind::kTaskExec) {
      // Until then, plugins set up its environment (a container).
      const auto found = place.find(OfStep(event->slurm_step, event->task));
      if (found == place.end()) continue;
      TaskLife& life = lives[found->second];
      if (life.end && life.executed) continue;
      // One that never executed its program was set up until it exited, even if a clock that was set in
      // between puts this record behind the exit.
      life.begin = life.end ? *life.end : clamp(t);
      life.executed = life.exit_time.value_or(t);
      life.started = event->ref;
    } else if (event->kind == NodeEvent::Kind::kTaskExit) {
      const auto found = place.find(OfStep(event->slurm_step, event->task));
      if (found == place.end() || lives[found->second].end) continue;
      TaskLife& life = lives[found->second];
      life.end = clamp(t);
      life.exit_time = t;
      if (event->slurm_step == kBatchStep && event->signal) allocation.script_killed = t;
      life.exit_code = event->exit_code;
      life.exit_signal = event->signal;
      life.exited = event->ref;
      --open;
    }
  }
  if (open > 0) EndWithSteps(events, node_of, allocation);
  std::sort(lives.begin(), lives.end(), [](const TaskLife& a, const TaskLife& b) {
    return std::tie(a.slurm_step, a.task) < std::tie(b.slurm_step, b.task);
  });
}

}  // namespace

std::vector<TimeSpan> MergeSpans(std::vector<TimeSpan> spans) {
  const auto before = [](const TimeSpan& a, const TimeSpan& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  };
  // A save after every few steps is in order.
  if (!std::is_sorted(spans.begin(), spans.end(), before)) std::sort(spans.begin(), spans.end(), before);
  std::vector<TimeSpan> merged;
  merged.reserve(spans.size());
  for (const TimeSpan& span : spans) {
    if (span.begin >= span.end) continue;
    if (!merged.empty() && span.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

Allocation ReadAllocation(const AttemptFacts& attempt, Ns now) {
  Allocation allocation;
  allocation.begin = attempt.start.value_or(attempt.submit);
  if (attempt.allocated) allocation.begin = std::clamp(*attempt.allocated, attempt.submit, allocation.begin);
  allocation.ended = attempt.end.has_value();
  allocation.end = std::max(allocation.begin, attempt.end.value_or(now));

  const std::vector<Timed> events = InOrder(attempt.node_events);
  FindReady(events, allocation);

  for (const Suspension& one : attempt.suspended) {
    allocation.suspended.push_back(
        {std::max(one.begin, allocation.begin), std::min(one.end, allocation.end)});
  }
  allocation.suspended = MergeSpans(std::move(allocation.suspended));

  ReadLives(events, allocation);
  bool all_gone = !allocation.lives.empty() && allocation.ended;
  for (const TaskLife& life : allocation.lives) {
    if (!life.end) {
      all_gone = false;
    } else if (!allocation.teardown || *life.end > *allocation.teardown) {
      allocation.teardown = life.end;
      allocation.teardown_ref = life.exited;
    }
  }
  if (!all_gone) allocation.teardown.reset();
  return allocation;
}

std::vector<std::int32_t> ProgramSteps(const AttemptFacts& attempt, const Allocation& allocation) {
  std::set<std::int32_t> steps;
  std::set<std::int32_t> shells;
  for (const TaskLife& life : allocation.lives) {
    (IsNumbered(life.slurm_step) ? steps : shells).insert(life.slurm_step);
  }
  for (const StepMark& mark : attempt.step_marks) steps.insert(mark.slurm_step);
  for (const StepBlock& block : attempt.step_blocks) steps.insert(block.first.slurm_step);
  for (const Mark& mark : attempt.marks) steps.insert(mark.slurm_step);
  for (const SaveBlock& block : attempt.save_blocks) steps.insert(block.slurm_step);
  if (steps.empty()) steps = shells;
  return {steps.begin(), steps.end()};
}

std::vector<TimeSpan> AliveSpans(const AttemptFacts& attempt, const Allocation& allocation,
                                 const std::vector<std::int32_t>& slurm_steps) {
  std::vector<TimeSpan> spans;
  for (const std::int32_t slurm_step : slurm_steps) {
    bool lived = false;
    for (const TaskLife& life : allocation.lives) {
      if (life.slurm_step != slurm_step) continue;
      lived = true;
      spans.push_back({life.begin, life.end.value_or(allocation.end)});
    }
    if (lived) continue;
    std::optional<Ns> first;
    const auto see = [&](std::int32_t step, Ns t) {
      if (step == slurm_step && (!first || t < *first)) first = t;
    };
    for (const StepMark& mark : attempt.step_marks) see(mark.slurm_step, mark.t);
    for (const StepBlock& block : attempt.step_blocks) see(block.first.slurm_step, block.first.t);
    for (const Mark& mark : attempt.marks) see(mark.slurm_step, mark.t);
    for (const SaveBlock& block : attempt.save_blocks) see(block.slurm_step, block.saves.front().begin);
    if (first) spans.push_back({std::max(*first, allocation.begin), allocation.end});
  }
  return MergeSpans(std::move(spans));
}

}  // namespace goodput
