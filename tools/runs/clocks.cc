#include "tools/runs/clocks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/runs/record.h"

namespace goodput {
namespace {

NodeClock::Bound BoundOf(std::string_view kind, std::string_view slurm_step) {
  if (kind == kind::kJobProlog || kind == kind::kStepStart || kind == kind::kTaskStart)
    return NodeClock::Bound::kAfterStart;
  // The job ends when its batch script has; what else runs may live on for a while.
  if (kind == kind::kTaskExit && slurm_step == "batch") return NodeClock::Bound::kBeforeEnd;
  const bool lives = kind == kind::kMark || kind == kind::kTaskExit || kind == kind::kSignal;
  return lives ? NodeClock::Bound::kWithin : NodeClock::Bound::kFree;
}

// A node between two boots; the monotonic clock begins anew with each. A spool file is BOOT.HOUR.jsonl.
using BootKey = std::pair<std::string, std::string>;
BootKey BootOf(const SourceRow& source) {
  return {source.node, source.file.substr(0, source.file.find('.'))};
}

bool OfNode(const EventRow& event) {
  return event.kind != kind::kQueue && event.kind != kind::kAttempt && event.kind != kind::kNodeState;
}

std::string TimeOfDay(Ns t) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(t), absl::LocalTimeZone());
}

}  // namespace

std::vector<std::string> CorrectClocks(const std::map<std::int64_t, SourceRow>& sources,
                                       const AllocatedSpans& spans, const std::vector<Ns>& shifts,
                                       std::vector<EventRow>& events, JobSteps& job_steps,
                                       std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats) {
  std::vector<StepRow>& steps = job_steps.marks;
  block_shifts.assign(job_steps.blocks.size(), 0);
  std::map<std::int64_t, NodeClock*> of_source;
  std::map<BootKey, NodeClock> clocks;
  const auto clock_of = [&](std::int64_t source_id) -> NodeClock* {
    const auto known = of_source.find(source_id);
    if (known != of_source.end()) return known->second;
    const auto source = sources.find(source_id);
    NodeClock* clock = source == sources.end() ? nullptr : &clocks[BootOf(source->second)];
    of_source.emplace(source_id, clock);
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
  std::vector<std::string> warnings;
  for (auto& [boot, clock] : clocks) {
    clock.Settle(spans, shifts);
    for (const NodeClock::Finding& finding : clock.findings()) {
      warnings.push_back(Cat("the clock of node ", boot.first, " ", finding.text, " at ",
                             TimeOfDay(finding.when), "; times of what it wrote are corrected"));
    }
  }
  if (warnings.empty()) return warnings;
  // A heartbeat does not say which boot it is of, but names the first record of its attempt by its time.
  for (Heartbeat& heartbeat : heartbeats) {
    const auto first = std::find_if(events.begin(), events.end(), [&](const EventRow& event) {
      const auto source = sources.find(event.source_id);
      return event.t_ns == heartbeat.since_ns && source != sources.end() &&
             source->second.node == heartbeat.node;
    });
    if (first == events.end()) continue;
    const std::optional<Ns> clock = clock_of_event[static_cast<std::size_t>(first - events.begin())];
    if (!clock) continue;
    const NodeClock& node_clock = *of_source[first->source_id];
    heartbeat.since_ns = node_clock.Correct(heartbeat.since_ns, *clock);
    heartbeat.last_seen_ns = node_clock.Correct(heartbeat.last_seen_ns, heartbeat.clock_ns);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (clock_of_event[i])
      events[i].t_ns = of_source[events[i].source_id]->Correct(events[i].t_ns, *clock_of_event[i]);
  }
  for (StepRow& step : steps) {
    NodeClock* clock = step.clock_ns ? of_source[step.source_id] : nullptr;
    if (clock != nullptr) step.t_ns = clock->Correct(step.t_ns, *step.clock_ns);
  }
  for (std::size_t i = 0; i < job_steps.blocks.size(); ++i) {
    const StepBlockRow& block = job_steps.blocks[i];
    NodeClock* clock = block.clock_ns ? of_source[block.source_id] : nullptr;
    if (clock != nullptr)
      block_shifts[i] = clock->Correct(block.first.t_ns, *block.clock_ns) - block.first.t_ns;
  }
  return warnings;
}

}  // namespace goodput
