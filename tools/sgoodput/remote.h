// sgoodput --url: sends a query to goodputd's reader instead of reading a database.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/subprocess.h"
#include "tools/sgoodput/options.h"

namespace goodput {

struct RemoteQuestion {
  std::string subcommand;  // "list" if there is none
  // Options as given: the long name of each option, or each argument's name in lower case; a flag's value is
  // "1".
  std::vector<std::pair<std::string, std::string>> parameters;
  bool needs_run = true;  // false: the query needs no database
};

// Sends a query to `--url`, or to goodput.conf's `url` if neither --url nor --db is given. On success this
// does not return, since the process becomes goodput-ask; otherwise it returns the exit status. Null: the
// query is for this machine's database.
std::optional<int> AskRemotely(const CommonOptions& common, const RemoteQuestion& question);

// The target of such a query: --url, or goodput.conf's `url` if neither --url nor --db is given. Null: none,
// use this machine's database.
std::optional<std::string> RemoteUrl(const CommonOptions& common);

// Sends a query and waits: what goodput-ask printed, and its exit status.
absl::StatusOr<CommandResult> AskAndWait(const std::string& url, const CommonOptions& common,
                                         const RemoteQuestion& question);

// The query about one run.
RemoteQuestion QuestionAbout(const std::string& subcommand, const TargetOptions& target);

}  // namespace goodput
