#include "tools/accounting/fleet/node_days.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/timeline/withheld.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// A time in which a node's condition was the same; in order, without overlaps.
struct KnownTime {
  Ns begin = 0;
  Ns end = 0;
  NodeCondition condition = NodeCondition::kUnknown;
  std::optional<std::int64_t> gpus;
};

// Jobs and GPUs that are held from `t` on, more or less than before.
struct HeldChange {
  Ns t = 0;
  std::int64_t jobs = 0;
  std::int64_t gpus = 0;
  bool withheld = false;
};

// That jobs hold.
struct HeldNow {
  std::int64_t jobs = 0;
  std::int64_t gpus = 0;
};

NodeUse UseOf(NodeCondition condition) {
  switch (condition) {
    case NodeCondition::kDown:
      return NodeUse::kDown;
    case NodeCondition::kDrained:
      return NodeUse::kDrained;
    case NodeCondition::kCompleting:
      return NodeUse::kCompleting;
    case NodeCondition::kIdle:
      return NodeUse::kIdle;
    case NodeCondition::kOff:
      return NodeUse::kOff;
    case NodeCondition::kUnknown:
      break;
  }
  return NodeUse::kUnknown;
}

std::size_t IndexOf(NodeUse use) {
  return static_cast<std::size_t>(use);
}

// One node.
class NodeDayCount {
 public:
  NodeDayCount(std::string node, Ns begin, Ns end) : node_(std::move(node)), begin_(begin), end_(end) {}

  void Know(const NodeHistory& history) {
    for (const NodeSpan& span : history) Know({span.begin, span.end, span.condition, span.gpus});
  }
  // As HistoryOf does: of outages that overlap, the earlier one counts.
  void Know(const std::vector<KnownOutage>& outages) {
    Ns at = begin_;
    for (const KnownOutage& outage : outages) {
      Know({std::max(at, outage.begin), outage.end, outage.condition, std::nullopt});
      at = std::max(at, outage.end);
    }
  }

  std::vector<NodeDay> Take(const std::vector<NodeHold>& holds) && {
    std::sort(known_.begin(), known_.end(),
              [](const KnownTime& a, const KnownTime& b) { return a.begin < b.begin; });
    const std::vector<HeldChange> changes = Changes(holds);
    const std::vector<Ns> edges = Edges(changes);
    HeldNow held;
    HeldNow withheld;
    auto change = changes.cbegin();
    auto known = known_.cbegin();
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const Ns from = edges[i];
      for (; change != changes.cend() && change->t <= from; ++change) {
        HeldNow& now = change->withheld ? withheld : held;
        now.jobs += change->jobs;
        now.gpus += change->gpus;
      }
      while (known != known_.cend() && known->end <= from) ++known;
      const bool is_known = known != known_.cend() && known->begin <= from;
      const bool idle = is_known && known->condition == NodeCondition::kIdle;
      const HeldNow all{held.jobs + (idle ? withheld.jobs : 0), held.gpus + (idle ? withheld.gpus : 0)};
      Count(from, edges[i + 1], all.jobs > 0, all.gpus, is_known ? &*known : nullptr);
    }
    return std::move(days_);
  }

 private:
  void Know(KnownTime time) {
    time.begin = std::max(time.begin, begin_);
    time.end = std::min(time.end, end_);
    if (time.begin < time.end) known_.push_back(time);
  }

  // At the begin and at the end of each hold, by time.
  std::vector<HeldChange> Changes(const std::vector<NodeHold>& holds) const {
    std::vector<HeldChange> changes;
    changes.reserve(2 * holds.size());
    for (const NodeHold& hold : holds) {
      changes.push_back({std::max(hold.begin, begin_), 1, hold.gpus, hold.withheld});
      changes.push_back({std::min(hold.end, end_), -1, -hold.gpus, hold.withheld});
    }
    std::sort(changes.begin(), changes.end(),
              [](const HeldChange& a, const HeldChange& b) { return a.t < b.t; });
    return changes;
  }

  // Between two of them, nothing changes, and the day is the same.
  std::vector<Ns> Edges(const std::vector<HeldChange>& changes) const {
    std::vector<Ns> edges;
    for (const KnownTime& time : known_) edges.insert(edges.end(), {time.begin, time.end});
    for (const HeldChange& change : changes) edges.push_back(change.t);
    if (edges.empty()) return edges;
    const auto [first, last] = std::minmax_element(edges.begin(), edges.end());
    const Ns end = *last;
    for (Ns midnight = (UtcDay(*first) + 1) * kUtcDay; midnight < end; midnight += kUtcDay)
      edges.push_back(midnight);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
  }

  // `gpus`: that jobs hold.
  void Count(Ns from, Ns to, bool held, std::int64_t gpus, const KnownTime* known) {
    if (!held && known == nullptr) return;
    const std::int64_t day = UtcDay(from);
    if (days_.empty() || days_.back().day != day) days_.push_back({node_, day, std::nullopt, {}});
    NodeDay& row = days_.back();
    const NodeUse unheld = known == nullptr ? NodeUse::kUnknown : UseOf(known->condition);
    row.time.ns[IndexOf(held ? NodeUse::kAllocated : unheld)] += to - from;
    if (known == nullptr || !known->gpus) return;
    row.gpus = std::max(row.gpus.value_or(0), *known->gpus);
    const std::int64_t allocated = std::min(gpus, *known->gpus);
    row.time.gpu_ns[IndexOf(NodeUse::kAllocated)] += static_cast<GpuNs>(allocated) * (to - from);
    row.time.gpu_ns[IndexOf(unheld)] += static_cast<GpuNs>(*known->gpus - allocated) * (to - from);
  }

  std::string node_;
  Ns begin_;
  Ns end_;
  std::vector<KnownTime> known_;
  std::vector<NodeDay> days_;
};

}  // namespace

std::string_view NodeUseName(NodeUse use) {
  constexpr std::array<std::string_view, kNodeUseCount> kNames{"allocated", "completing", "idle",   "down",
                                                               "drained",   "off",        "unknown"};
  return kNames[IndexOf(use)];
}

void NodeHolds::Add(const Timeline& timeline) {
  // Intervals of one attempt are in order, but those of several may alternate.
  std::map<int, Hold> open;
  const auto close = [&](const Hold& hold) {
    if (hold.begin >= hold.end) return;
    holds_.push_back(hold);
    first_ = std::min(first_.value_or(hold.begin), hold.begin);
  };
  for (const Interval& interval : timeline.intervals) {
    if (interval.attempt < 0 || !HoldsNodes(interval.bucket)) continue;
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts;
    if (facts.node_list.empty()) continue;
    const std::string* const nodes = &*hostlists_.insert(facts.node_list).first;
    Hold& hold = open[interval.attempt];
    const auto extend = [&](Ns from, Ns to, std::int64_t gpus) {
      if (from >= to) return;
      if (hold.nodes == nullptr || hold.end != from || hold.gpus != gpus) {
        close(hold);
        hold = {from, to, gpus, nodes, false};
      }
      hold.end = to;
    };
    Ns at = interval.begin;
    for (const Resize& resize : facts.resizes) {
      if (resize.t <= at || at >= interval.end) continue;
      const Ns until = std::min(interval.end, resize.t);
      extend(at, until, resize.gpus_before);
      at = until;
    }
    extend(at, interval.end, facts.gpus);
  }
  for (const auto& [attempt, hold] : open) close(hold);
  for (const WithheldNodes& kept : FindWithheldNodes(timeline)) {
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(kept.attempt)].facts;
    if (facts.node_list.empty()) continue;
    holds_.push_back({kept.begin, kept.end, facts.gpus, &*hostlists_.insert(facts.node_list).first, true});
  }
}

std::map<std::string, std::vector<NodeHold>> NodeHolds::Within(Ns begin, Ns end) const {
  std::map<std::string, std::vector<NodeHold>> of_node;
  for (const Hold& hold : holds_) {
    if (hold.end <= begin || hold.begin >= end) continue;
    const std::vector<std::string> names = ExpandHostList(*hold.nodes);
    const auto count = static_cast<std::int64_t>(names.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t gpus = hold.gpus / count + (i < hold.gpus % count ? 1 : 0);
      of_node[names[static_cast<std::size_t>(i)]].push_back({hold.begin, hold.end, gpus, hold.withheld});
    }
  }
  return of_node;
}

std::vector<NodeDay> CountNodeDays(const NodeEvidence& evidence, const NodeHolds& holds, Ns begin, Ns end) {
  std::map<std::string, std::vector<NodeHold>> held = holds.Within(begin, end);
  std::set<std::string> names;
  for (const auto& [name, history] : evidence.histories) names.insert(name);
  for (const auto& [name, outages] : evidence.outages) names.insert(name);
  for (const auto& [name, of_node] : held) names.insert(name);
  std::vector<NodeDay> days;
  for (const std::string& name : names) {
    NodeDayCount count(name, begin, end);
    const auto history = evidence.histories.find(name);
    if (history != evidence.histories.end()) count.Know(history->second);
    const auto outages = evidence.outages.find(name);
    if (outages != evidence.outages.end()) count.Know(outages->second);
    std::vector<NodeDay> of_node = std::move(count).Take(held[name]);
    std::move(of_node.begin(), of_node.end(), std::back_inserter(days));
  }
  return days;
}

}  // namespace goodput
