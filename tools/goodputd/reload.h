// SIGHUP: the configuration is read anew. What is wrong with it is said, and the daemon goes on as it was;
// else it starts itself anew in its own process, which keeps its pid, and so its place under systemd, and the
// sockets that jobs send marks to.
#pragma once

#include <vector>

#include "absl/status/status.h"

namespace goodput {

// Runs this program again with these arguments, handing it `fds` as systemd would (PassedDescriptors finds
// them). Returns only where that cannot be done.
absl::Status StartAnew(char** argv, const std::vector<int>& fds);

}  // namespace goodput
