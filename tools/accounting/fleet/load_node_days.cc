#include "tools/accounting/fleet/load_node_days.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "sql/status_macros.h"
#include "sql/tables/watch_times.h"
#include "tools/accounting/fleet/load_fleet.h"

namespace goodput {
namespace {

constexpr Ns kMostTime = 3'660 * kUtcDay;
constexpr Ns kWindow = 31 * kUtcDay;
// A running watch records a look from time to time: until the next one, the last one counts as now.
constexpr Ns kBetweenLooks = 600 * kSecond;
// A record of the watch may say since when a node was down.
constexpr Ns kLater = kUtcDay;

// The last look, if it was a moment ago.
absl::StatusOr<std::optional<Ns>> LookBefore(Database& db, const std::string& cluster, Ns now) {
  const absl::StatusOr<FleetNodes> nodes = LoadFleetNodes(db, cluster, now - kBetweenLooks, now);
  if (absl::IsNotFound(nodes.status())) return std::optional<Ns>();
  if (!nodes.ok()) return nodes.status();
  const bool recent = nodes->watched_until > now - kBetweenLooks && nodes->watched_until < now;
  return recent ? std::optional<Ns>(nodes->watched_until) : std::nullopt;
}

}  // namespace

absl::StatusOr<NodeDaysTime> TimeOfNodeDays(Database& db, const std::string& cluster, const NodeHolds& holds,
                                            Ns now) {
  ASSIGN_OR_RETURN(const std::optional<Ns> look, LookBefore(db, cluster, now));
  NodeDaysTime time{now, look.value_or(now)};
  ASSIGN_OR_RETURN(const std::optional<Ns> first, FirstWatch(db, cluster));
  time.begin = std::min({time.end, first.value_or(time.end), holds.first().value_or(time.end)});
  const auto outages = LoadKnownOutages(db, cluster, time.end);
  if (!outages.ok()) return outages.status();
  for (const auto& [node, of_node] : *outages) time.begin = std::min(time.begin, of_node.front().begin);
  time.begin = std::max(time.begin, time.end - kMostTime);
  return time;
}

absl::StatusOr<std::vector<NodeDay>> LoadNodeDays(Database& db, const std::string& cluster,
                                                  const NodeHolds& holds, const NodeDaysTime& time, Ns begin,
                                                  Ns end) {
  ASSIGN_OR_RETURN(const std::optional<Ns> first, FirstWatch(db, cluster));
  const Ns watched = std::min(first.value_or(time.end), time.end);
  NodeEvidence evidence;
  absl::StatusOr<std::map<std::string, std::vector<KnownOutage>>> outages =
      LoadKnownOutages(db, cluster, watched);
  if (!outages.ok()) return outages.status();
  // Those that last end there: slurmdbd never ends the outage of a node that was removed.
  evidence.outages = *std::move(outages);
  for (auto& [node, of_node] : evidence.outages) {
    for (KnownOutage& outage : of_node) outage.end = std::min(outage.end, watched);
  }
  std::vector<NodeDay> days;
  Ns next = 0;
  for (Ns at = begin; at < end; at = next) {
    next = std::min(end, (UtcDay(at + kWindow) * kUtcDay));
    evidence.histories.clear();
    const Ns from = std::max(at, watched);
    if (from < next) {
      absl::StatusOr<FleetNodes> nodes =
          LoadFleetNodes(db, cluster, from, std::max(next, std::min(next + kLater, time.end)));
      if (!nodes.ok() && !absl::IsNotFound(nodes.status())) return nodes.status();
      if (nodes.ok()) evidence.histories = std::move(nodes->nodes);
    }
    std::vector<NodeDay> some = CountNodeDays(evidence, holds, at, next);
    std::move(some.begin(), some.end(), std::back_inserter(days));
  }
  return days;
}

}  // namespace goodput
