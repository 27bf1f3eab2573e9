// When a node last reported that its jobs were alive: the latest that is known about a node that died.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"

namespace goodput {

// Of one attempt of a job on one node. An attempt that ended while its node was alive has none: its records
// say how it ended.
struct Heartbeat {
  std::string node;
  std::int64_t since_ns = 0;      // `t` of the attempt's first record on this node
  std::int64_t last_seen_ns = 0;  // by the node's clock
  std::int64_t clock_ns = 0;      // real minus monotonic time of that clock, as in `step_block`
};
// Those of the job's attempts, by node and time.
absl::StatusOr<std::vector<Heartbeat>> LoadHeartbeats(Database& db, const JobKey& job);

// The file `heartbeat` of one node (spank/SPOOL_FORMAT.md).
struct NodeHeartbeat {
  struct Job {
    std::string cluster;  // empty: the node does not know it
    std::int64_t job_id = 0;
    std::int64_t since_ns = 0;
  };
  std::string node;
  std::string boot;  // kUnknownBoot: any boot with this clock
  std::int64_t t_ns = 0;
  std::int64_t m_ns = 0;
  std::vector<Job> jobs;
};
// An error says in a few words what is wrong with the text.
absl::StatusOr<NodeHeartbeat> ParseHeartbeat(std::string_view text);

// Whether storing it would change nothing.
bool IsStored(Database& db, const NodeHeartbeat& heartbeat);

// Replaces what is known about this boot of the node; jobs that it no longer names have their end in the
// records. Heartbeats of earlier boots are kept. An older heartbeat than the stored one changes nothing. Call
// within a transaction.
absl::Status StoreHeartbeat(Database& db, const NodeHeartbeat& heartbeat,
                            const std::string& fallback_cluster);

}  // namespace goodput
