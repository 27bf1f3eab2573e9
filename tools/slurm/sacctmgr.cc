#include "tools/slurm/sacctmgr.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/base/subprocess.h"
#include "tools/slurm/slurm_time.h"

namespace goodput {
namespace {

// sacctmgr has no --delimiter; a reason may hold the separator, so it comes last and keeps it.
constexpr char kDelimiter = '|';
constexpr std::size_t kFieldsBeforeReason = 5;

}  // namespace

std::vector<NodeOutage> ParseNodeEvents(std::string_view text, char delimiter) {
  std::vector<NodeOutage> outages;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, delimiter);
    if (cells.size() <= kFieldsBeforeReason || cells[1].empty()) continue;
    const std::optional<std::int64_t> start = ParseSlurmTime(cells[3]);
    if (!start) continue;
    NodeOutage outage;
    outage.cluster = std::string(cells[0]);
    outage.node = std::string(cells[1]);
    outage.state = std::string(cells[2]);
    outage.start_s = *start;
    outage.end_s = ParseSlurmTime(cells[4]);
    outage.reason =
        absl::StrJoin(cells.begin() + kFieldsBeforeReason, cells.end(), std::string(1, delimiter));
    outages.push_back(std::move(outage));
  }
  return outages;
}

absl::StatusOr<std::vector<NodeOutage>> RunNodeEvents(std::int64_t start_s,
                                                      std::optional<std::int64_t> end_s) {
  CommandOptions options;
  options.env.emplace_back("SLURM_TIME_FORMAT", "%s");
  std::vector<std::string> argv{"sacctmgr", "-n",    "-P",
                                "show",     "event", Cat("start=", FormatSlurmTime(start_s))};
  if (end_s) argv.push_back(Cat("end=", FormatSlurmTime(*end_s)));
  argv.emplace_back("format=Cluster,NodeName,State,TimeStart,TimeEnd,Reason");
  const absl::StatusOr<CommandResult> result = RunCommand(argv, options);
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) {
    const std::string words(absl::StripAsciiWhitespace(result->err.substr(0, result->err.find('\n'))));
    return absl::UnavailableError(Cat("sacctmgr failed: ", words));
  }
  return ParseNodeEvents(result->out, kDelimiter);
}

}  // namespace goodput
