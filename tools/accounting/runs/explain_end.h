// Explains the end of an attempt with records other than its own: nodes that went down, a job that took its
// nodes, an administrator who drained them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Identifies the attempt's job.
struct EndOwner {
  const std::string& cluster;
  const std::string& user;
  const std::string& partition;
  const std::string& qos;
  bool in_accounting = false;  // accounting says how long other jobs had waited
};

// Sets down_nodes, failed_node, taken_node, lacks, preempted_by, taken_by and operator_acted of an attempt
// that has ended. `next`: the job's next attempt, if any.
absl::Status ExplainEnd(Database& db, const EndOwner& owner, const AttemptFacts* next, AttemptFacts& attempt);

}  // namespace goodput
