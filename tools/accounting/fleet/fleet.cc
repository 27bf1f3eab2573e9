#include "tools/accounting/fleet/fleet.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/timeline/withheld.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

constexpr const char* kNoPartition = "-";

double Ratio(GpuNs part, GpuNs whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool IsUp(Bucket bucket) {
  const Side side = BucketSide(bucket);
  return side != Side::kExcluded && side != Side::kScheduling;
}

std::size_t Index(Bucket bucket) {
  return static_cast<std::size_t>(bucket);
}
std::size_t Index(NodeCondition condition) {
  return static_cast<std::size_t>(condition);
}

}  // namespace

GpuNs FleetRow::held_sum() const {
  GpuNs sum = 0;
  for (const GpuNs one : held) sum += one;
  return sum;
}

GpuNs FleetRow::capacity() const {
  GpuNs sum = held_sum();
  for (const GpuNs one : unheld) sum += one;
  return sum - unheld[Index(NodeCondition::kOff)];
}

GpuNs FleetRow::up() const {
  GpuNs sum = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (IsUp(bucket)) sum += held[Index(bucket)];
  }
  return sum;
}

std::optional<double> FleetRow::scheduling() const {
  const GpuNs known = capacity() - unheld[Index(NodeCondition::kUnknown)];
  if (known == 0) return std::nullopt;
  return Ratio(up(), known);
}

std::optional<Range> FleetRow::scheduling_range() const {
  if (capacity() == 0) return std::nullopt;
  return Range{Ratio(up(), capacity()), Ratio(up() + unheld[Index(NodeCondition::kUnknown)], capacity())};
}

std::optional<Range> FleetRow::runtime_range() const {
  if (up() == 0) return std::nullopt;
  const GpuNs productive = held[Index(Bucket::kProductive)];
  const GpuNs open = held[Index(Bucket::kAtRisk)] + held[Index(Bucket::kUnobserved)];
  return Range{Ratio(productive, up()), Ratio(productive + open, up())};
}

std::optional<double> FleetRow::runtime() const {
  const GpuNs steps =
      held[Index(Bucket::kProductive)] + held[Index(Bucket::kAtRisk)] + held[Index(Bucket::kLostWork)];
  if (up() == 0 || (steps == 0 && held[Index(Bucket::kUnobserved)] > 0)) return std::nullopt;
  return Ratio(held[Index(Bucket::kProductive)], up());
}

std::optional<double> FleetRow::program() const {
  if (rated == 0) return std::nullopt;
  return rate / static_cast<double>(rated);
}

double FleetRow::rated_share() const {
  const GpuNs productive = held[Index(Bucket::kProductive)];
  return productive == 0 ? 0 : Ratio(rated, productive);
}

std::optional<double> FleetRow::mpg() const {
  if (rated == 0 || rated != held[Index(Bucket::kProductive)] || !scheduling()) return std::nullopt;
  return *scheduling() * *runtime() * *program();
}

void FleetRow::Add(const FleetRow& other) {
  nodes += other.nodes;
  for (std::size_t i = 0; i < held.size(); ++i) held[i] += other.held[i];
  for (std::size_t i = 0; i < unheld.size(); ++i) unheld[i] += other.unheld[i];
  rated += other.rated;
  rate += other.rate;
}

std::array<Ns, kBucketCount> Fleet::Use::Until(Ns t) const {
  std::array<Ns, kBucketCount> sums{};
  const auto after = std::upper_bound(edges.begin(), edges.end(), t);
  if (after == edges.begin()) return sums;
  const auto i = static_cast<std::size_t>(after - edges.begin()) - 1;
  sums = before[i];
  if (i + 1 == edges.size()) return sums;
  // Within an interval, only its own bucket grows, linearly.
  for (std::size_t b = 0; b < sums.size(); ++b) {
    if (before[i + 1][b] > sums[b]) sums[b] += t - edges[i];
  }
  return sums;
}

std::array<Ns, kBucketCount> Fleet::Use::Between(Ns from, Ns to) const {
  std::array<Ns, kBucketCount> sums = Until(to);
  const std::array<Ns, kBucketCount> earlier = Until(from);
  for (std::size_t b = 0; b < sums.size(); ++b) sums[b] -= earlier[b];
  return sums;
}

Fleet::Fleet(std::map<std::string, NodeHistory> nodes, Ns begin, Ns end)
    : nodes_(std::move(nodes)), begin_(begin), end_(end) {}

void Fleet::Add(const Timeline& timeline, std::optional<double> program) {
  struct Open {
    Use use;
    SomeGpus gpus;
    bool any = false;
  };
  // Intervals of one attempt are in order, but those of several may alternate. Of an elastic program, the
  // GPUs that step, the spares and the others are uses of their own.
  enum class Who : std::uint8_t { kStepping, kStandby, kIdleMember };
  std::map<std::pair<int, Who>, Open> open;
  const auto facts_of = [&](int attempt) -> const AttemptFacts& {
    return *timeline.attempts[static_cast<std::size_t>(attempt)].facts;
  };
  const auto close = [&](int attempt, Open& one) {
    if (one.any) AddUse(facts_of(attempt), one.gpus, std::move(one.use));
    one = Open{};
  };
  const auto extend = [&](int attempt, Who who, Ns from, Ns to, Bucket bucket, const SomeGpus& gpus) {
    Open& one = open[{attempt, who}];
    if (one.any && (!(one.gpus == gpus) || one.use.end != from)) close(attempt, one);
    Use& use = one.use;
    if (!one.any) {
      use.begin = from;
      use.program = program;
      use.edges = {from};
      use.before = {{}};
      one.any = true;
      one.gpus = gpus;
    }
    use.end = to;
    use.edges.push_back(to);
    use.before.push_back(use.before.back());
    use.before.back()[Index(bucket)] += to - from;
  };
  const auto split = [&](const Interval& interval, Ns from, Ns to, std::int64_t gpus) {
    const auto part = [&](Ns begin, Ns end, const WorldShares& shares) {
      const std::int64_t all = shares.stepping + shares.standby + shares.idle_member;
      extend(interval.attempt, Who::kStepping, begin, end, interval.bucket, {0, shares.stepping, all});
      if (shares.standby > 0)
        extend(interval.attempt, Who::kStandby, begin, end, Bucket::kStandby,
               {shares.stepping, shares.standby, all});
      if (shares.idle_member > 0)
        extend(interval.attempt, Who::kIdleMember, begin, end, Bucket::kIdleMember,
               {shares.stepping + shares.standby, shares.idle_member, all});
    };
    const bool whole = gpus <= 0 || !IsUp(interval.bucket);
    auto world =
        std::partition_point(timeline.worlds.begin(), timeline.worlds.end(), [&](const WorldSpan& span) {
          return std::pair(span.attempt, span.end) <= std::pair(interval.attempt, from);
        });
    for (;
         !whole && world != timeline.worlds.end() && world->attempt == interval.attempt && world->begin < to;
         ++world) {
      if (from < world->begin) part(from, world->begin, {gpus, 0, 0, 0});
      from = std::max(from, world->begin);
      part(from, std::min(to, world->end), SharesOf(*world, gpus));
      from = std::min(to, world->end);
    }
    if (from < to) part(from, to, {gpus, 0, 0, 0});
  };
  for (const Interval& interval : timeline.intervals) {
    if (interval.attempt < 0 || !HoldsNodes(interval.bucket)) continue;
    const Ns to = std::min(interval.end, end_);
    Ns at = std::max(interval.begin, begin_);
    const AttemptFacts& facts = facts_of(interval.attempt);
    for (const Resize& resize : facts.resizes) {
      if (resize.t <= at || at >= to) continue;
      const Ns until = std::min(to, resize.t);
      split(interval, at, until, resize.gpus_before);
      at = until;
    }
    if (at < to) split(interval, at, to, facts.gpus);
  }
  for (auto& [of, one] : open) close(of.first, one);
  AddWithheld(timeline);
}

void Fleet::AddWithheld(const Timeline& timeline) {
  for (const WithheldNodes& kept : FindWithheldNodes(timeline)) {
    const Ns begin = std::max(kept.begin, begin_);
    const Ns end = std::min(kept.end, end_);
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(kept.attempt)].facts;
    const std::vector<std::string> names = ExpandHostList(facts.node_list);
    if (begin >= end || names.empty() || facts.gpus <= 0) continue;
    Use use;
    use.begin = begin;
    use.end = begin;
    use.edges = {begin};
    use.before = {{}};
    for (const Interval& interval : timeline.intervals) {
      const Ns to = std::min(interval.end, end);
      const Ns from = std::max(interval.begin, use.end);
      if (from >= to || HoldsNodes(interval.bucket)) continue;
      if (from > use.end) {
        use.before.push_back(use.before.back());
        use.edges.push_back(from);
      }
      use.before.push_back(use.before.back());
      use.before.back()[Index(interval.bucket)] += to - from;
      use.edges.push_back(to);
      use.end = to;
    }
    if (use.end == begin) continue;
    const auto shared = std::make_shared<const Use>(std::move(use));
    const auto count = static_cast<std::int64_t>(names.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t here = facts.gpus / count + (i < facts.gpus % count ? 1 : 0);
      const std::string& name = names[static_cast<std::size_t>(i)];
      if (here > 0 && nodes_.count(name) > 0) shares_[name].push_back({shared, here, true});
    }
  }
}

void Fleet::AddUse(const AttemptFacts& facts, const SomeGpus& gpus, Use use) {
  if (gpus.count <= 0) return;
  const std::vector<std::string> names = ExpandHostList(facts.node_list);
  const auto shared = std::make_shared<const Use>(std::move(use));
  const auto elsewhere = [&](std::int64_t of) {
    elsewhere_ += static_cast<GpuNs>(of) * (shared->end - shared->begin);
  };
  if (names.empty()) elsewhere(gpus.count);
  // Slurm does not record how many GPUs are on which node; distributed evenly.
  auto left = static_cast<std::int64_t>(names.size());
  std::int64_t before = 0;
  for (const std::string& name : names) {
    const std::int64_t on_node = (gpus.of - before + left - 1) / left;
    const std::int64_t here =
        std::min(before + on_node, gpus.first + gpus.count) - std::max(before, gpus.first);
    before += on_node;
    --left;
    if (here <= 0) continue;
    if (nodes_.count(name) == 0) {
      elsewhere(here);
    } else {
      shares_[name].push_back({shared, here, false});
    }
  }
}

void Fleet::CountSlice(const NodeSpan& span, Ns from, Ns to, const std::vector<const Share*>& active,
                       FleetRow& row, GpuNs& unplaced) {
  std::int64_t free = span.gpus;
  GpuNs rest = static_cast<GpuNs>(span.gpus) * (to - from);
  std::vector<const Share*> holders;
  for (const Share* share : active) {
    if (!share->withheld) holders.push_back(share);
  }
  for (const Share* share : active) {
    if (share->withheld && span.condition == NodeCondition::kIdle) holders.push_back(share);
  }
  for (const Share* share : holders) {
    const std::int64_t gpus = std::min(share->gpus, free);
    free -= gpus;
    if (!share->withheld) unplaced += static_cast<GpuNs>(share->gpus - gpus) * (to - from);
    const std::array<Ns, kBucketCount> times = share->use->Between(from, to);
    for (std::size_t b = 0; b < times.size(); ++b) {
      const GpuNs weight = static_cast<GpuNs>(gpus) * times[b];
      row.held[b] += weight;
      rest -= weight;
    }
    if (!share->use->program) continue;
    const GpuNs productive = static_cast<GpuNs>(gpus) * times[Index(Bucket::kProductive)];
    row.rated += productive;
    row.rate += static_cast<double>(productive) * *share->use->program;
  }
  row.unheld[Index(span.condition)] += rest;
}

void Fleet::CountNode(const NodeHistory& history, const std::vector<Share>& shares, bool by_partition,
                      std::map<std::string, FleetRow>& rows, GpuNs& unplaced) {
  std::vector<const Share*> by_begin;
  by_begin.reserve(shares.size());
  for (const Share& share : shares) by_begin.push_back(&share);
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const Share* a, const Share* b) { return a->use->begin < b->use->begin; });
  std::set<std::string> groups;
  GpuNs placed_in_time = 0;
  std::size_t first = 0;
  for (const NodeSpan& span : history) {
    if (span.gpus == 0) continue;
    const std::string group = !by_partition             ? "all"
                              : span.partitions.empty() ? kNoPartition
                                                        : span.partitions;
    FleetRow& row = rows[group];
    row.group = group;
    if (groups.insert(group).second) ++row.nodes;
    std::vector<const Share*> here;
    std::vector<Ns> edges{span.begin, span.end};
    while (first < by_begin.size() && by_begin[first]->use->end <= span.begin) ++first;
    for (std::size_t i = first; i < by_begin.size() && by_begin[i]->use->begin < span.end; ++i) {
      const Use& use = *by_begin[i]->use;
      if (use.end <= span.begin) continue;
      here.push_back(by_begin[i]);
      edges.push_back(std::max(use.begin, span.begin));
      edges.push_back(std::min(use.end, span.end));
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::vector<const Share*> active;
    auto next = here.begin();
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const Ns from = edges[i];
      for (; next != here.end() && (*next)->use->begin <= from; ++next) active.push_back(*next);
      active.erase(
          std::remove_if(active.begin(), active.end(), [&](const Share* s) { return s->use->end <= from; }),
          active.end());
      for (const Share* share : active) {
        if (!share->withheld) placed_in_time += static_cast<GpuNs>(share->gpus) * (edges[i + 1] - from);
      }
      CountSlice(span, from, edges[i + 1], active, row, unplaced);
    }
  }
  // Time held while the node was not part of the fleet.
  for (const Share& share : shares) {
    if (!share.withheld) unplaced += static_cast<GpuNs>(share.gpus) * (share.use->end - share.use->begin);
  }
  unplaced -= placed_in_time;
}

FleetCount Fleet::Count(bool by_partition) const {
  FleetCount count;
  count.unplaced = elsewhere_;
  count.total.group = "total";
  std::map<std::string, FleetRow> rows;
  static const std::vector<Share> kNone;
  std::int64_t nodes = 0;
  for (const auto& [name, history] : nodes_) {
    const auto shares = shares_.find(name);
    CountNode(history, shares == shares_.end() ? kNone : shares->second, by_partition, rows, count.unplaced);
    if (std::any_of(history.begin(), history.end(), [](const NodeSpan& span) { return span.gpus > 0; }))
      ++nodes;
  }
  for (auto& [group, row] : rows) {
    count.total.Add(row);
    count.rows.push_back(std::move(row));
  }
  // A node that changed its partitions is in several rows.
  count.total.nodes = nodes;
  return count;
}

}  // namespace goodput
