// sgoodput --url: the question goes to goodputd's reader instead of a database.
#ifndef GOODPUT_TOOLS_SGOODPUT_REMOTE_H_
#define GOODPUT_TOOLS_SGOODPUT_REMOTE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_REMOTE_H_
