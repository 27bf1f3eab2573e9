// What a URL asks for, as a command line of sgoodput. Pure.
//
// Only what is listed here gets through: which subcommands, and which of their options. Values are checked
// for length and characters and are handed over as `--option=value`, so that none can be taken for an option.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

using UrlParameters = std::vector<std::pair<std::string, std::string>>;

struct CommandQuestion {
  std::vector<std::string> arguments;  // of sgoodput, the subcommand first
  bool text = false;                   // as=text: the answer is what a terminal shows; else it is JSON
  std::string time_zone;               // tz=: for times without one; empty: the server's
  bool of_everybody = false;           // it sums over all jobs of the cluster, whoever sees them
};

// `path` is "/v1/list" and the like. NotFound: there is no such question. InvalidArgument: a parameter that
// is not one of its, or a value that is none.
absl::StatusOr<CommandQuestion> ReadQuestion(std::string_view path, const UrlParameters& parameters);

}  // namespace goodput
