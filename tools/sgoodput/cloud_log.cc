#include "tools/sgoodput/cloud_log.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/parse_time.h"
#include "tools/sgoodput/cloud_program.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// Google's calculator looks as far back if it does not know when a job began.
constexpr absl::Duration kLookedBack = absl::Hours(24 * 7);

absl::StatusOr<std::vector<std::string>> QuestionFor(const ImportOptions& options) {
  const absl::Time now = absl::Now();
  Ns until = absl::ToUnixNanos(now);
  if (!options.to.empty()) {
    ASSIGN_OR_RETURN(until, ParseTimeOption(options.to, now));
  }
  Ns after = until - absl::ToInt64Nanoseconds(kLookedBack);
  if (!options.from.empty()) {
    ASSIGN_OR_RETURN(after, ParseTimeOption(options.from, now));
  }
  if (after >= until) return absl::InvalidArgumentError("-S is not before -E");
  std::vector<std::string> question{
      "goodput-google-cloud", "read", options.cloud_log, "--after", Cat(after), "--until", Cat(until)};
  if (!options.job_name.empty()) question.insert(question.end(), {"--job-name", options.job_name});
  if (!options.keep.empty()) question.emplace_back("--continue");
  return question;
}

}  // namespace

absl::StatusOr<Input> ReadCloudEntries(const ImportOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> question, QuestionFor(options));
  // Each job of a log is an import of its own.
  const std::string name = Cat(options.cloud_log, options.job_name.empty() ? "" : "#", options.job_name);
  ASSIGN_OR_RETURN(Input input, Input::CopyOf(name, options.keep));
  ASSIGN_OR_RETURN(const pid_t child, StartCloudProgram(question, -1, input.WritableFd()));
  if (WaitForCloudProgram(child) != 0) return absl::CancelledError("");
  RETURN_IF_ERROR(input.CopyIsWritten());
  if (input.size() == 0) {
    const std::string job = options.job_name.empty() ? "" : Cat(" of job ", options.job_name);
    return absl::NotFoundError(
        Cat(options.cloud_log, " has no entries", job,
            options.from.empty() ? " of the last 7 days; use -S for older ones" : " of this time"));
  }
  return input;
}

int WriteCloudEntries(const ExportOptions& options, const std::string& cluster,
                      const std::function<absl::Status(const WriteToProgram&)>& write_log) {
  std::vector<std::string> command{"goodput-google-cloud", "write", options.cloud_log, "--retention",
                                   Cat(options.retention_days)};
  if (!cluster.empty()) command.insert(command.end(), {"--label", Cat("goodput_cluster=", cluster)});
  return FeedCloudProgram(command, write_log);
}

int CheckCloudLog(const std::string& log) {
  return FeedCloudProgram({"goodput-google-cloud", "check", log},
                          [](const WriteToProgram&) { return absl::OkStatus(); });
}

}  // namespace goodput
