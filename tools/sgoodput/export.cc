// `sgoodput export`: writes a run in another program's format, or its records.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sql/text.h"
#include "tools/sgoodput/cloud_log.h"
#include "tools/sgoodput/export_bigquery.h"
#include "tools/sgoodput/export_days.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/import_export/export_formats.h"

namespace goodput {
namespace {

std::string JobName(const RunInfo& info) {
  if (!info.run.empty()) return info.run;
  return info.name.empty() ? Cat("job-", info.job_id_text) : info.name;
}

absl::Status CannotWrite(const std::string& what) {
  return absl::FailedPreconditionError(Cat(what, ": cannot write: ", std::strerror(errno)));
}

// Errors about the run are found before anything is written.
absl::StatusOr<std::function<absl::Status(const WriteText&)>> Exporter(const ExportFormat& format,
                                                                       Target& target) {
  if (format.is_records) {
    return [&](const WriteText& write) { return format.write({target.session.db, target.jobs, ""}, write); };
  }
  absl::StatusOr<Report> made = MakeReport(target, {});
  if (!made.ok()) return made.status();
  // On the heap, since its parts point to each other.
  const auto report = std::make_shared<const Report>(*std::move(made));
  return [&, report](const WriteText& write) {
    return format.write({target.session.db, target.jobs, JobName(report->run.info), &report->run.facts,
                         &report->timeline, &report->run.info},
                        write);
  };
}

// What goodputd at `url` exports, if the database is there.
int ExportAnswerToCloud(const ExportOptions& options, const std::string& url) {
  const absl::StatusOr<CommandResult> answer =
      AskAndWait(url, options.common, QuestionAbout("export", options.target));
  if (!answer.ok()) return Fail(answer.status());
  if (answer->exit_code != kAnswered) {
    std::fputs(answer->err.c_str(), stderr);
    return answer->exit_code;
  }
  return WriteCloudEntries(options, options.target.cluster,
                           [&](const WriteText& write) { return write(answer->out); });
}

int ExportToCloud(const ExportOptions& options) {
  if (!options.bigquery.empty() || !options.grain.empty() || !options.output.empty() ||
      !options.start.empty() || !options.end.empty() || options.format != "google-goodput") {
    return Fail(absl::InvalidArgumentError(
        "--cloud-log writes one run with format google-goodput, without -o, --grain, --bigquery, -S or -E"));
  }
  if (const std::optional<std::string> url = RemoteUrl(options.common))
    return ExportAnswerToCloud(options, *url);
  absl::StatusOr<Target> target = OpenTarget(options.common, options.target);
  if (!target.ok()) return Fail(target.status());
  const auto exporter = Exporter(*FindExportFormat(options.format), *target);
  if (!exporter.ok()) return Fail(exporter.status());
  return WriteCloudEntries(options, target->jobs.front().cluster, *exporter);
}

}  // namespace

int RunExport(const ExportOptions& options) {
  if (!options.cloud_log.empty()) return ExportToCloud(options);
  if (!options.bigquery.empty()) return RunExportBigQuery(options);
  if (!options.grain.empty()) return RunExportDays(options);
  if (options.format == "csv" || options.format == "parquet")
    return Fail(
        absl::InvalidArgumentError(Cat("--format=", options.format, " requires --grain=attempt-day")));
  if (!options.start.empty() || !options.end.empty())
    return Fail(absl::InvalidArgumentError("-S and -E require --grain=attempt-day"));
  absl::StatusOr<Target> target = OpenTarget(options.common, options.target);
  if (!target.ok()) return Fail(target.status());
  const ExportFormat* const format = FindExportFormat(options.format);
  if (format == nullptr) return Fail(absl::InvalidArgumentError(Cat("no export format ", options.format)));
  const auto exporter = Exporter(*format, *target);
  if (!exporter.ok()) return Fail(exporter.status());
  const bool to_stdout = options.output.empty() || options.output == "-";
  const std::string name = to_stdout ? "stdout" : options.output;
  std::FILE* const file = to_stdout ? stdout : std::fopen(options.output.c_str(), "we");
  if (file == nullptr) return Fail(CannotWrite(name));
  absl::Status status = (*exporter)([&](std::string_view piece) {
    const bool whole = std::fwrite(piece.data(), 1, piece.size(), file) == piece.size();
    return whole ? absl::OkStatus() : CannotWrite(name);
  });
  const bool closed = (to_stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (status.ok() && !closed) status = CannotWrite(name);
  return status.ok() ? kAnswered : Fail(status);
}

}  // namespace goodput
