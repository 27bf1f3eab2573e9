// Who was heard of, and who should have been: what shows that a node records nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"

namespace goodput {

struct LastRecord {
  std::string node;
  std::int64_t t_ns = 0;  // of its newest record, by its own clock
};
// Of every node that ever wrote one, who was silent longest first.
absl::StatusOr<std::vector<LastRecord>> LastRecords(Database& db);

struct SilentNodes {
  std::int64_t job_id = 0;
  std::int64_t nodes = 0;           // that the job has
  std::vector<std::string> silent;  // of which no record of this job is there
};
// Jobs that the queue watch last saw running, begun before `before_s`, on nodes that recorded nothing of them
// since their start. `node_names` gives the names in a host list. At most the newest 500 jobs are looked at.
absl::StatusOr<std::vector<SilentNodes>> JobsOnSilentNodes(
    Database& db, std::int64_t before_s, std::vector<std::string> (*node_names)(const std::string& list));

}  // namespace goodput
