// Replaces a file as a whole: after a crash, it is the old one or the new one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace goodput {

// Writes `text` beside `path` (PATH.new, mode 0600 less the umask), and renames it when it is on disk.
// FailedPrecondition: says which file, and why not.
absl::Status ReplaceFile(const std::string& path, std::string_view text);

}  // namespace goodput
