// What slurmdbd knows and slurmctld does not tell, by way of sacctmgr. `show event`: when nodes were down or
// drained, and why; it is kept when the node is long up again, and names the node of a NODE_FAIL. `show qos`:
// which QOS may preempt which.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/tables/accounting.h"

namespace goodput {

// Reads lines of Cluster, NodeName, State, Start, End, Reason separated by `delimiter`; lines without a node
// are left out.
std::vector<NodeOutage> ParseNodeEvents(std::string_view text, char delimiter);

// Node events since `start_s`, and before `end_s` if it is given. NotFound: there is no sacctmgr.
// Unavailable: it failed (no slurmdbd), with its words.
absl::StatusOr<std::vector<NodeOutage>> RunNodeEvents(std::int64_t start_s,
                                                      std::optional<std::int64_t> end_s = std::nullopt);

// Of each QOS those whose jobs may preempt its jobs, in order of their names.
using Preemptors = std::map<std::string, std::vector<std::string>>;

// Reads lines of Name|Preempt, the second a list of QOS separated by commas.
Preemptors ParsePreemptors(std::string_view text);

// NotFound and Unavailable as above.
absl::StatusOr<Preemptors> RunPreemptors();

}  // namespace goodput
