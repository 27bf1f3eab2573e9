#include "tools/sources/slurm/sacctmgr.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/subprocess.h"
#include "tools/sources/slurm/slurm_time.h"

namespace goodput {
namespace {

// sacctmgr has no --delimiter; a reason may contain the separator, so it comes last and keeps it.
constexpr char kDelimiter = '|';
constexpr std::size_t kFieldsBeforeReason = 5;
const absl::Duration kEventsTimeout = absl::Seconds(60);
// The queue watch waits for it.
const absl::Duration kQosTimeout = absl::Seconds(5);

// What `sacctmgr -n -P show WHAT...` prints.
absl::StatusOr<std::string> Show(const std::vector<std::string>& what, absl::Duration timeout) {
  CommandOptions options;
  options.timeout = timeout;
  options.env.emplace_back("SLURM_TIME_FORMAT", "%s");
  std::vector<std::string> argv{"sacctmgr", "-n", "-P", "show"};
  argv.insert(argv.end(), what.begin(), what.end());
  ASSIGN_OR_RETURN(const CommandResult result, RunCommand(argv, options));
  if (result.exit_code != 0) {
    const std::string words(absl::StripAsciiWhitespace(result.err.substr(0, result.err.find('\n'))));
    return absl::UnavailableError(Cat("sacctmgr failed: ", words));
  }
  return result.out;
}

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
  std::vector<std::string> what{"event", Cat("start=", FormatSlurmTime(start_s))};
  if (end_s) what.push_back(Cat("end=", FormatSlurmTime(*end_s)));
  what.emplace_back("format=Cluster,NodeName,State,TimeStart,TimeEnd,Reason");
  ASSIGN_OR_RETURN(const std::string text, Show(what, kEventsTimeout));
  return ParseNodeEvents(text, kDelimiter);
}

Preemptors ParsePreemptors(std::string_view text) {
  Preemptors preemptors;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, kDelimiter);
    if (cells.size() < 2 || cells[0].empty()) continue;
    preemptors[std::string(cells[0])];  // records that nothing preempts it
    for (const absl::string_view preempted : absl::StrSplit(cells[1], ',', absl::SkipWhitespace()))
      preemptors[std::string(preempted)].emplace_back(cells[0]);
  }
  for (auto& [qos, by] : preemptors) std::sort(by.begin(), by.end());
  return preemptors;
}

absl::StatusOr<Preemptors> RunPreemptors() {
  ASSIGN_OR_RETURN(const std::string text, Show({"qos", "format=Name,Preempt"}, kQosTimeout));
  return ParsePreemptors(text);
}

}  // namespace goodput
