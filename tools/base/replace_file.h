// A small file that is replaced as a whole: after a crash, it is the old one or the new one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace goodput {

// Writes `text` beside `path` (PATH.new, mode 0600 less the umask), and renames it when it is on disk.
// FailedPrecondition: says which file, and why not.
absl::Status ReplaceFile(const std::string& path, std::string_view text);

// The whole text; absent: there is no such file. FailedPrecondition: says which file, and why not.
absl::StatusOr<std::optional<std::string>> ReadFileIfAny(const std::string& path);

}  // namespace goodput
