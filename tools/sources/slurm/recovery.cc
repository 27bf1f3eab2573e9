#include "tools/sources/slurm/recovery.h"

#include <simdjson.h>

namespace goodput {

std::string RecoveryAskedFor(std::string_view comment, bool expedite) {
  constexpr std::size_t kMostComment = 4096;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::string_view mode;
  const bool ajr = comment.size() <= kMostComment && comment.find("\"APS\"") != std::string_view::npos &&
                   parser.parse(comment.data(), comment.size()).get(json) == simdjson::SUCCESS &&
                   json["APS"]["auto_resume_mode"].get(mode) == simdjson::SUCCESS && mode == "requeue";
  // Slurm's own comes before anybody else sees that the job ended.
  if (expedite) return "expedite";
  return ajr ? "ajr" : "";
}

}  // namespace goodput
