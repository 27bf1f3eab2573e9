#include "tools/reader/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "sql/text.h"

namespace goodput {
namespace {

// Missing in headers of older kernels: see landlock(7).
constexpr std::uint64_t kRefer = 1ULL << 13U;     // since version 2
constexpr std::uint64_t kTruncate = 1ULL << 14U;  // 3
constexpr std::uint64_t kDevices = 1ULL << 15U;   // 5: ioctl
constexpr std::uint64_t kAllOfVersion1 = (1ULL << 13U) - 1;
constexpr std::uint64_t kTcp = 3;  // 4: bind and connect
constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
};

absl::Status Failed(const char* what) {
  return absl::InternalError(Cat(what, ": ", std::strerror(errno)));
}

absl::Status Allow(int rules, const std::string& path, std::uint64_t access) {
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = access;
  beneath.parent_fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (beneath.parent_fd < 0) return Failed(path.c_str());
  const long added = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  close(beneath.parent_fd);
  return added == 0 ? absl::OkStatus() : Failed("landlock_add_rule");
}

absl::StatusOr<bool> UseLandlock(const std::string& folder) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  Ruleset handled;
  handled.files = kAllOfVersion1;
  if (version >= 2) handled.files |= kRefer;
  if (version >= 3) handled.files |= kTruncate;
  if (version >= 5) handled.files |= kDevices;
  if (version >= 4) handled.network = kTcp;
  const std::size_t size = version >= 4 ? sizeof(handled) : sizeof(handled.files);
  const auto rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, size, 0));
  if (rules < 0) return Failed("landlock_create_ruleset");
  absl::Status status = Allow(rules, "/", kRead);
  if (status.ok()) {
    const std::uint64_t write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | kTruncate;
    status = Allow(rules, folder, (kRead | write) & handled.files);
  }
  if (status.ok() && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
    status = Failed("landlock_restrict_self");
  close(rules);
  if (!status.ok()) return status;
  return true;
}

}  // namespace

absl::StatusOr<bool> Confine(const HelperUser& user, const std::string& folder) {
  if (user.uid != geteuid() || user.gid != getegid()) {
    if (setgroups(0, nullptr) != 0 || setgid(user.gid) != 0 || setuid(user.uid) != 0)
      return Failed("cannot switch to the reader's user");
  }
  if (geteuid() == 0) return absl::FailedPreconditionError("it must not be root");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("PR_SET_NO_NEW_PRIVS");
  // Set after the change of user, which resets it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  umask(077);
  return UseLandlock(folder);
}

}  // namespace goodput
