#include "tools/sources/import_export/log_import.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "sql/text.h"
#include "tools/sources/import_export/cloud_log.h"
#include "tools/sources/logs/line_placer.h"
#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_fold.h"
#include "tools/sources/logs/log_reader.h"

namespace goodput {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;

// Calls `take` with each line, and whether it is the last one.
absl::Status ReadLines(const Input& input, const LogLines::Take& take,
                       const std::function<void(std::int64_t, std::int64_t)>& progress) {
  LogLines lines;
  std::string piece(kPieceBytes, '\0');
  for (std::int64_t at = 0; at < input.size();) {
    ASSIGN_OR_RETURN(const std::size_t got, input.Read(at, piece.data(), piece.size()));
    if (got == 0) break;
    lines.Add(std::string_view(piece).substr(0, got), take);
    at += static_cast<std::int64_t>(got);
    if (progress) progress(at, input.size());
  }
  lines.Finish(take);
  return absl::OkStatus();
}

// The year 2000.
constexpr Ns kEarliest = 946'684'800 * kSecond;

// When lines were printed, as far as they state it.
class LineClock {
 public:
  LineClock(absl::TimeZone zone, Ns written) : zone_(zone), written_(written) {}
  LineClock(const LineClock&) = delete;
  LineClock& operator=(const LineClock&) = delete;

  // First pass over all lines: whether any has a time, and how long the lines before it took.
  void Look(const std::optional<LineTime>& time) {
    if (!time || !IsPlausible(*time)) return;
    unit_.See(*time);
    if (first_) return;
    first_ = PastTime(*time, zone_, written_);
    static_cast<void>(untimed_.Finish());
  }
  void Look(const LogEvent& event) {
    if (first_) return;
    LinePlacer::Line line = Stamp({}, &event);
    line.event = event;
    static_cast<void>(untimed_.Add(std::move(line)));
  }
  // Second pass: places each line. `from`: time of the first line if no line has a time.
  void Begin(const std::function<Ns(Ns length)>& from) {
    if (!first_) static_cast<void>(untimed_.Finish());
    now_ = first_ ? *first_ - length_ : from(length_);
    bars_.clear();
  }
  // No line has a time or a duration.
  bool tells_nothing() const { return !first_ && length_ == 0; }
  bool tells_no_time() const { return !first_; }
  // The line with the time that it states.
  LinePlacer::Line Stamp(const std::optional<LineTime>& time, const LogEvent* event) {
    LinePlacer::Line line;
    if (time && IsPlausible(*time)) {
      line.stamp = now_ = PastTime(*time, zone_, written_);
      line.resolution = unit_.Of(*time);
    } else if (event != nullptr && event->elapsed_s) {
      Bar& bar = bars_[event->of.value_or(-1)];
      if (!bar.begin || *event->elapsed_s < bar.seconds) bar.begin = now_ - *event->elapsed_s * kSecond;
      bar.seconds = *event->elapsed_s;
      line.stamp = now_ = std::max(now_, *bar.begin + bar.seconds * kSecond);
      line.resolution = kSecond;
    }
    return line;
  }
  Ns now() const { return now_; }
  Ns Convert(const LineTime& time) const { return PastTime(time, zone_, written_); }

 private:
  // A clock that was never set says 1970.
  static bool IsPlausible(const LineTime& time) {
    return time.kind == LineTime::Kind::kYearless || time.ns >= kEarliest;
  }
  absl::TimeZone zone_;
  Ns written_;
  StampUnit unit_;
  std::optional<Ns> first_;
  Ns now_ = 0;
  // A progress bar, identified by its total: an evaluation's may be shown during the training's.
  struct Bar {
    std::int64_t seconds = 0;
    std::optional<Ns> begin;
  };
  std::map<std::int64_t, Bar> bars_;
  // The lines before the first with a time start at 0.
  Ns length_ = 0;
  LinePlacer untimed_{0, [this](const LinePlacer::Line& /*line*/, Ns t) {
                        length_ = std::max(length_, t);
                        return absl::OkStatus();
                      }};
};

// One pass over the file, within an open transaction.
class LogPass {
 public:
  LogPass(const Input& input, const FileImportOptions& options, LogReader reader, LineClock& clock,
          const Counters& counters, ImportWriter& writer)
      : input_(input),
        options_(options),
        reader_(std::move(reader)),
        clock_(clock),
        counters_(counters),
        sink_(writer, options.join),
        fold_(sink_),
        placer_(clock_.now(), [this](const LinePlacer::Line& line, Ns t) { return Fold(line, t); }) {}

  absl::Status Run() {
    absl::Status status = ReadLines(
        input_, [&](std::string_view line, std::int64_t offset) { TakeLine(line, offset); },
        options_.progress);
    if (status.ok()) reader_.Finish([&](const LogReader::Said& said) { TakeEvent(said, {}); });
    if (status.ok()) status = status_;
    if (status.ok()) status = placer_.Finish();
    return status.ok() ? fold_.End(last_) : status;
  }
  FileImportReport Report() const {
    FileImportReport report;
    report.of = FileImportReport::Entries::kLines;
    report.entries = entries_;
    report.other = lines_ - entries_;
    report.attempts = sink_.attempts();
    report.outside = sink_.outside();
    return report;
  }

 private:
  void TakeLine(std::string_view line, std::int64_t offset) {
    ++lines_;
    const std::optional<LineTime> time = reader_.TimeOf(line);
    const std::int64_t before = entries_;
    reader_.Line(line, offset, 0, [&](const LogReader::Said& said) { TakeEvent(said, time); });
    if (entries_ == before && time && status_.ok()) status_ = placer_.Add(clock_.Stamp(time, nullptr));
  }
  // If a line has several events, each may have its own time, as Google's entries do.
  void TakeEvent(const LogReader::Said& said, const std::optional<LineTime>& time) {
    if (!status_.ok() || !counters_.IsTrainings(said.event)) return;
    ++entries_;
    // Its time is of no use: it may be printed late.
    if (said.event.said_before) return;
    LinePlacer::Line line = clock_.Stamp(said.event.time ? said.event.time : time, &said.event);
    line.event = said.event;
    if (said.event.began) line.began = clock_.Convert(*said.event.began);
    line.offset = said.offset;
    status_ = placer_.Add(std::move(line));
  }
  absl::Status Fold(const LinePlacer::Line& line, Ns t) {
    last_ = std::max(last_, t);
    return line.event ? fold_.Take(*line.event, t, line.began, line.offset) : fold_.Heard(last_);
  }

  const Input& input_;
  const FileImportOptions& options_;
  LogReader reader_;
  LineClock& clock_;
  const Counters& counters_;
  StoreSink sink_;
  LogFold fold_;
  LinePlacer placer_;
  absl::Status status_;
  std::int64_t lines_ = 0;
  std::int64_t entries_ = 0;
  Ns last_ = 0;
};

absl::Status LookAt(const Input& input, const LogImportOptions& log, const LogReader::Counted& counted,
                    LineClock& clock) {
  ASSIGN_OR_RETURN(LogReader reader, LogReader::OpenCounted(counted, log.site_profiles));
  const auto see = [&](const LogReader::Said& said) {
    if (!counted.counters.IsTrainings(said.event) || said.event.said_before) return;
    clock.Look(said.event.time);
    clock.Look(said.event);
  };
  return ReadLines(
      input,
      [&](std::string_view line, std::int64_t offset) {
        clock.Look(reader.TimeOf(line));
        reader.Line(line, offset, 0, see);
      },
      nullptr);
}

// When a log without times began whose lines took `length` in total.
Ns BeginOf(const Input& input, const FileImportOptions& options, const LogImportOptions& log, Ns length) {
  if (log.start) return *log.start;
  if (options.join.empty()) return input.written_ns() - length;
  const JoinSpan& job = options.join.front();
  // Its last line was printed when the job ended, the first some time after its start.
  return options.join.size() == 1 && job.end ? std::max(job.start, *job.end - length) : job.start;
}

// What identifies an imported file.
struct ImportIdentity {
  std::string file;
  std::string fingerprint;
};

// Nothing says whose output this is.
absl::Status NoJobOrRun(const Input& input, const LogReader::Counted& counted) {
  return absl::InvalidArgumentError(
      Cat(input.name(), counted.name == kNcclTestsProfile
                            ? ": results of nccl-tests need a job; specify it with -j JOB"
                            : ": specify the job (-j JOB) or the run (--run NAME)"));
}

absl::StatusOr<FileImportReport> ImportLines(Database& db, const Input& input, const ImportIdentity& identity,
                                             const FileImportOptions& options, const LogImportOptions& log) {
  absl::StatusOr<LogReader> all = LogReader::Open(log.profile, log.site_profiles);
  if (!all.ok()) return absl::InvalidArgumentError(all.status().message());
  absl::Status status = ReadLines(
      input, [&](std::string_view line, std::int64_t /*offset*/) { all->Count(line); }, nullptr);
  if (!status.ok()) return status;
  const LogReader::Counted counted = all->MostCounted();
  if (counted.name.empty()) {
    const std::string file = NameOf(input);
    if (!counted.no_steps.empty()) {
      return absl::InvalidArgumentError(Cat(
          file, ": ", log.profile == kAutoProfile ? "no profile matches a line; " : "", counted.no_steps));
    }
    return absl::InvalidArgumentError(
        Cat(file, ": profile ", log.profile,
            " matches no line; see sgoodput profile learn, or write one (sgoodput profile show hf)"));
  }
  if (options.join.empty() && options.run.empty()) return NoJobOrRun(input, counted);
  LineClock clock(log.zone, input.written_ns());
  if (status = LookAt(input, log, counted, clock); !status.ok()) return status;
  Ns begin = 0;
  clock.Begin([&](Ns length) { return begin = BeginOf(input, options, log, length); });

  absl::StatusOr<LogReader> reader = LogReader::OpenCounted(counted, log.site_profiles);
  if (!reader.ok()) return reader.status();
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ImportWriter writer(db);
  if (status = writer.Begin(identity.file, options.cluster); !status.ok()) return status;
  LogPass pass(input, options, *std::move(reader), clock, counted.counters, writer);
  if (status = pass.Run(); absl::IsFailedPrecondition(status)) {
    return absl::InvalidArgumentError(Cat(input.name(), ": ", status.message()));
  }
  if (!status.ok()) return status;
  FileImportReport report = pass.Report();
  if (options.join.empty() && report.attempts == 0 && counted.name == kNcclTestsProfile)
    return NoJobOrRun(input, counted);
  const std::string_view none = log.profile == kAutoProfile ? "no profile matches; " : "";
  report.note = counted.learned ? Cat(none, counted.learned->why) : counted.counters.Why();
  if (!counted.no_steps.empty()) report.note = Cat("no steps are found; ", counted.no_steps);
  if (clock.tells_no_time()) report.placed_from = begin;
  if (clock.tells_nothing()) report.untimed = report.entries;
  ImportRow row;
  row.fingerprint = identity.fingerprint;
  row.run = report.run = options.run;
  row.name = options.run;
  row.user = options.user;
  row.joined = options.joined;
  row.entries = report.entries;
  if (options.join.empty()) row.job_id = writer.own_job_id();
  if (status = writer.Finish(row, input.size(), options.now_s); !status.ok()) return status;
  if (status = transaction.Commit(); !status.ok()) return status;
  return report;
}

}  // namespace

absl::StatusOr<FileImportReport> ImportLog(Database& db, const Input& input, const FileImportOptions& options,
                                           const LogImportOptions& log) {
  ASSIGN_OR_RETURN(const std::string fingerprint, input.FingerprintOfAll());
  const std::string file = Cat(input.is_file() ? input.name() : Cat("-", fingerprint), "#log:", log.profile);
  ASSIGN_OR_RETURN(const std::optional<FileImportReport> unchanged,
                   Unchanged(db, input, {file}, options, fingerprint));
  if (unchanged) {
    FileImportReport report = *unchanged;
    report.of = FileImportReport::Entries::kLines;
    return report;
  }

  ASSIGN_OR_RETURN(const bool is_cloud_log, IsCloudLog(input));
  if (!is_cloud_log) return ImportLines(db, input, {file, fingerprint}, options, log);
  ASSIGN_OR_RETURN(const CloudLog cloud, ReadCloudLog(input));
  return ImportLines(db, cloud.lines, {file, fingerprint}, options, log);
}

}  // namespace goodput
