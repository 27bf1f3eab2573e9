#include "tools/accounting/runs/clocks.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/runs/controller_clock.h"
#include "tools/accounting/runs/record.h"

namespace goodput {
namespace {

// Records of one step's start on two nodes are not further apart, once brought within the allocation.
constexpr Ns kSameStart = 5 * kSecond;

NodeClock::Bound BoundOf(std::string_view kind, std::string_view slurm_step) {
  if (kind == kind::kJobProlog || kind == kind::kStepStart || kind == kind::kTaskStart)
    return NodeClock::Bound::kAfterStart;
  // The job ends when its batch script has; what else runs may live on for a while.
  if (kind == kind::kTaskExit && slurm_step == "batch") return NodeClock::Bound::kBeforeEnd;
  const bool lives = kind == kind::kMark || kind == kind::kProgramStart || kind == kind::kTaskExec ||
                     kind == kind::kTaskExit || kind == kind::kSignal || kind == kind::kCollective;
  return lives ? NodeClock::Bound::kWithin : NodeClock::Bound::kFree;
}

BootKey BootOf(const SourceRow& source) {
  return {source.node, std::string(BootOfFile(source.file))};
}

// As of a record of that kind and Slurm step.
NodeClock::Bound BoundOf(const HookRecords::Shape& shape) {
  switch (shape.kind) {
    case NodeEvent::Kind::kProlog:
    case NodeEvent::Kind::kStepStart:
    case NodeEvent::Kind::kTaskStart:
      return NodeClock::Bound::kAfterStart;
    case NodeEvent::Kind::kTaskExec:
      return NodeClock::Bound::kWithin;
    case NodeEvent::Kind::kTaskExit:
      return shape.step_code == kBatchStep ? NodeClock::Bound::kBeforeEnd : NodeClock::Bound::kWithin;
    default:
      return NodeClock::Bound::kFree;
  }
}

bool OfNode(const EventRow& event) {
  return event.kind != kind::kQueue && event.kind != kind::kAttempt && event.kind != kind::kNodeState;
}

std::string TimeOfDay(Ns t) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(t), absl::LocalTimeZone());
}

}  // namespace

NodeClock* NodeClocks::ClockOf(const HookRecords::Record& record) {
  const std::string_view node = record.in->node();
  const std::string_view boot = record.in->boot();
  if (last_ == clocks_.end() || last_->first.first != node || last_->first.second != boot)
    last_ = clocks_.try_emplace({std::string(node), std::string(boot)}).first;
  return &last_->second;
}

Ns NodeClocks::Correct(const HookRecords::Record& record) {
  const std::optional<std::int64_t> m = record.Number(record.shape->m);
  if (warnings_.empty() || !m) return record.t;
  return ClockOf(record)->Correct(record.t, record.t - *m);
}

// A heartbeat does not say which boot it is of, but names the first record of its attempt by its time.
absl::Status NodeClocks::CorrectHeartbeats(const std::map<std::int64_t, SourceRow>& sources,
                                           HookRecords& hooks, const std::vector<EventRow>& events,
                                           const std::vector<std::optional<Ns>>& clock_of_event,
                                           std::vector<Heartbeat>& heartbeats) {
  const auto correct = [](const NodeClock& node_clock, Ns clock, Heartbeat& heartbeat) {
    heartbeat.since_ns = node_clock.Correct(heartbeat.since_ns, clock);
    heartbeat.last_seen_ns = node_clock.Correct(heartbeat.last_seen_ns, heartbeat.clock_ns);
  };
  std::map<std::pair<Ns, std::string>, Heartbeat*> not_found;
  for (Heartbeat& heartbeat : heartbeats) {
    const auto first = std::find_if(events.begin(), events.end(), [&](const EventRow& event) {
      const auto source = sources.find(event.source_id);
      return event.t_ns == heartbeat.since_ns && source != sources.end() &&
             source->second.node == heartbeat.node;
    });
    if (first == events.end()) {
      not_found.emplace(std::pair{heartbeat.since_ns, heartbeat.node}, &heartbeat);
      continue;
    }
    const std::optional<Ns> clock = clock_of_event[static_cast<std::size_t>(first - events.begin())];
    if (clock) correct(*of_source_[first->source_id], *clock, heartbeat);
  }
  if (not_found.empty()) return absl::OkStatus();
  return hooks.ForEach([&](const HookRecords::Record& record) {
    const std::optional<std::int64_t> m = record.Number(record.shape->m);
    if (!m) return;
    const auto found = not_found.find({record.t, std::string(record.in->node())});
    if (found == not_found.end()) return;
    correct(*ClockOf(record), record.t - *m, *found->second);
    not_found.erase(found);
  });
}

// A step starts on all its nodes at the same moment: what those with the controller's clock wrote of it says
// when that was, far better than an allocation's whole seconds.
absl::Status NodeClocks::AlignByOthers(HookRecords& hooks) {
  const auto apart = [](const auto& entry) { return entry.second.apart(); };
  const auto wrong = std::count_if(clocks_.begin(), clocks_.end(), apart);
  if (wrong == 0 || static_cast<std::size_t>(wrong) == clocks_.size()) return absl::OkStatus();
  std::map<std::int32_t, std::vector<Ns>> right;  // by step
  std::map<NodeClock*, std::vector<std::pair<std::int32_t, Ns>>> others;
  absl::Status status = hooks.ForEach([&](const HookRecords::Record& record) {
    const std::optional<std::int64_t> m = record.Number(record.shape->m);
    if (!m || record.shape->kind != NodeEvent::Kind::kStepStart) return;
    NodeClock* clock = ClockOf(record);
    const Ns t = clock->Correct(record.t, record.t - *m);
    if (clock->apart()) {
      others[clock].emplace_back(record.shape->step_code, t);
    } else {
      right[record.shape->step_code].push_back(t);
    }
  });
  if (!status.ok()) return status;
  for (auto& [step, times] : right) std::sort(times.begin(), times.end());
  for (auto& [clock, starts] : others) {
    std::vector<Ns> behind;
    for (const auto& [step, t] : starts) {
      const auto of = right.find(step);
      if (of == right.end()) continue;
      const auto after = std::lower_bound(of->second.begin(), of->second.end(), t);
      Ns nearest = after == of->second.end() ? of->second.back() : *after;
      if (after != of->second.begin() && t - *std::prev(after) < std::abs(nearest - t))
        nearest = *std::prev(after);
      if (std::abs(nearest - t) <= kSameStart) behind.push_back(nearest - t);
    }
    if (behind.empty()) continue;
    const auto middle = behind.begin() + static_cast<std::ptrdiff_t>(behind.size() / 2);
    std::nth_element(behind.begin(), middle, behind.end());
    clock->Align(*middle);
  }
  return absl::OkStatus();
}

absl::Status NodeClocks::Settle(const std::map<std::int64_t, SourceRow>& sources, const AllocatedSpans& spans,
                                const std::vector<Ns>& shifts, HookRecords& hooks,
                                std::vector<EventRow>& events, JobSteps& job_steps,
                                std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats) {
  std::vector<StepRow>& steps = job_steps.marks;
  block_shifts.assign(job_steps.blocks.size(), 0);
  const auto clock_of = [&](std::int64_t source_id) -> NodeClock* {
    const auto known = of_source_.find(source_id);
    if (known != of_source_.end()) return known->second;
    const auto source = sources.find(source_id);
    NodeClock* clock = source == sources.end() ? nullptr : &clocks_[BootOf(source->second)];
    of_source_.emplace(source_id, clock);
    return clock;
  };
  RecordReader reader;
  std::vector<std::optional<Ns>> clock_of_event(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventRow& event = events[i];
    NodeClock* clock = OfNode(event) ? clock_of(event.source_id) : nullptr;
    if (clock == nullptr || !reader.Parse(event.record)) continue;
    const auto m = reader.Int(key::kMonotonic);
    if (!m) continue;
    clock_of_event[i] = event.t_ns - *m;
    clock->Add(event.t_ns, *clock_of_event[i], BoundOf(event.kind, reader.Text(key::kSlurmStep)));
  }
  absl::Status status = hooks.ForEach([&](const HookRecords::Record& record) {
    const std::optional<std::int64_t> m = record.Number(record.shape->m);
    if (m) ClockOf(record)->Add(record.t, record.t - *m, BoundOf(*record.shape));
  });
  if (!status.ok()) return status;
  // Of the marks of one clock the first and the last say all that a million would.
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepRow& step = steps[i];
    NodeClock* clock = step.clock_ns ? clock_of(step.source_id) : nullptr;
    if (clock == nullptr) continue;
    const auto same = [&](const StepRow& other) {
      return other.source_id == step.source_id && other.clock_ns == step.clock_ns;
    };
    const bool inside = i > 0 && i + 1 < steps.size() && same(steps[i - 1]) && same(steps[i + 1]);
    if (!inside) clock->Add(step.t_ns, *step.clock_ns, NodeClock::Bound::kWithin);
  }
  for (const StepBlockRow& block : job_steps.blocks) {
    NodeClock* clock = block.clock_ns ? clock_of(block.source_id) : nullptr;
    if (clock == nullptr) continue;
    clock->Add(block.first.t_ns, *block.clock_ns, NodeClock::Bound::kWithin);
    clock->Add(block.last.t_ns, *block.clock_ns, NodeClock::Bound::kWithin);
  }
  for (auto& [boot, clock] : clocks_) {
    if (boot.second == kUnknownBoot) clock.MayBeManyBoots();
    clock.Settle(spans, shifts);
  }
  RETURN_IF_ERROR(AlignByOthers(hooks));
  for (auto& [boot, clock] : clocks_) {
    clock.Forget();
    for (const NodeClock::Finding& finding : clock.findings()) {
      warnings_.push_back(Cat("the clock of node ", boot.first, " ", finding.text, " at ",
                              TimeOfDay(finding.when), "; times of what it wrote are corrected"));
    }
  }
  if (warnings_.empty()) return absl::OkStatus();
  status = CorrectHeartbeats(sources, hooks, events, clock_of_event, heartbeats);
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (clock_of_event[i])
      events[i].t_ns = of_source_[events[i].source_id]->Correct(events[i].t_ns, *clock_of_event[i]);
  }
  for (StepRow& step : steps) {
    NodeClock* clock = step.clock_ns ? of_source_[step.source_id] : nullptr;
    if (clock != nullptr) step.t_ns = clock->Correct(step.t_ns, *step.clock_ns);
  }
  for (std::size_t i = 0; i < job_steps.blocks.size(); ++i) {
    const StepBlockRow& block = job_steps.blocks[i];
    NodeClock* clock = block.clock_ns ? of_source_[block.source_id] : nullptr;
    if (clock != nullptr)
      block_shifts[i] = clock->Correct(block.first.t_ns, *block.clock_ns) - block.first.t_ns;
  }
  return absl::OkStatus();
}

}  // namespace goodput
