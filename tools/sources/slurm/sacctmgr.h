// Reads with sacctmgr what slurmdbd knows and slurmctld does not report. `show event`: when nodes were down
// or drained, and why; it is kept after the node is up again, and names the failed node of a NODE_FAIL. `show
// qos`: which QOS may preempt which.
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

// Parses lines of Cluster, NodeName, State, Start, End, Reason separated by `delimiter`; lines without a node
// are skipped.
std::vector<NodeOutage> ParseNodeEvents(std::string_view text, char delimiter);

// Node events since `start_s` and, if given, before `end_s`. NotFound: sacctmgr is not installed.
// Unavailable: it failed (no slurmdbd), with its message.
absl::StatusOr<std::vector<NodeOutage>> RunNodeEvents(std::int64_t start_s,
                                                      std::optional<std::int64_t> end_s = std::nullopt);

// For each QOS, those whose jobs may preempt its jobs, by name.
using Preemptors = std::map<std::string, std::vector<std::string>>;

// Parses lines of Name|Preempt, where the second is a list of QOS separated by commas.
Preemptors ParsePreemptors(std::string_view text);

// NotFound and Unavailable as above.
absl::StatusOr<Preemptors> RunPreemptors();

}  // namespace goodput
