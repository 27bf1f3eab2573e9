// When a node last saw its jobs alive. A node that dies says nothing of it: this is the latest that is known
// of what ran there.
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

// Of one attempt of a job on one node. There is none for an attempt that ended while its node lived: how that
// ended is in the records.
struct Heartbeat {
  std::string node;
  std::int64_t since_ns = 0;      // `t` of the attempt's first record on this node
  std::int64_t last_seen_ns = 0;  // by the node's clock
  std::int64_t clock_ns = 0;      // real less monotonic time of that clock, as in `step_block`
};
// Those of the job's attempts, by node and time.
absl::StatusOr<std::vector<Heartbeat>> LoadHeartbeats(Database& db, const JobKey& job);

// The file `heartbeat` of one node (spank/SPOOL_FORMAT.md).
struct NodeHeartbeat {
  struct Job {
    std::string cluster;  // empty where the node does not know
    std::int64_t job_id = 0;
    std::int64_t since_ns = 0;
  };
  std::string node;
  std::string boot;  // kUnknownBoot: of whichever has this clock
  std::int64_t t_ns = 0;
  std::int64_t m_ns = 0;
  std::vector<Job> jobs;
};
// An error says what is wrong with the text, in a few words.
absl::StatusOr<NodeHeartbeat> ParseHeartbeat(std::string_view text);

// Whether storing it would change nothing.
bool IsStored(Database& db, const NodeHeartbeat& heartbeat);

// Makes it what is known of that node since that boot: of jobs it no longer names the end is in the records.
// What earlier boots last said stays. One that is older than what is stored changes nothing. Within the
// caller's transaction.
absl::Status StoreHeartbeat(Database& db, const NodeHeartbeat& heartbeat,
                            const std::string& fallback_cluster);

}  // namespace goodput
