// The name of a log in Cloud Logging.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

struct LogName {
  std::string project;
  std::string log;  // as in a URL: a slash is %2F
  std::string Text() const { return "projects/" + project + "/logs/" + log; }
};

// From projects/PROJECT/logs/LOG. A slash and other special characters in LOG may be percent-encoded or not.
absl::StatusOr<LogName> ParseLogName(const std::string& text);

}  // namespace goodput
