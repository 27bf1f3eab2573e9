// Fuzzes a node's status files: what is accepted can be stored, and storing it again changes nothing.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sql/database.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/losses.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(node_status) {
  using namespace goodput;
  static Database& db = *new Database(*Database::Open(":memory:", Database::Mode::kReadWrite));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const NodeLosses losses = ParseLosses("n1", text);
  for (const auto& [what, count] : losses.counts) REQUIRE(count > 0);
  REQUIRE(StoreLosses(db, losses).ok() && IsStored(db, losses));
  const auto heartbeat = ParseHeartbeat(text);
  if (!heartbeat.ok()) {
    REQUIRE(!heartbeat.status().message().empty());
    return 0;
  }
  REQUIRE(db.Execute("DELETE FROM heartbeat").ok());
  REQUIRE(StoreHeartbeat(db, *heartbeat, "c").ok());
  for (const NodeHeartbeat::Job& job : heartbeat->jobs) {
    JobKey key;
    key.cluster = job.cluster.empty() ? "c" : job.cluster;
    key.job_id = job.job_id;
    const auto rows = LoadHeartbeats(db, key);
    REQUIRE(rows.ok() && !rows->empty() && rows->front().last_seen_ns == heartbeat->t_ns);
  }
  return 0;
}
