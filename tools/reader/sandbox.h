// Makes this process one that can do little harm, for good: it and its children.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/base/helper_process.h"

namespace goodput {

// Becomes `user`, gains no powers any more, and, where the kernel has Landlock, writes nowhere but in
// `folder` (SQLite's lock files beside the database), and neither connects nor listens by TCP. Before there
// are threads. False: the kernel has no Landlock; all the rest is done.
absl::StatusOr<bool> Confine(const HelperUser& user, const std::string& folder);

}  // namespace goodput
