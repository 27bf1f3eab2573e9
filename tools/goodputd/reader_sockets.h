// The sockets that goodput-reader serves.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// Listens at "127.0.0.1:9645", "[::1]:9645" or "0.0.0.0:9645": addresses, not names.
absl::StatusOr<int> ListenTcp(const std::string& address);

// Listens at a path to which every user may connect. Replaces a socket without a listener; creates a missing
// folder.
absl::StatusOr<int> ListenUnix(const std::string& path);

}  // namespace goodput
