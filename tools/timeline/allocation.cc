#include "tools/timeline/allocation.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

bool IsNumbered(std::int32_t slurm_step) {
  return slurm_step >= 0;
}

std::vector<const NodeEvent*> InOrder(const std::vector<NodeEvent>& events) {
  std::vector<const NodeEvent*> sorted;
  sorted.reserve(events.size());
  for (const NodeEvent& event : events) sorted.push_back(&event);
  std::sort(sorted.begin(), sorted.end(), [](const NodeEvent* a, const NodeEvent* b) {
    return std::tie(a->t, a->kind, a->node, a->slurm_step, a->task, a->ref.source, a->ref.offset) <
           std::tie(b->t, b->kind, b->node, b->slurm_step, b->task, b->ref.source, b->ref.offset);
  });
  return sorted;
}

struct NodeReady {
  Ns t;
  EvidenceRef ref;
};

// Resources are up when the last node's first extern step has started; Slurm without PrologFlags=Contain has
// no extern step, and then the first step of any kind has to do.
void FindReady(const std::vector<const NodeEvent*>& events, Allocation& allocation) {
  for (const bool want_extern : {true, false}) {
    std::map<std::string, NodeReady> first;
    std::optional<std::int32_t> first_step;
    for (const NodeEvent* event : events) {
      if (event->kind != NodeEvent::Kind::kStepStart) continue;
      if ((event->slurm_step == kExternStep) != want_extern) continue;
      if (!want_extern) {
        if (!first_step) first_step = event->slurm_step;
        if (event->slurm_step != *first_step) continue;
      }
      first.emplace(event->node, NodeReady{event->t, event->ref});
    }
    if (first.empty()) continue;
    for (const auto& [node, ready] : first) {
      if (!allocation.ready || ready.t > *allocation.ready) {
        allocation.ready = ready.t;
        allocation.ready_ref = ready.ref;
      }
    }
    allocation.ready = std::clamp(*allocation.ready, allocation.begin, allocation.end);
    return;
  }
}

}  // namespace

std::vector<TimeSpan> MergeSpans(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const TimeSpan& a, const TimeSpan& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::vector<TimeSpan> merged;
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

  const std::vector<const NodeEvent*> events = InOrder(attempt.node_events);
  FindReady(events, allocation);

  for (const Suspension& one : attempt.suspended) {
    allocation.suspended.push_back(
        {std::max(one.begin, allocation.begin), std::min(one.end, allocation.end)});
  }
  allocation.suspended = MergeSpans(std::move(allocation.suspended));

  std::map<std::pair<std::int32_t, std::int32_t>, TaskLife> lives;
  std::map<std::pair<std::int32_t, std::string>, const NodeEvent*> step_ends;
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> node_of;
  const auto clamp = [&](Ns t) { return std::clamp(t, allocation.begin, allocation.end); };
  for (const NodeEvent* event : events) {
    if (event->slurm_step == kExternStep) continue;
    const std::pair key{event->slurm_step, event->task};
    if (event->kind == NodeEvent::Kind::kTaskStart) {
      TaskLife life;
      life.slurm_step = event->slurm_step;
      life.task = event->task;
      life.begin = clamp(event->t);
      life.started = event->ref;
      lives.emplace(key, life);
      node_of.emplace(key, event->node);
    } else if (event->kind == NodeEvent::Kind::kTaskExit) {
      auto found = lives.find(key);
      if (found == lives.end() || found->second.end) continue;
      found->second.end = clamp(event->t);
      found->second.exit_time = event->t;
      if (event->slurm_step == kBatchStep && event->signal) allocation.script_killed = event->t;
      found->second.exit_code = event->exit_code;
      found->second.exit_signal = event->signal;
      found->second.exited = event->ref;
    } else if (event->kind == NodeEvent::Kind::kStepEnd) {
      step_ends.emplace(std::pair{event->slurm_step, event->node}, event);
    }
  }
  bool all_gone = !lives.empty() && allocation.ended;
  for (auto& [key, life] : lives) {
    if (!life.end) {
      const auto step_end = step_ends.find({key.first, node_of[key]});
      if (step_end != step_ends.end()) {
        life.end = clamp(step_end->second->t);
        life.exited = step_end->second->ref;
      }
    }
    if (!life.end) {
      all_gone = false;
    } else if (!allocation.teardown || *life.end > *allocation.teardown) {
      allocation.teardown = life.end;
      allocation.teardown_ref = life.exited;
    }
    allocation.lives.push_back(life);
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
    if (first) spans.push_back({std::max(*first, allocation.begin), allocation.end});
  }
  return MergeSpans(std::move(spans));
}

}  // namespace goodput
