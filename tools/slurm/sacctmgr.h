// When nodes were down or drained, and why, by way of `sacctmgr show event`: slurmdbd keeps it when the node
// is long up again, and it is the only place that names the node of a NODE_FAIL.
#ifndef GOODPUT_TOOLS_SLURM_SACCTMGR_H_
#define GOODPUT_TOOLS_SLURM_SACCTMGR_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/accounting.h"

namespace goodput {

// Reads lines of Cluster, NodeName, State, Start, End, Reason separated by `delimiter`; lines without a node
// are left out.
std::vector<NodeOutage> ParseNodeEvents(std::string_view text, char delimiter);

// Node events since `start_s`, and before `end_s` if it is given. NotFound: there is no sacctmgr.
// Unavailable: it failed (no slurmdbd), with its words.
absl::StatusOr<std::vector<NodeOutage>> RunNodeEvents(std::int64_t start_s,
                                                      std::optional<std::int64_t> end_s = std::nullopt);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SLURM_SACCTMGR_H_
