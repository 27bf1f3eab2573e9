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
#include "tools/accounting/runs/stored_steps.h"

namespace goodput {
namespace {

// Records of one step's start on two nodes are at most this far apart, once they are within the allocation.
constexpr Ns kSameStart = 5 * kSecond;

NodeClock::Bound BoundOf(std::string_view kind, std::string_view slurm_step) {
  if (kind == kind::kJobProlog || kind == kind::kStepStart || kind == kind::kTaskStart)
    return NodeClock::Bound::kAfterStart;
  // The job ends when its batch script does; other tasks may live on for a while.
  if (kind == kind::kTaskExit && slurm_step == "batch") return NodeClock::Bound::kBeforeEnd;
  const bool lives = kind == kind::kMark || kind == kind::kProgramStart || kind == kind::kTaskExec ||
                     kind == kind::kTaskExit || kind == kind::kSignal || kind == kind::kCollective ||
                     kind == kind::kHangEvidence;
  return lives ? NodeClock::Bound::kWithin : NodeClock::Bound::kFree;
}

BootKey BootOf(const SourceRow& source) {
  return {source.node, std::string(BootOfFile(source.file))};
}

std::string TimeOfDay(Ns t) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(t), absl::LocalTimeZone());
}

}  // namespace

NodeClock& NodeClocks::ClockOf(const EventView& event) {
  if (last_ == clocks_.end() || last_->first.first != event.node || last_->first.second != event.boot)
    last_ = clocks_.try_emplace({std::string(event.node), std::string(event.boot)}).first;
  return last_->second;
}

const std::optional<NodeClock::Bound>& NodeClocks::BoundOf(const EventView& event) {
  return bounds_.Of(event, [&]() -> std::optional<NodeClock::Bound> {
    for (const std::string_view of_controller :
         {kind::kQueue, kind::kAttempt, kind::kGone, kind::kNodeState}) {
      if (event.kind == of_controller) return std::nullopt;
    }
    // To ask for a member takes the parsing of the record.
    const bool exits = event.kind == kind::kTaskExit;
    return goodput::BoundOf(event.kind, exits ? event.Text(key::kSlurmStep) : std::string());
  });
}

void NodeClocks::Add(const EventView& event) {
  const std::optional<NodeClock::Bound>& bound = BoundOf(event);
  const std::optional<std::int64_t> m = bound ? event.Mono() : std::nullopt;
  if (m) ClockOf(event).Add(event.t_ns, event.t_ns - *m, *bound);
}

Ns NodeClocks::Correct(const EventView& event) {
  if (warnings_.empty() || !BoundOf(event)) return event.t_ns;
  const std::optional<std::int64_t> m = event.Mono();
  return m ? ClockOf(event).Correct(event.t_ns, event.t_ns - *m) : event.t_ns;
}

// A heartbeat does not name its boot, but has the time of the first record of its attempt.
absl::Status NodeClocks::CorrectHeartbeats(Database& db, const JobKey& job,
                                           std::vector<Heartbeat>& heartbeats) {
  std::map<std::pair<Ns, std::string>, Heartbeat*> not_found;
  for (Heartbeat& heartbeat : heartbeats)
    not_found.emplace(std::pair{heartbeat.since_ns, heartbeat.node}, &heartbeat);
  EventCursor events(db, EventsOf::Job(job));
  while (!not_found.empty() && events.Next()) {
    const EventView& event = events.event();
    const auto found = not_found.find({event.t_ns, std::string(event.node)});
    if (found == not_found.end()) continue;
    Heartbeat& heartbeat = *found->second;
    heartbeat.since_ns = Correct(event);
    if (event.Mono())
      heartbeat.last_seen_ns = ClockOf(event).Correct(heartbeat.last_seen_ns, heartbeat.clock_ns);
    not_found.erase(found);
  }
  return events.status();
}

// A step starts on all its nodes at the same time; the records of nodes that agree with the controller's
// clock give that time far more precisely than an allocation's whole seconds.
absl::Status NodeClocks::AlignByOthers(Database& db, const JobKey& job) {
  const auto apart = [](const auto& entry) { return entry.second.apart(); };
  const auto wrong = std::count_if(clocks_.begin(), clocks_.end(), apart);
  if (wrong == 0 || static_cast<std::size_t>(wrong) == clocks_.size()) return absl::OkStatus();
  std::map<std::int32_t, std::vector<Ns>> right;  // by step
  std::map<NodeClock*, std::vector<std::pair<std::int32_t, Ns>>> others;
  EventCursor events(db, EventsOf::Job(job, {std::string(kind::kStepStart)}));
  while (events.Next()) {
    const EventView& event = events.event();
    const std::optional<std::int64_t> m = event.Mono();
    if (!m) continue;
    NodeClock& clock = ClockOf(event);
    const Ns t = clock.Correct(event.t_ns, event.t_ns - *m);
    const std::int32_t step = StepCode(event.Text(key::kSlurmStep));
    if (clock.apart()) {
      others[&clock].emplace_back(step, t);
    } else {
      right[step].push_back(t);
    }
  }
  if (!events.status().ok()) return events.status();
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

absl::Status NodeClocks::Settle(Database& db, const JobKey& job,
                                const std::map<std::int64_t, SourceRow>& sources, const AllocatedSpans& spans,
                                const std::vector<Ns>& shifts, JobSteps& job_steps,
                                std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats) {
  std::vector<StepRow>& steps = job_steps.marks;
  block_shifts.assign(job_steps.blocks.size(), 0);
  std::map<std::int64_t, NodeClock*> of_source;
  const auto clock_of = [&](std::int64_t source_id) -> NodeClock* {
    const auto [known, fresh] = of_source.try_emplace(source_id, nullptr);
    const auto source = sources.find(source_id);
    if (fresh && source != sources.end()) known->second = &clocks_[BootOf(source->second)];
    return known->second;
  };
  // Of the marks with one clock, the first and the last suffice.
  const auto same = [&](const StepRow& a, const StepRow& b) {
    return a.source_id == b.source_id && a.clock_ns == b.clock_ns;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepRow& step = steps[i];
    const bool inside = i > 0 && i + 1 < steps.size() && same(steps[i - 1], step) && same(step, steps[i + 1]);
    NodeClock* clock = step.clock_ns && !inside ? clock_of(step.source_id) : nullptr;
    if (clock != nullptr) clock->Add(step.t_ns, *step.clock_ns, NodeClock::Bound::kWithin);
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
  RETURN_IF_ERROR(AlignByOthers(db, job));
  for (auto& [boot, clock] : clocks_) {
    clock.Forget();
    for (const NodeClock::Finding& finding : clock.findings()) {
      warnings_.push_back(Cat("the clock of node ", boot.first, " ", finding.text, " at ",
                              TimeOfDay(finding.when), "; the times in its records are corrected"));
    }
  }
  if (warnings_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CorrectHeartbeats(db, job, heartbeats));
  for (StepRow& step : steps) {
    NodeClock* clock = step.clock_ns ? clock_of(step.source_id) : nullptr;
    if (clock != nullptr) step.t_ns = clock->Correct(step.t_ns, *step.clock_ns);
  }
  for (std::size_t i = 0; i < job_steps.blocks.size(); ++i) {
    const StepBlockRow& block = job_steps.blocks[i];
    NodeClock* clock = block.clock_ns ? of_source[block.source_id] : nullptr;
    if (clock != nullptr)
      block_shifts[i] = clock->Correct(block.first.t_ns, *block.clock_ns) - block.first.t_ns;
  }
  return absl::OkStatus();
}

}  // namespace goodput
