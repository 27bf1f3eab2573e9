// goodput-google-cloud: what sgoodput executes for --cloud-log, --cloud-monitoring and --bigquery. It only
// talks to these services: entries, time series and rows come and go by stdout and stdin, and sgoodput has
// the database.
//
//   goodput-google-cloud read LOG --after NS --until NS [--job-name NAME] [--continue]
//   goodput-google-cloud write LOG [--retention DAYS] [--label NAME=VALUE ...]
//   goodput-google-cloud check LOG
//   goodput-google-cloud write-metrics projects/PROJECT [--location ZONE]
//   goodput-google-cloud check-metrics projects/PROJECT
//   goodput-google-cloud load-rows projects/PROJECT/datasets/DATASET --rev NS
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/progress.h"
#include "tools/sources/google_cloud/bigquery_service.h"
#include "tools/sources/google_cloud/check_log.h"
#include "tools/sources/google_cloud/check_monitoring.h"
#include "tools/sources/google_cloud/load_rows.h"
#include "tools/sources/google_cloud/metadata_server.h"
#include "tools/sources/google_cloud/read_entries.h"
#include "tools/sources/google_cloud/write_entries.h"
#include "tools/sources/google_cloud/write_series.h"

namespace goodput {
namespace {

constexpr int kDone = 0;
constexpr int kIncomplete = 1;
constexpr int kFailed = 2;
constexpr std::string_view kEndOfRows = "end";
constexpr std::size_t kReadAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kMostLine = std::size_t{4} << 20U;

struct Words {
  std::string command;
  std::string about;  // the log or the project
  LogName log;
  std::string location;
  std::int64_t after_ns = 0;
  std::int64_t until_ns = 0;
  std::string job_name;
  bool continues = false;
  int retention_days = 0;
  std::int64_t rev = 0;
  std::map<std::string, std::string> labels;
};

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "sgoodput: %s\n", Printable(Message(status)).c_str());
  return kFailed;
}

absl::Status CannotWrite() {
  return absl::ErrnoToStatus(errno, "cannot write the entries");
}

// Hands on the complete lines of stdout, a file, and removes an incomplete last one.
absl::Status ReadKept(EntryReader& reader) {
  if (flock(STDOUT_FILENO, LOCK_EX | LOCK_NB) != 0)
    return absl::UnavailableError("the file is in use by another sgoodput import");
  std::string text;
  std::string piece(kReadAtOnce, '\0');
  off_t at = 0;
  off_t whole = 0;
  while (true) {
    const ssize_t got = pread(STDOUT_FILENO, piece.data(), piece.size(), at);
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the file");
    if (got == 0) break;
    at += got;
    text.append(piece, 0, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      RETURN_IF_ERROR(reader.Know(std::string_view(text).substr(begin, end - begin)));
      whole += static_cast<off_t>(end + 1 - begin);
      begin = end + 1;
    }
    text.erase(0, begin);
    if (text.size() > kMostLine) return absl::InvalidArgumentError("not a file of --keep");
  }
  if (ftruncate(STDOUT_FILENO, whole) != 0 || lseek(STDOUT_FILENO, whole, SEEK_SET) < 0) return CannotWrite();
  return absl::OkStatus();
}

absl::StatusOr<int> Read(LoggingService& service, const Words& words) {
  EntryReader reader(service, {words.log, words.job_name, absl::FromUnixNanos(words.after_ns),
                               absl::FromUnixNanos(words.until_ns)});
  if (words.continues) RETURN_IF_ERROR(ReadKept(reader));
  Progress progress;
  const absl::StatusOr<ReadEntriesReport> report = reader.Read(
      [](std::string_view line) {
        const bool good = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
        return good ? absl::OkStatus() : CannotWrite();
      },
      [&](const ReadEntriesReport& so_far, const std::string& timestamp) {
        std::fflush(stdout);
        progress.Say(Cat(words.log.Text(), ": ", so_far.entries, " entries, until ", Printable(timestamp)));
      });
  RETURN_IF_ERROR(report.status());
  if (std::fflush(stdout) != 0) return CannotWrite();
  return kDone;
}

int Tell(const WriteEntriesReport& report, const Words& words) {
  const auto say = [&](std::int64_t count, const std::string& why) {
    if (count > 0) {
      std::fprintf(stderr, "sgoodput: %s: %lld entries not written: %s\n", words.log.Text().c_str(),
                   static_cast<long long>(count), why.c_str());
    }
  };
  std::printf("%lld entries written to %s\n", static_cast<long long>(report.written),
              words.log.Text().c_str());
  say(report.too_old, Cat("older than ", words.retention_days,
                          " days, the log's retention, so that the log would not show them; --retention DAYS "
                          "if it keeps them longer"));
  say(report.too_new, "more than a day ahead, so that the log would not show them");
  say(report.refused, report.why_refused);
  const bool complete = report.too_old + report.too_new + report.refused == 0;
  if (!complete) std::fprintf(stderr, "sgoodput: what Google's calculator reads of this run is incomplete\n");
  return complete ? kDone : kIncomplete;
}

absl::StatusOr<int> Write(LoggingService& service, const CloudWorld& world, const Words& words) {
  WriteEntriesOptions options;
  options.log = words.log;
  options.labels = words.labels;
  options.retention = absl::Hours(24 * words.retention_days);
  options.now = world.now();
  EntryWriter writer(service, std::move(options));
  Progress progress;
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::Status status = writer.Take(line);
    if (!status.ok()) return Annotate(status, Cat("after ", writer.report().written, " entries"));
    progress.Say(Cat(words.log.Text(), ": ", writer.report().written, " entries written"));
  }
  RETURN_IF_ERROR(writer.Finish());
  return Tell(writer.report(), words);
}

void PrintFinding(const CloudFinding& finding) {
  const char* const sign = !finding.tried ? "--" : finding.good ? "ok" : "!!";
  std::printf("%s  %s\n", sign, Printable(finding.what).c_str());
  if (!finding.good) std::printf("      fix: %s\n", Printable(finding.fix).c_str());
}

int Check(LoggingService& service, const CloudWorld& world, const Words& words) {
  return CheckLog(service, words.log, world.now(), PrintFinding) ? kDone : kIncomplete;
}

absl::StatusOr<WriteSeriesOptions> WhereToWrite(const CloudWorld& world, const Words& words) {
  WriteSeriesOptions options{{}, words.location, world.now()};
  ASSIGN_OR_RETURN(options.project, ParseProject(words.about));
  if (options.project == "-") {
    ASSIGN_OR_RETURN(options.project, ProjectOfMachine(world));
  }
  if (options.location.empty()) {
    ASSIGN_OR_RETURN(options.location, ZoneOfMachine(world));
  }
  return options;
}

// One line about what is missing, since this runs every minute.
int Tell(WriteSeriesReport report, const std::string& project, const absl::Status& status) {
  for (std::string line; std::getline(std::cin, line);) ++report.taken;
  std::printf("%lld time series written to projects/%s\n", static_cast<long long>(report.written),
              project.c_str());
  std::fflush(stdout);
  if (report.refused > 0 || !status.ok()) {
    const std::string why = status.ok() ? report.why_refused : Message(status);
    std::fprintf(stderr, "sgoodput: %lld of %lld time series not written: %s\n",
                 static_cast<long long>(report.taken - report.written), static_cast<long long>(report.taken),
                 Printable(why).c_str());
  }
  if (status.ok()) return report.refused > 0 ? kIncomplete : kDone;
  const bool may_pass = absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  return may_pass ? kIncomplete : kFailed;
}

absl::StatusOr<int> WriteMetrics(MonitoringService& service, const CloudWorld& world, const Words& words) {
  ASSIGN_OR_RETURN(const WriteSeriesOptions where, WhereToWrite(world, words));
  SeriesWriter writer(service, where);
  absl::Status status;
  std::string line;
  while (status.ok() && std::getline(std::cin, line)) status = writer.Take(line);
  if (status.ok()) status = writer.Finish();
  return Tell(writer.report(), where.project, status);
}

absl::StatusOr<int> CheckMetrics(MonitoringService& service, const CloudWorld& world, const Words& words) {
  ASSIGN_OR_RETURN(const std::string project, ParseProject(words.about));
  return CheckMonitoring(world, service, project, PrintFinding) ? kDone : kIncomplete;
}

absl::StatusOr<int> LoadRows(const CloudWorld& world, const Words& words) {
  ASSIGN_OR_RETURN(const BigQueryDataset dataset, ParseBigQueryDataset(words.about));
  ASSIGN_OR_RETURN(BigQueryService service, BigQueryService::Connect(world, dataset));
  LoadRowsOptions options;
  options.table = "attempt_day";
  options.rev = words.rev;
  std::string line;
  std::getline(std::cin, line);
  ASSIGN_OR_RETURN(options.columns, ParseRowColumns(line));
  const std::string id =
      absl::StrFormat("%d_%08x", words.rev, static_cast<unsigned>(world.random() * 4294967296.0));
  RowLoader loader(world, service, std::move(options), id);
  RETURN_IF_ERROR(loader.Begin());
  Progress progress;
  while (std::getline(std::cin, line) && line != kEndOfRows) {
    RETURN_IF_ERROR(loader.Take(line));
    progress.Say(Cat(dataset.Text(), ": ", loader.report().rows, " rows"));
  }
  // Part of a run would replace all of it.
  if (line != kEndOfRows) return kFailed;
  RETURN_IF_ERROR(loader.Finish());
  std::printf("%lld rows in the table attempt_day of %s\n", static_cast<long long>(loader.report().rows),
              dataset.Text().c_str());
  return kDone;
}

absl::Status Bad(std::string_view word) {
  return absl::InvalidArgumentError(Cat("goodput-google-cloud: invalid argument ", word));
}

absl::Status TakeOption(std::string_view name, std::string_view value, Words& words) {
  bool good = true;
  if (name == "--after") {
    good = absl::SimpleAtoi(ToAbsl(value), &words.after_ns);
  } else if (name == "--until") {
    good = absl::SimpleAtoi(ToAbsl(value), &words.until_ns);
  } else if (name == "--retention") {
    good = absl::SimpleAtoi(ToAbsl(value), &words.retention_days) && words.retention_days > 0;
  } else if (name == "--rev") {
    good = absl::SimpleAtoi(ToAbsl(value), &words.rev) && words.rev > 0;
  } else if (name == "--location") {
    words.location = value;
  } else if (name == "--job-name") {
    words.job_name = value;
  } else if (const std::size_t equal = value.find('=');
             name == "--label" && equal != std::string_view::npos) {
    words.labels.emplace(value.substr(0, equal), value.substr(equal + 1));
  } else {
    good = false;
  }
  return good ? absl::OkStatus() : Bad(name);
}

absl::StatusOr<Words> Parse(const std::vector<std::string>& arguments) {
  Words words;
  constexpr int kUsualRetention = 30;
  words.retention_days = kUsualRetention;
  if (arguments.size() < 2) return Bad("(none)");
  words.command = arguments[0];
  words.about = arguments[1];
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (arguments[i] == "--continue") {
      words.continues = true;
      continue;
    }
    if (i + 1 == arguments.size()) return Bad(arguments[i]);
    RETURN_IF_ERROR(TakeOption(arguments[i], arguments[i + 1], words));
    ++i;
  }
  return words;
}

absl::StatusOr<int> RunOnLog(const CloudWorld& world, Words words) {
  ASSIGN_OR_RETURN(words.log, ParseLogName(words.about));
  ASSIGN_OR_RETURN(LoggingService service, LoggingService::Connect(world));
  if (words.command == "read") return Read(service, words);
  if (words.command == "write") return Write(service, world, words);
  return words.command == "check" ? Check(service, world, words) : absl::StatusOr<int>(Bad(words.command));
}

absl::StatusOr<int> Run(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(Words words, Parse(arguments));
  const CloudWorld world = RealWorld();
  if (words.command == "load-rows") return LoadRows(world, words);
  const bool writes = words.command == "write-metrics";
  if (!writes && words.command != "check-metrics") return RunOnLog(world, std::move(words));
  ASSIGN_OR_RETURN(MonitoringService service, MonitoringService::Connect(world));
  return writes ? WriteMetrics(service, world, words) : CheckMetrics(service, world, words);
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  const absl::StatusOr<int> code = goodput::Run({argv + 1, argv + argc});
  return code.ok() ? *code : goodput::Complain(code.status());
}
