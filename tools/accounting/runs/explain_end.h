// Why an attempt ended, as other records than its own know: nodes of it that went down, a job that took its
// nodes, an operator who drained them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Whose attempt it is.
struct EndOwner {
  const std::string& cluster;
  const std::string& user;
  const std::string& partition;
  const std::string& qos;
  bool in_accounting = false;  // which says how long another job had waited
};

// Fills in down_nodes, failed_node, taken_node, preempted_by, taken_by and operator_acted of an attempt that
// is over. `next`: the job's next attempt, if there is one.
absl::Status ExplainEnd(Database& db, const EndOwner& owner, const AttemptFacts* next, AttemptFacts& attempt);

}  // namespace goodput
