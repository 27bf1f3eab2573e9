// The name of a log in Cloud Logging.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

struct LogName {
  std::string project;
  std::string log;  // as in a URL: a slash is %2F
  std::string Text() const { return "projects/" + project + "/logs/" + log; }
};

// Whether `text` may be a project's id.
bool IsProject(std::string_view text);

// From projects/PROJECT/logs/LOG. A slash and other special characters in LOG may be percent-encoded or not.
absl::StatusOr<LogName> ParseLogName(const std::string& text);

}  // namespace goodput
