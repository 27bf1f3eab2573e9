#include "tools/sgoodput/export_bigquery.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/row_json.h"
#include "tools/base/format.h"
#include "tools/sgoodput/cloud_program.h"
#include "tools/sgoodput/export_rows.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

std::string ColumnsAsJson() {
  std::string json;
  for (const TypedColumn& column : AttemptDayTypes()) {
    json += Cat(json.empty() ? "[" : ",", "{\"name\":", QuotedJson(column.name),
                ",\"type\":", QuotedJson(column.type), "}");
  }
  return json + "]\n";
}

// Jobs of the run may have been runs of their own before.
std::string LinesOf(const RunRows& run, std::int64_t rev) {
  std::string lines;
  for (const std::string& day : run.rows.days) lines += AttemptDayAsJson(day, rev) + "\n";
  const std::vector<UnitKey> jobs = JobsOfReport(run.report);
  for (std::size_t i = 1; i < jobs.size(); ++i)
    lines += RemovalAsJson(run.cluster, UnitName(jobs[i]), rev) + "\n";
  return lines;
}

}  // namespace

int RunExportBigQuery(const ExportOptions& options) {
  if (options.grain != "attempt-day" || !options.output.empty() || !options.target.job.empty() ||
      !options.target.run.empty() || options.format != "google-goodput") {
    return Fail(
        absl::InvalidArgumentError("--bigquery writes all runs: it requires --grain=attempt-day, and takes "
                                   "no JOB, --run, -o or --format"));
  }
  // Before the database is read: what is read later is newer.
  const std::int64_t rev = absl::GetCurrentTimeNanos();
  std::int64_t runs = 0;
  const int code =
      FeedCloudProgram({"goodput-google-cloud", "load-rows", options.bigquery, "--rev", Cat(rev)},
                       [&](const WriteToProgram& write) -> absl::Status {
                         RETURN_IF_ERROR(write(ColumnsAsJson()));
                         RETURN_IF_ERROR(ForEachRunRows(options, [&](const RunRows& run) {
                           ++runs;
                           return write(LinesOf(run, rev));
                         }));
                         return write("end\n");
                       });
  if (code == kAnswered && runs == 0) return kNothingMatched;
  return code;
}

}  // namespace goodput
