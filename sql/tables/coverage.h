// Finds nodes that record nothing: which nodes have reported, and which should have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct LastRecord {
  std::string node;
  std::int64_t t_ns = 0;  // time of its newest record, by its own clock
};
// All nodes that ever wrote a record; the one silent longest first.
absl::StatusOr<std::vector<LastRecord>> LastRecords(Database& db);

struct SilentNodes {
  std::int64_t job_id = 0;
  std::int64_t nodes = 0;           // number of nodes of the job
  std::vector<std::string> silent;  // nodes without any record of this job
};
// Jobs that the queue watch last saw running, begun before `before_s`, on nodes that have recorded nothing of
// them since they started. `node_names` expands a host list. Considers at most the newest 500 jobs.
absl::StatusOr<std::vector<SilentNodes>> JobsOnSilentNodes(
    Database& db, std::int64_t before_s, std::vector<std::string> (*node_names)(const std::string& list));

}  // namespace goodput
