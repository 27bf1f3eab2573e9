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

// Where queries go: to --url; with --db, to that file (null); otherwise to goodput.conf's `url`; without one,
// to this machine's database (null), or to its `query_socket` if the user may not read the database.
std::optional<std::string> RemoteUrl(const CommonOptions& common);

// Sends a query to RemoteUrl. On success this does not return, since the process becomes goodput-ask;
// otherwise it returns the exit status. Null: the query is for this machine's database.
std::optional<int> AskRemotely(const CommonOptions& common, const RemoteQuestion& question);

// Sends a query and waits: what goodput-ask printed, and its exit status.
absl::StatusOr<CommandResult> AskAndWait(const std::string& url, const CommonOptions& common,
                                         const RemoteQuestion& question);

// The query about one run.
RemoteQuestion QuestionAbout(const std::string& subcommand, const TargetOptions& target);

}  // namespace goodput
