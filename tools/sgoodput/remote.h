// sgoodput --url: the question goes to goodputd's reader instead of a database.
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
  std::string subcommand;  // "list" for none
  // As they were given: the long name of each option, or of each word in lower case; a flag's value is "1".
  std::vector<std::pair<std::string, std::string>> parameters;
  bool needs_run = true;  // false: it can be answered without anybody's database
};

// The exit status of a question that was asked of `--url`, or of goodput.conf's `url` where neither --url nor
// --db is given; it does not return where all is well, for this process becomes goodput-ask. Null: the
// question is for this machine's database.
std::optional<int> AskRemotely(const CommonOptions& common, const RemoteQuestion& question);

// Whom such a question goes to: --url, or goodput.conf's `url` where neither --url nor --db is given. Null:
// nobody, it is for this machine's database.
std::optional<std::string> RemoteUrl(const CommonOptions& common);

// Asks and waits for the answer: what goodput-ask printed, and how it exited.
absl::StatusOr<CommandResult> AskAndWait(const std::string& url, const CommonOptions& common,
                                         const RemoteQuestion& question);

// The question about one run.
RemoteQuestion QuestionAbout(const std::string& subcommand, const TargetOptions& target);

}  // namespace goodput
