// What Slurm's PrivateData leaves a user of the runs of others, and whose a Slurm JWT is: asked of slurmctld
// and slurmdbd by Slurm's own commands, as root, and remembered for some seconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "spank/clock.h"
#include "tools/base/subprocess.h"
#include "tools/base/viewer.h"

namespace goodput {

// Of `scontrol show config`.
struct PrivacyPolicy {
  // jobs, usage, users or accounts in PrivateData: a run shows all of these, so any of them makes it its
  // owner's.
  bool is_private = true;
  std::optional<uid_t> slurm_user;
  std::string munge_socket;        // of AuthInfo; empty: munge's own
  bool takes_tokens = false;       // AuthAltTypes has auth/jwt
  std::string user_claim = "sun";  // in a token
};
absl::StatusOr<PrivacyPolicy> ParsePrivacyPolicy(std::string_view config);

// A user of slurmdbd: `sacctmgr -n -P show user NAME withcoord format=User,AdminLevel,Coordinators`.
struct AccountingRole {
  bool sees_all = false;           // an operator or administrator
  std::set<std::string> accounts;  // of which they are coordinators
};
AccountingRole ParseAccountingRole(std::string_view text, const std::string& user);

// Who a token says it is of; nothing is checked. InvalidArgument: it is none.
absl::StatusOr<std::string> UserOfToken(const std::string& token, const std::string& claim);

class Rights {
 public:
  using Run = std::function<absl::StatusOr<CommandResult>(
      const std::vector<std::string>& command,
      const std::vector<std::pair<std::string, std::string>>& environment)>;
  explicit Rights(Run run, Clock clock = kSystemClock) : run_(std::move(run)), clock_(clock) {}

  // Null: somebody who did not say who they are. PermissionDenied: they have to. Unavailable: slurmctld was
  // never there to say.
  absl::StatusOr<Viewer> Of(std::optional<uid_t> uid);
  // The user of a token that slurmctld accepts. PermissionDenied: it does not, or takes no tokens.
  absl::StatusOr<uid_t> OfToken(const std::string& token);
  // Where munge listens; empty: where it does by default.
  std::string MungeSocket();

 private:
  absl::StatusOr<PrivacyPolicy> Policy();
  AccountingRole RoleOf(const std::string& user);

  Run run_;
  Clock clock_;
  std::optional<PrivacyPolicy> policy_;
  std::int64_t policy_until_ns_ = 0;
  absl::Status policy_trouble_;
  struct Known {
    AccountingRole role;
    std::int64_t until_ns = 0;
  };
  std::map<std::string, Known> roles_;
  std::int64_t roles_away_until_ns_ = 0;
};

}  // namespace goodput
