// Why an attempt ended, as other records than its own know: nodes of it that went down, a job that took its
// nodes.
#ifndef GOODPUT_TOOLS_RUNS_EXPLAIN_END_H_
#define GOODPUT_TOOLS_RUNS_EXPLAIN_END_H_

#include <string>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/timeline/facts.h"

namespace goodput {

// Fills in down_nodes, failed_node and preempted_by of an attempt that is over. `partition`: its own, where
// accounting is not there to say how long another job had waited; empty otherwise.
absl::Status ExplainEnd(Database& db, const std::string& cluster, const std::string& partition,
                        AttemptFacts& attempt);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_RUNS_EXPLAIN_END_H_
