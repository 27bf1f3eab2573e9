#include "tools/accounting/fleet/load_fleet.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/watch_times.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kGone = "GONE";

struct Words {
  std::map<std::string, std::vector<NodeWord>> of_node;
  Ns last = 0;
};

absl::StatusOr<Words> LoadWords(Database& db, const std::string& cluster, Ns from, Ns to) {
  EventCursor events(db, EventsOf::NoJob(cluster, kind::kNodeState, from, to + 1));
  Words words;
  while (events.Next()) {
    const EventView& event = events.event();
    NodeWord word;
    word.t = event.t_ns;
    const std::string state = event.Text(key::kState);
    word.gone = state == kGone;
    word.condition = ConditionOf(state, event.Texts(key::kFlags));
    if (const auto since = event.Int(key::kReasonS)) word.since = *since * kSecond;
    word.gpus = std::max<std::int64_t>(0, event.Int(key::kGpus).value_or(0));
    word.partitions = event.Text(key::kPartitions);
    words.last = std::max(words.last, event.t_ns);
    words.of_node[event.Text(key::kNodeName)].push_back(std::move(word));
  }
  RETURN_IF_ERROR(events.status());
  return words;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<KnownOutage>>> LoadKnownOutages(Database& db,
                                                                                 const std::string& cluster,
                                                                                 Ns end) {
  // An outage that lasts may have begun long ago.
  ASSIGN_OR_RETURN(std::vector<NodeOutage> outages, LoadOutages(db, cluster, 0, end / kSecond));
  std::map<std::string, std::vector<KnownOutage>> of_node;
  for (const NodeOutage& outage : outages) {
    const Ns until = outage.end_s ? *outage.end_s * kSecond : end;
    const NodeCondition condition = ConditionOf(outage.state, {});
    if (condition == NodeCondition::kDown || condition == NodeCondition::kDrained)
      of_node[outage.node].push_back({outage.start_s * kSecond, until, condition});
  }
  return of_node;
}

absl::StatusOr<FleetNodes> LoadFleetNodes(Database& db, const std::string& cluster, Ns begin, Ns end) {
  ASSIGN_OR_RETURN(const std::vector<WatchSpell> spells, LoadWatches(db, cluster, begin, end));
  if (spells.empty()) {
    return absl::NotFoundError(Cat("no record of the nodes of ",
                                   cluster.empty() ? "this cluster" : "cluster " + cluster,
                                   " for that time: run goodputd on the controller (role = controller)"));
  }
  // A watch records everything when it begins, so earlier records are not needed.
  ASSIGN_OR_RETURN(const Words words, LoadWords(db, cluster, spells.front().begin_ns, end));
  const auto outages = LoadKnownOutages(db, cluster, end);
  if (!outages.ok()) return outages.status();
  FleetNodes fleet;
  std::vector<TimeSpan> watched;
  for (std::size_t i = 0; i < spells.size(); ++i) {
    const WatchSpell& spell = spells[i];
    Ns until = spell.end_ns;
    // Killed, or still running: it ran at least until its last record.
    if (spell.open && i + 1 == spells.size()) until = std::max(until, words.last);
    watched.push_back({spell.begin_ns, until});
    fleet.watched_until = until;
    fleet.watched += std::max<Ns>(0, std::min(until, end) - std::max(spell.begin_ns, begin));
  }
  static const std::vector<KnownOutage> kNone;
  for (const auto& [name, said] : words.of_node) {
    const auto known = outages->find(name);
    NodeHistory history =
        HistoryOf(said, watched, known == outages->end() ? kNone : known->second, begin, end);
    if (!history.empty()) fleet.nodes.emplace(name, std::move(history));
  }
  return fleet;
}

absl::StatusOr<std::map<std::string, std::string>> LoadNodeFeatures(Database& db,
                                                                    const std::string& cluster) {
  Statement rows = db.Prepare(
      "SELECT json_extract(record, '$.node_name'), json_extract(record, '$.features'), max(t_ns)"
      " FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster IN (?1, '')"
      " WHERE event.job_id IS NULL AND event.kind = 'node_state' AND json_valid(record)"
      " AND json_extract(record, '$.features') IS NOT NULL GROUP BY 1");
  rows.Bind(1, cluster);
  std::map<std::string, std::string> features;
  while (rows.Step()) features[rows.Text(0)] = rows.Text(1);
  if (!rows.status().ok()) return rows.status();
  return features;
}

}  // namespace goodput
