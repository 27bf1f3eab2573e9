#include "tools/reader/rights.h"

#include <pwd.h>

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "simdjson.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::int64_t kRememberedNs = 10'000'000'000;
// A server that did not answer is not asked again for a while.
constexpr std::int64_t kAwayNs = 30'000'000'000;
constexpr std::size_t kMostRemembered = 1000;
constexpr std::size_t kLongestToken = 8192;

// Parses "Key = value" lines.
std::map<std::string, std::string> ReadConfig(std::string_view text) {
  std::map<std::string, std::string> values;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos) continue;
    values.emplace(absl::StripAsciiWhitespace(line.substr(0, equals)),
                   absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return values;
}

std::vector<std::string> List(const std::string& text) {
  return absl::StrSplit(text, ',', absl::SkipWhitespace());
}

// The value of KEY=value in a list.
std::optional<std::string> Option(const std::string& list, std::string_view key) {
  for (const std::string& word : List(list)) {
    if (word.size() > key.size() && word.compare(0, key.size(), key) == 0 && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  }
  return std::nullopt;
}

std::string NameOf(uid_t uid) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? Cat(uid) : std::string(found->pw_name);
}

}  // namespace

absl::StatusOr<PrivacyPolicy> ParsePrivacyPolicy(std::string_view config) {
  const std::map<std::string, std::string> values = ReadConfig(config);
  const auto value = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() || found->second == "(null)" ? std::string() : found->second;
  };
  if (values.count("PrivateData") == 0)
    return absl::InternalError("scontrol show config does not say PrivateData");
  PrivacyPolicy policy;
  policy.is_private = false;
  for (const std::string& what : List(absl::AsciiStrToLower(value("PrivateData")))) {
    if (what == "jobs" || what == "usage" || what == "users" || what == "accounts" || what == "all")
      policy.is_private = true;
  }
  // "slurm(64030)"
  const std::string user = value("SlurmUser");
  const std::size_t open = user.find('(');
  uid_t uid = 0;
  if (open != std::string::npos && absl::SimpleAtoi(user.substr(open + 1, user.find(')') - open - 1), &uid))
    policy.slurm_user = uid;
  policy.munge_socket = Option(value("AuthInfo"), "socket").value_or("");
  for (const std::string& type : List(value("AuthAltTypes"))) policy.takes_tokens |= type == "auth/jwt";
  policy.takes_tokens |= value("AuthType") == "auth/jwt";
  policy.user_claim = Option(value("AuthAltParameters"), "userclaimfield").value_or("sun");
  return policy;
}

AccountingRole ParseAccountingRole(std::string_view text, const std::string& user) {
  AccountingRole role;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 3 || cells[0] != user) continue;
    role.sees_all = cells[1] == "Operator" || cells[1] == "Administrator";
    for (std::string& account : List(cells[2])) role.accounts.insert(std::move(account));
  }
  return role;
}

absl::StatusOr<std::string> UserOfToken(const std::string& token, const std::string& claim) {
  const absl::Status none = absl::InvalidArgumentError("this is not a Slurm token");
  const std::vector<std::string> parts = absl::StrSplit(token, '.');
  std::string payload;
  if (parts.size() != 3 || !absl::WebSafeBase64Unescape(parts[1], &payload)) return none;
  // If there were two, readers could disagree on which counts.
  const std::string key = Cat("\"", claim, "\"");
  if (payload.find(key) == std::string::npos || payload.find(key) != payload.rfind(key)) return none;
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view user;
  if (parser.parse(simdjson::padded_string(payload)).get(document) != simdjson::SUCCESS ||
      document[claim].get(user) != simdjson::SUCCESS || user.empty()) {
    return none;
  }
  return std::string(user);
}

absl::StatusOr<PrivacyPolicy> Rights::Policy() {
  if (clock_.mono_ns() >= policy_until_ns_) {
    const absl::StatusOr<CommandResult> said = run_({"scontrol", "show", "config"}, {});
    absl::StatusOr<PrivacyPolicy> policy = absl::UnavailableError("slurmctld does not answer");
    if (said.ok() && said->exit_code == 0) policy = ParsePrivacyPolicy(said->out);
    policy_trouble_ = policy.status();
    policy_until_ns_ = clock_.mono_ns() + (policy.ok() ? kRememberedNs : kAwayNs);
    // While slurmctld is down, its last answer applies.
    if (policy.ok()) policy_ = *policy;
  }
  if (policy_) return *policy_;
  return absl::UnavailableError(Cat("access rights are not known: ", Message(policy_trouble_)));
}

AccountingRole Rights::RoleOf(const std::string& user) {
  const std::int64_t now = clock_.mono_ns();
  if (roles_.size() >= kMostRemembered) roles_.clear();
  Known& known = roles_[user];
  if (now < known.until_ns) return known.role;
  if (now < roles_away_until_ns_) return {};
  const absl::StatusOr<CommandResult> said = run_({"sacctmgr", "-n", "-P", "show", "user", Cat("name=", user),
                                                   "withcoord", "format=User,AdminLevel,Coordinators"},
                                                  {});
  const bool answered = said.ok() && said->exit_code == 0;
  // Without slurmdbd, users have no roles.
  known.role = answered ? ParseAccountingRole(said->out, user) : AccountingRole{};
  known.until_ns = clock_.mono_ns() + kRememberedNs;
  if (!answered) roles_away_until_ns_ = clock_.mono_ns() + kAwayNs;
  return known.role;
}

absl::StatusOr<Viewer> Rights::Of(std::optional<uid_t> uid) {
  Viewer viewer;
  if (uid) viewer.user = NameOf(*uid);
  if (uid == uid_t{0}) return viewer;
  ASSIGN_OR_RETURN(const PrivacyPolicy policy, Policy());
  if (!policy.is_private) return viewer;
  if (!uid) {
    return absl::PermissionDeniedError(
        "this cluster has PrivateData: authenticate with MUNGE or a Slurm JWT, or use the Unix socket");
  }
  if (uid == policy.slurm_user) return viewer;
  viewer.all = false;
  // A user name that could be parsed as something else gets no rights.
  if (viewer.user.find_first_of(",:= \t\n") != std::string::npos) return viewer;
  const AccountingRole role = RoleOf(viewer.user);
  viewer.all = role.sees_all;
  viewer.accounts = role.accounts;
  return viewer;
}

absl::StatusOr<uid_t> Rights::OfToken(const std::string& token) {
  ASSIGN_OR_RETURN(const PrivacyPolicy policy, Policy());
  if (!policy.takes_tokens)
    return absl::PermissionDeniedError("this cluster accepts no tokens (AuthAltTypes)");
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.=";
  if (token.size() > kLongestToken || token.find_first_not_of(kAllowed) != std::string::npos)
    return absl::PermissionDeniedError("this is not a Slurm token");
  const absl::StatusOr<std::string> user = UserOfToken(token, policy.user_claim);
  if (!user.ok()) return absl::PermissionDeniedError(Message(user.status()));
  // slurmctld authenticates the client before it answers.
  const absl::StatusOr<CommandResult> said = run_({"scontrol", "show", "config"}, {{"SLURM_JWT", token}});
  if (!said.ok()) return absl::UnavailableError("slurmctld does not answer");
  if (said->exit_code != 0) return absl::PermissionDeniedError("slurmctld does not accept this token");
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(user->c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return absl::PermissionDeniedError("the token's user does not exist on this machine");
  return found->pw_uid;
}

std::string Rights::MungeSocket() {
  const absl::StatusOr<PrivacyPolicy> policy = Policy();
  return policy.ok() ? policy->munge_socket : std::string();
}

}  // namespace goodput
