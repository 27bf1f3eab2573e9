// Restricts this process and its children irrevocably.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/base/helper_process.h"

namespace goodput {

// Switches to `user` and prevents gaining privileges. If the kernel has Landlock, also restricts writing to
// `folder` (SQLite's lock files next to the database) and blocks TCP connect and listen. Call it before
// starting threads. Returns false if the kernel has no Landlock; everything else is done in that case too.
absl::StatusOr<bool> Confine(const HelperUser& user, const std::string& folder);

}  // namespace goodput
