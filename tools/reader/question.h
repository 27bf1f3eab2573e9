// Translates a URL into a command line of sgoodput. Pure.
//
// Only the subcommands and options listed here are allowed. Values are checked for length and characters and
// passed as `--option=value`, so that none can be taken for an option.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

using UrlParameters = std::vector<std::pair<std::string, std::string>>;

struct CommandQuestion {
  std::vector<std::string> arguments;  // of sgoodput, subcommand first
  bool text = false;                   // as=text: the answer is terminal output; otherwise JSON
  std::string time_zone;               // tz=: for times without a zone; empty: the server's
  bool of_everybody = false;           // it sums over all jobs of the cluster
};

// `path` is "/v1/list" and the like. NotFound: there is no such query. InvalidArgument: an unknown parameter
// or an invalid value.
absl::StatusOr<CommandQuestion> ReadQuestion(std::string_view path, const UrlParameters& parameters);

// A parameter of a query.
struct QuestionParameter {
  std::string_view name;
  bool is_flag = false;
};

// Those of "list" and the like, besides as, tz and color; empty if there is no such query.
std::vector<QuestionParameter> QuestionParameters(std::string_view subcommand);

}  // namespace goodput
