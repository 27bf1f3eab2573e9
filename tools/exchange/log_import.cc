#include "tools/exchange/log_import.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sql/imports.h"
#include "sql/text.h"
#include "tools/logs/line_placer.h"
#include "tools/logs/line_time.h"
#include "tools/logs/lines.h"
#include "tools/logs/log_fold.h"
#include "tools/logs/log_reader.h"

namespace goodput {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;

// Calls `take` with each line, and whether it is the last there is.
absl::Status ReadLines(const Input& input, const LogLines::Take& take,
                       const std::function<void(std::int64_t, std::int64_t)>& progress) {
  LogLines lines;
  std::string piece(kPieceBytes, '\0');
  for (std::int64_t at = 0; at < input.size();) {
    const absl::StatusOr<std::size_t> got = input.Read(at, piece.data(), piece.size());
    if (!got.ok()) return got.status();
    if (*got == 0) break;
    lines.Add(std::string_view(piece).substr(0, *got), take);
    at += static_cast<std::int64_t>(*got);
    if (progress) progress(at, input.size());
  }
  lines.Finish(take);
  return absl::OkStatus();
}

// When lines were printed.
class LineClock {
 public:
  LineClock(absl::TimeZone zone, Ns written) : zone_(zone), written_(written) {}

  // First all lines are looked at: whether any has a time, and how long the bars went on.
  void Look(const std::optional<LineTime>& time, const std::optional<LogEvent>& event) {
    if (time && !event) unit_.See(*time);
    if (time && !first_) first_ = PastTime(*time, zone_, written_);
    if (!event || !event->elapsed_s) return;
    Bar& bar = bars_[event->of.value_or(-1)];
    if (*event->elapsed_s < bar.seconds) shown_ += bar.seconds;
    bar.seconds = *event->elapsed_s;
    any_bar_ = true;
  }
  // Then each is placed.
  bool Begin() {
    if (first_) {
      now_ = *first_;
    } else if (any_bar_) {
      // The training's bar goes on longest.
      std::int64_t longest = 0;
      for (const auto& [of, bar] : bars_) longest = std::max(longest, bar.seconds);
      now_ = written_ - (shown_ + longest) * kSecond;
    } else {
      return false;
    }
    bars_.clear();
    return true;
  }
  // The line as far as it says itself when it was printed.
  LinePlacer::Line Stamp(const std::optional<LineTime>& time, const LogEvent* event) {
    LinePlacer::Line line;
    if (time) {
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
  absl::TimeZone zone_;
  Ns written_;
  StampUnit unit_;
  std::optional<Ns> first_;
  Ns now_ = 0;
  // A progress bar, known by how many steps it goes to: an evaluation's may be shown within the training's.
  struct Bar {
    std::int64_t seconds = 0;
    std::optional<Ns> begin;
  };
  std::map<std::int64_t, Bar> bars_;
  std::int64_t shown_ = 0;  // seconds on bars that were begun anew
  bool any_bar_ = false;
};

absl::Status Unplaceable(const Input& input, const std::string& profile) {
  return absl::InvalidArgumentError(
      Cat(input.name() == "-" ? "stdin" : input.name(), ": by profile ", profile,
          " no line of it has a time; follow the job live, with --goodput-log-profile"));
}

// One go at the file, into a transaction that is open.
class LogPass {
 public:
  LogPass(const Input& input, const FileImportOptions& options, LogReader reader, LineClock clock,
          ImportWriter& writer)
      : input_(input),
        options_(options),
        reader_(std::move(reader)),
        clock_(std::move(clock)),
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
    report.of_lines = true;
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
  // Of several events of a line each may have a time of its own, as Google's entries have.
  void TakeEvent(const LogReader::Said& said, const std::optional<LineTime>& time) {
    if (!status_.ok()) return;
    ++entries_;
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
  LineClock clock_;
  StoreSink sink_;
  LogFold fold_;
  LinePlacer placer_;
  absl::Status status_;
  std::int64_t lines_ = 0;
  std::int64_t entries_ = 0;
  Ns last_ = 0;
};

}  // namespace

absl::StatusOr<FileImportReport> ImportLog(Database& db, const Input& input, const FileImportOptions& options,
                                           const LogImportOptions& log) {
  const absl::StatusOr<std::string> fingerprint = input.FingerprintOfAll();
  if (!fingerprint.ok()) return fingerprint.status();
  const std::string file = Cat(input.is_file() ? input.name() : Cat("-", *fingerprint), "#log:", log.profile);
  const absl::StatusOr<std::optional<FileImportReport>> unchanged =
      Unchanged(db, input, {file}, options, *fingerprint);
  if (!unchanged.ok()) return unchanged.status();
  if (*unchanged) {
    FileImportReport report = **unchanged;
    report.of_lines = true;
    return report;
  }

  absl::StatusOr<LogReader> look = LogReader::Open(log.profile, log.site_profiles);
  if (!look.ok()) return absl::InvalidArgumentError(look.status().message());
  LineClock clock(log.zone, input.written_ns());
  bool any = false;
  const auto see = [&](const LogReader::Said& said) {
    any = true;
    clock.Look(said.event.time, said.event);
  };
  absl::Status status = ReadLines(
      input,
      [&](std::string_view line, std::int64_t offset) {
        clock.Look(look->TimeOf(line), std::nullopt);
        look->Line(line, offset, 0, see);
      },
      nullptr);
  if (!status.ok()) return status;
  look->Finish(see);
  if (!any) {
    return absl::InvalidArgumentError(Cat(input.name() == "-" ? "stdin" : input.name(), ": profile ",
                                          log.profile, " knows no line of it; see sgoodput profile test"));
  }
  const std::string profile = look->profile();
  if (!clock.Begin()) return Unplaceable(input, profile);

  absl::StatusOr<LogReader> reader = LogReader::Open(profile, log.site_profiles);
  if (!reader.ok()) return reader.status();
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ImportWriter writer(db);
  if (status = writer.Begin(file, options.cluster); !status.ok()) return status;
  LogPass pass(input, options, *std::move(reader), std::move(clock), writer);
  if (status = pass.Run(); !status.ok()) return status;
  FileImportReport report = pass.Report();
  ImportRow row;
  row.fingerprint = *fingerprint;
  row.run = report.run = options.run;
  row.name = options.run;
  row.user = options.user;
  row.joined = options.joined;
  row.entries = report.entries;
  if (options.join.empty()) {
    if (options.run.empty())
      return absl::InvalidArgumentError(Cat(input.name(), ": whose output is it? say -j JOB or --run NAME"));
    row.job_id = writer.own_job_id();
  }
  if (status = writer.Finish(row, input.size(), options.now_s); !status.ok()) return status;
  if (status = transaction.Commit(); !status.ok()) return status;
  return report;
}

}  // namespace goodput
