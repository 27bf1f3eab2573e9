// What reading and writing a log in the cloud needs of the world outside; tests replace it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/http_client.h"

namespace goodput {

struct CloudWorld {
  std::function<HttpAnswer(const HttpRequest&)> send;
  std::function<absl::Time()> now;
  std::function<void(absl::Duration)> sleep;
  std::function<double()> random;                                          // from 0 to below 1
  std::function<std::optional<std::string>(const std::string&)> variable;  // of the environment
  // At most this many bytes; a longer file is an error.
  std::function<absl::StatusOr<std::string>(const std::string& path, std::size_t most)> read_file;
};

// The network, the clock, the environment and the disk of this process.
CloudWorld RealWorld();

}  // namespace goodput
