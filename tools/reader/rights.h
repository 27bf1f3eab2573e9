// Which runs of others a user may see under Slurm's PrivateData, and to whom a Slurm JWT belongs: queried
// from slurmctld and slurmdbd with Slurm's commands, as root, and cached for some seconds.
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

// From `scontrol show config`.
struct PrivacyPolicy {
  // jobs, usage, users or accounts in PrivateData: a run shows all of these, so any of them makes runs
  // private.
  bool is_private = true;
  std::optional<uid_t> slurm_user;
  std::string munge_socket;        // from AuthInfo; empty: munge's default
  bool takes_tokens = false;       // AuthAltTypes has auth/jwt
  std::string user_claim = "sun";  // claim of a token that names the user
};
absl::StatusOr<PrivacyPolicy> ParsePrivacyPolicy(std::string_view config);

// A user of slurmdbd: `sacctmgr -n -P show user NAME withcoord format=User,AdminLevel,Coordinators`.
struct AccountingRole {
  bool sees_all = false;           // an operator or administrator
  std::set<std::string> accounts;  // accounts of which they are coordinators
};
AccountingRole ParseAccountingRole(std::string_view text, const std::string& user);

// The user named in a token, without any check. InvalidArgument: it is not a token.
absl::StatusOr<std::string> UserOfToken(const std::string& token, const std::string& claim);

class Rights {
 public:
  using Run = std::function<absl::StatusOr<CommandResult>(
      const std::vector<std::string>& command,
      const std::vector<std::pair<std::string, std::string>>& environment)>;
  explicit Rights(Run run, Clock clock = kSystemClock) : run_(std::move(run)), clock_(clock) {}

  // Empty `uid`: an unidentified user. PermissionDenied: they must identify themselves. Unavailable:
  // slurmctld has not answered yet.
  absl::StatusOr<Viewer> Of(std::optional<uid_t> uid);
  // The user of a token that slurmctld accepts. PermissionDenied: it does not accept it, or accepts no
  // tokens.
  absl::StatusOr<uid_t> OfToken(const std::string& token);
  // munge's socket; empty: the default.
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
