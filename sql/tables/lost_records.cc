#include "sql/tables/lost_records.h"

#include <algorithm>

namespace goodput {
absl::StatusOr<std::vector<LostRecords>> LoadLostRecords(Database& db, const std::string& cluster,
                                                         std::int64_t from_ns, std::int64_t to_ns) {
  // CROSS: events of the kind come first, by their index.
  Statement rows = db.Prepare(
      "SELECT source.node, json_extract(record, '$.since_ns'), t_ns, json_extract(record, '$.count')"
      " FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster = ?1"
      " WHERE event.job_id IS NULL AND event.kind = 'lost' AND t_ns BETWEEN ?2 AND ?3"
      " AND CASE WHEN json_valid(record) THEN json_extract(record, '$.since_ns') END <= ?4"
      " ORDER BY t_ns, source.node");
  rows.Bind(1, cluster).Bind(2, from_ns).Bind(3, to_ns + kLongestLossNs).Bind(4, to_ns);
  std::vector<LostRecords> lost;
  while (rows.Step())
    lost.push_back({rows.Text(0), rows.Int(1), rows.Int(2), std::max<std::int64_t>(0, rows.Int(3))});
  if (!rows.status().ok()) return rows.status();
  return lost;
}

}  // namespace goodput
