#include "tools/sgoodput/export_days.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/copy_text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/base/format.h"
#include "tools/base/http_reply.h"
#include "tools/base/parse_time.h"
#include "tools/sgoodput/export_rows.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// The name that Hive gives to a partition without a value.
constexpr const char* kNoValue = "__HIVE_DEFAULT_PARTITION__";

// A field of COPY's text as a field of CSV (RFC 4180). Unlike CsvLine, it changes no value.
std::string CsvField(std::string_view field) {
  const std::optional<std::string> value = ReadCopyField(field);
  if (!value) return "";
  // An empty text is quoted: without quotes it is NULL.
  if (!value->empty() && value->find_first_of(",\"\r\n") == std::string::npos) return *value;
  std::string quoted = "\"";
  for (const char c : *value) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

// Folders have the columns cluster and month.
bool IsFolder(const std::string& column) {
  return column == "cluster" || column == "month";
}

std::string Header() {
  std::string line;
  for (const std::string& column : AttemptDayColumns()) {
    if (!IsFolder(column)) line += Cat(line.empty() ? "" : ",", column);
  }
  return line + "\r\n";
}

// One file for each cluster and month.
class Files {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {}
  ~Files() {
    for (auto& [path, file] : open_) {
      if (file != nullptr) std::fclose(file);
      std::error_code ignored;
      std::filesystem::remove(path + ".new", ignored);
    }
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  absl::Status Write(const std::string& cluster, std::string_view month, const std::string& line) {
    const std::string folder = Cat(folder_, "/cluster=", cluster.empty() ? kNoValue : PercentEncoded(cluster),
                                   "/month=", month.substr(0, 7));
    std::FILE*& file = open_[folder + "/attempt_day.csv"];
    if (file == nullptr) {
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error) return absl::FailedPreconditionError(Cat(folder, ": cannot create it: ", error.message()));
      file = std::fopen((folder + "/attempt_day.csv.new").c_str(), "we");
      if (file == nullptr || std::fputs(Header().c_str(), file) < 0) return CannotWrite(folder);
    }
    return std::fputs(line.c_str(), file) < 0 ? CannotWrite(folder) : absl::OkStatus();
  }

  // Puts the new files in place of the old ones.
  absl::Status Finish() {
    for (auto& [path, file] : open_) {
      if (std::fclose(std::exchange(file, nullptr)) != 0) return CannotWrite(path);
      if (std::rename((path + ".new").c_str(), path.c_str()) != 0) return CannotWrite(path);
    }
    return absl::OkStatus();
  }
  std::size_t count() const { return open_.size(); }

 private:
  static absl::Status CannotWrite(const std::string& what) {
    return absl::FailedPreconditionError(Cat(what, ": cannot write: ", std::strerror(errno)));
  }
  std::string folder_;
  std::map<std::string, std::FILE*> open_;
};

// First day of a month in UTC, as 2026-10-01; a part of a month would replace the file of the whole month.
absl::StatusOr<std::string> MonthOf(const std::string& text, const char* option) {
  const absl::StatusOr<Ns> t = ParseTimeOption(text, absl::Now());
  if (!t.ok()) return Annotate(t.status(), option);
  const absl::Time time = absl::FromUnixNanos(*t);
  const absl::CivilMonth month = absl::ToCivilMonth(time, absl::UTCTimeZone());
  if (absl::FromCivil(month, absl::UTCTimeZone()) != time)
    return absl::InvalidArgumentError(
        Cat(option, ": use the first of a month in UTC (TZ=UTC), since a file has a whole month"));
  return absl::FormatCivilTime(absl::CivilDay(month));
}

absl::Status CheckOptions(const ExportOptions& options) {
  if (options.grain != "attempt-day")
    return absl::InvalidArgumentError(Cat("--grain: use attempt-day, not '", options.grain, "'"));
  if (options.format == "parquet")
    return absl::InvalidArgumentError(
        "--format: Parquet needs a library that distributions do not have; write csv, which DuckDB and "
        "others convert");
  if (options.format != "csv") return absl::InvalidArgumentError("--grain requires --format=csv");
  if (!options.target.job.empty() || !options.target.run.empty())
    return absl::InvalidArgumentError("--grain exports all runs; it takes no JOB and no --run");
  if (options.output.empty() || options.output == "-")
    return absl::InvalidArgumentError("--grain writes several files; name their folder with -o");
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> Export(const ExportOptions& options, std::int64_t& runs) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::string first = "0000-00-00";
  std::string end = "9999-99-99";
  if (!options.start.empty()) {
    ASSIGN_OR_RETURN(first, MonthOf(options.start, "-S"));
  }
  if (!options.end.empty()) {
    ASSIGN_OR_RETURN(end, MonthOf(options.end, "-E"));
  }
  const auto column_of = [](const char* name) {
    const std::vector<std::string>& columns = AttemptDayColumns();
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  };
  const std::size_t month_column = column_of("month");
  Files files(options.output);
  const auto take = [&](const RunRows& run) -> absl::Status {
    ++runs;
    for (const std::string& day : run.rows.days) {
      const std::vector<std::string> fields = absl::StrSplit(day, '\t');
      const std::string& month = fields[month_column];
      if (month < first || month >= end) continue;
      std::string line;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (IsFolder(AttemptDayColumns()[i])) continue;
        if (i > 0) line.push_back(',');
        line += CsvField(fields[i]);
      }
      RETURN_IF_ERROR(files.Write(run.cluster, month, line + "\r\n"));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRunRows(options, take));
  RETURN_IF_ERROR(files.Finish());
  return files.count();
}

}  // namespace

int RunExportDays(const ExportOptions& options) {
  std::int64_t runs = 0;
  const absl::StatusOr<std::size_t> files = Export(options, runs);
  if (!files.ok()) return Fail(files.status());
  std::printf("%s in %s below %s\n", Counted(runs, "run").c_str(),
              Counted(static_cast<std::int64_t>(*files), "file").c_str(), Printable(options.output).c_str());
  return *files == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
