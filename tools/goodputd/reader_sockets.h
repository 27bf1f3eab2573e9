// The sockets that goodput-reader serves.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// Listens at "127.0.0.1:9645", "[::1]:9645" or "0.0.0.0:9645": addresses, no names.
absl::StatusOr<int> ListenTcp(const std::string& address);

// Listens at a path that every user may connect to. One that nobody listens at is replaced; its folder is
// made where it is missing.
absl::StatusOr<int> ListenUnix(const std::string& path);

}  // namespace goodput
