// Restarts goodputd on SIGHUP with a new configuration, in the same process: it keeps its pid, and so its
// place under systemd, and the sockets to which jobs send marks. An invalid configuration is logged and
// changes nothing.
#pragma once

#include <vector>

#include "absl/status/status.h"

namespace goodput {

// Executes this program again with these arguments and passes `fds` as systemd would (PassedDescriptors finds
// them). Returns only on failure.
absl::Status StartAnew(char** argv, const std::vector<int>& fds);

}  // namespace goodput
