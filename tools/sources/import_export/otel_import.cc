#include "tools/sources/import_export/otel_import.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "sql/text.h"
#include "tools/sources/import_export/json_stream.h"
#include "tools/sources/otel/span_fold.h"
#include "tools/sources/otel/span_survey.h"
#include "tools/sources/otel/span_text.h"

namespace goodput {
namespace {

// Number of jobs that an error lists.
constexpr std::size_t kMostJobsNamed = 6;
// Shorter spans of logging and of finalizing nothing, of which there may be several a step, are not held.
constexpr Ns kShortestHeld = kSecond / 20;
// Ten million steps.
constexpr std::size_t kMostHeld = 10'000'000;
// A span of JSON is longer than what its marks need as offsets.
constexpr std::int64_t kOffsetsOfSpan = SpanFold::kOffsets;

std::string ListOf(const std::set<std::int64_t>& jobs) {
  std::string list;
  std::size_t named = 0;
  for (const std::int64_t job : jobs) {
    if (named++ == kMostJobsNamed) return list + ", ...";
    list += Cat(list.empty() ? "" : ", ", job);
  }
  return list;
}

// A span that was read. There is one for each step, so that those have no room for what others have.
struct Held {
  Ns start = 0;
  Ns end = 0;
  std::int64_t offset = 0;
  std::int64_t number = 0;  // the iteration; of other spans an index
  std::uint32_t process = 0;
  std::uint8_t nesting = 0;
  bool is_iteration = false;
  bool error = false;
  std::optional<bool> skipped;
};

bool MayHoldSpans(std::string_view text) {
  return text.find("\"resourceSpans\"") != std::string_view::npos ||
         text.find("\"start_time\"") != std::string_view::npos;
}

bool IsWorthHolding(const Span& span) {
  if (span.kind == Span::Kind::kOther) return span.call.has_value();
  if (span.kind == Span::Kind::kReport || (span.kind == Span::Kind::kFinalize && span.calls.empty()))
    return span.end - span.start > kShortestHeld;
  return true;
}

class SpanHeap {
 public:
  void Add(std::size_t process, const Span& span, std::int64_t offset) {
    Held held{span.start,
              span.end,
              offset,
              0,
              static_cast<std::uint32_t>(process),
              static_cast<std::uint8_t>(NestingOf(span.kind)),
              false,
              false,
              {}};
    if (span.kind == Span::Kind::kIteration) {
      if (!span.iteration) return;
      held.number = *span.iteration;
      held.is_iteration = true;
      held.error = span.error;
      held.skipped = span.skipped;
    } else {
      held.number = static_cast<std::int64_t>(others_.size());
      others_.push_back(span);
    }
    held_.push_back(held);
  }
  bool full() const { return held_.size() >= kMostHeld; }
  std::int64_t size() const { return static_cast<std::int64_t>(held_.size()); }
  // By process, then by start; of those, what encloses others first.
  template <typename Take>
  absl::Status Each(const Take& take) {
    std::sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
      return std::tie(a.process, a.start, b.end, a.nesting, a.offset) <
             std::tie(b.process, b.start, a.end, b.nesting, b.offset);
    });
    Span step;
    step.kind = Span::Kind::kIteration;
    for (const Held& held : held_) {
      if (held.is_iteration) {
        step.start = held.start;
        step.end = held.end;
        step.error = held.error;
        step.iteration = held.number;
        step.skipped = held.skipped;
      }
      const Span& span = held.is_iteration ? step : others_[static_cast<std::size_t>(held.number)];
      RETURN_IF_ERROR(take(held.process, span, held.offset));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<Held> held_;
  std::vector<Span> others_;
};

// Steps of the ranks beside those that are read.
class RankSteps {
 public:
  void Add(std::size_t start, std::int64_t rank, const Span& span, std::int64_t offset) {
    if (span.kind != Span::Kind::kIteration || !span.iteration || span.skipped.value_or(false)) return;
    const std::int64_t step = *span.iteration + 1;
    if (step % every_ != 0) return;
    steps_.push_back({span.start, span.skipped && !span.error ? span.end : 0, step, offset,
                      static_cast<std::uint32_t>(start), static_cast<std::int32_t>(rank)});
    if (steps_.size() < kMost) return;
    every_ *= 2;
    steps_.erase(std::remove_if(steps_.begin(), steps_.end(),
                                [&](const RankStep& one) { return one.step % every_ != 0; }),
                 steps_.end());
  }
  bool empty() const { return steps_.empty(); }
  // Begins of all, and ends of some: they only tell how clocks differ.
  absl::Status Tell(const SpanSurvey& survey, StoreSink& sink) {
    std::sort(steps_.begin(), steps_.end(), [](const RankStep& a, const RankStep& b) {
      return std::tie(a.start, a.rank, a.begin, a.offset) < std::tie(b.start, b.rank, b.begin, b.offset);
    });
    while (static_cast<std::int64_t>(steps_.size()) / end_every_ > kMostEnds) end_every_ *= 2;
    std::optional<std::uint32_t> last;
    for (const RankStep& step : steps_) {
      const SpanSurvey::Choice& start = survey.starts()[step.start];
      if (step.start != last) sink.Within(start.job, start.life);
      last = step.start;
      Speaker speaker;
      speaker.attempt = start.attempt;
      speaker.rank = step.rank;
      RETURN_IF_ERROR(sink.Step(step.begin, step.step, speaker, step.offset));
      if (step.end > 0) RETURN_IF_ERROR(TellEnd(step.end, step.step, speaker, step.offset + 1, sink));
    }
    return absl::OkStatus();
  }
  // After Tell: the same of a step of a rank that is read.
  absl::Status TellEndOf(const Span& span, const SpanSurvey::Choice& start, std::int64_t offset,
                         StoreSink& sink) const {
    if (steps_.empty() || span.kind != Span::Kind::kIteration || !span.iteration || !start.rank ||
        span.skipped.value_or(true) || span.error)
      return absl::OkStatus();
    Speaker speaker;
    speaker.attempt = start.attempt;
    speaker.rank = start.rank;
    return TellEnd(span.end, *span.iteration + 1, speaker, offset, sink);
  }

 private:
  static constexpr std::size_t kMost = 4'000'000;
  static constexpr std::int64_t kMostEnds = 50'000;
  struct RankStep {
    Ns begin = 0;
    Ns end = 0;  // 0: not known
    std::int64_t step = 0;
    std::int64_t offset = 0;
    std::uint32_t start = 0;
    std::int32_t rank = 0;
  };
  absl::Status TellEnd(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset,
                       StoreSink& sink) const {
    if (step % (every_ * end_every_) != 0) return absl::OkStatus();
    return sink.Mark({t, PackedMark::Kind::kStepEnd, false, step, kOfRank}, speaker, offset);
  }

  std::vector<RankStep> steps_;
  std::int64_t every_ = 1;
  std::int64_t end_every_ = 1;
};

class SpanImport {
 public:
  SpanImport(const Input& input, const FileImportOptions& options) : input_(input), options_(options) {
    for (const JoinSpan& span : options.join) wanted_.insert(span.job_id);
  }

  // Reads the file once to learn which processes there are, and once for their spans.
  absl::Status Read(ImportWriter& writer) {
    RETURN_IF_ERROR(ReadAll(&writer, [this](const SpanProcess& process, const Span& span, std::int64_t) {
      if (IsOthers(process)) return;
      if (process.job) jobs_.insert(*process.job);
      survey_.See(process, span);
    }));
    survey_.Choose();
    RETURN_IF_ERROR(Check());
    return ReadAll(nullptr, [this](const SpanProcess& process, const Span& span, std::int64_t offset) {
      if (IsOthers(process) || !IsWorthHolding(span)) return;
      if (const auto read = survey_.StartOf(process, span)) {
        if (!spans_.full()) spans_.Add(*read, span, offset);
      } else if (const auto beside = survey_.StartBeside(process)) {
        ranks_.Add(*beside, *process.rank, span, offset);
      }
    });
  }
  absl::Status Fold(StoreSink& sink) {
    if (spans_.full()) {
      return absl::InvalidArgumentError(
          Cat(NameOf(input_), ": more than ", kMostHeld, " spans of one rank; import it in parts"));
    }
    RETURN_IF_ERROR(ranks_.Tell(survey_, sink));
    SpanFold fold(sink);
    std::optional<std::uint32_t> last;
    absl::Status status = spans_.Each([&](std::uint32_t process, const Span& span,
                                          std::int64_t offset) -> absl::Status {
      if (process != last) {
        last = process;
        const SpanSurvey::Choice& start = survey_.starts()[process];
        RETURN_IF_ERROR(fold.Begin(start.attempt, start.tells_steps, start.rank));
        sink.Within(start.job, start.life);
      }
      RETURN_IF_ERROR(ranks_.TellEndOf(span, survey_.starts()[process], offset + kOffsetsOfSpan - 1, sink));
      return fold.Take(span, offset);
    });
    return status.ok() ? fold.Finish() : status;
  }
  FileImportReport Report() const {
    FileImportReport report;
    report.of = FileImportReport::Entries::kSpans;
    report.entries = spans_.size();
    report.other_job = other_job_;
    report.note = Note();
    return report;
  }
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  template <typename Take>
  absl::Status ReadAll(ImportWriter* writer, const Take& take);
  absl::Status Check() const;
  std::string Note() const;
  bool IsOthers(const SpanProcess& process) {
    if (wanted_.empty() || !process.job || wanted_.count(*process.job) != 0) return false;
    others_.insert(*process.job);
    ++other_job_;
    return true;
  }

  const Input& input_;
  const FileImportOptions& options_;
  std::set<std::int64_t> wanted_;
  std::set<std::int64_t> jobs_;
  std::set<std::int64_t> others_;
  SpanSurvey survey_;
  SpanHeap spans_;
  RankSteps ranks_;
  std::string fingerprint_;
  std::string first_problem_;
  std::int64_t all_ = 0;
  std::int64_t other_job_ = 0;
};

template <typename Take>
absl::Status SpanImport::ReadAll(ImportWriter* writer, const Take& take) {
  EntryStream stream(input_, kMaxSpanLine);
  SpanParser parser;
  EntryText text;
  all_ = other_job_ = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, stream.Next(text));
    if (!more) break;
    if (options_.progress) options_.progress(stream.position(), input_.size());
    // A program prints other lines, too, some of them in braces.
    if (text.text.substr(0, 1) != "{" || !MayHoldSpans(text.text)) continue;
    std::string problem(text.problem);
    if (problem.empty()) {
      const auto count =
          parser.Parse(text.text, [&](const SpanProcess& process, const Span& span, std::int64_t index) {
            take(process, span, text.offset + index * kOffsetsOfSpan);
          });
      if (count.ok()) all_ += count->spans;
      if (!count.ok()) problem = Message(count.status());
      if (count.ok() && count->bad > 0) problem = Cat(count->bad, " spans without a name or plausible times");
    }
    if (problem.empty() || writer == nullptr) continue;
    if (first_problem_.empty()) first_problem_ = Cat("byte ", text.offset, ": ", problem);
    RETURN_IF_ERROR(writer->SetAside(text.offset, problem, text.text));
  }
  fingerprint_ = stream.fingerprint().Text();
  return absl::OkStatus();
}

absl::Status SpanImport::Check() const {
  const std::string file = NameOf(input_);
  if (input_.size() == 0) return absl::InvalidArgumentError(Cat(file, ": empty"));
  if (survey_.starts().empty() && other_job_ > 0) {
    return absl::InvalidArgumentError(
        Cat(file, ": no span belongs to job ", ListOf(wanted_), "; the spans belong to ", ListOf(others_)));
  }
  if (survey_.starts().empty() && all_ == 0) {
    return absl::InvalidArgumentError(Cat(file, ": contains no spans of OpenTelemetry",
                                          first_problem_.empty() ? "" : Cat(" (", first_problem_, ")")));
  }
  if (survey_.starts().empty()) {
    return absl::InvalidArgumentError(
        Cat(file, ": none of its ", all_, " spans is of training; known are those of Megatron-LM and NVRx"));
  }
  if (options_.join.empty() && options_.run.empty()) {
    return absl::InvalidArgumentError(
        jobs_.size() == 1 ? Cat(file, ": add the spans to their job with -j ", ListOf(jobs_),
                                ", or name a run with --run NAME")
        : jobs_.empty()   ? Cat(file, ": specify the job (-j JOB) or the run (--run NAME)")
                          : Cat(file, ": has spans of several jobs (", ListOf(jobs_),
                                "); choose one with -j JOB, or their run with --run NAME"));
  }
  return absl::OkStatus();
}

std::string SpanImport::Note() const {
  std::string note;
  if (!survey_.all_tell_steps()) {
    note =
        "no spans of steps, which are inferred from the saves; Megatron-LM sends them with "
        "--otel-span-groups per_step";
  }
  const auto read = static_cast<std::int64_t>(survey_.starts().size());
  if (survey_.processes() > read) {
    note += Cat(note.empty() ? "" : "; ", "read one process of each start, ", read, " of ",
                survey_.processes(), ranks_.empty() ? "" : ", and of other ranks only when they began steps");
  }
  return note;
}

}  // namespace

bool LooksLikeSpans(std::string_view beginning) {
  const auto has = [&](std::string_view text) { return beginning.find(text) != std::string_view::npos; };
  return has("\"resourceSpans\"") || has("\"resourceMetrics\"") || has("\"resourceLogs\"") ||
         has("\"resource_metrics\"") || (has("\"trace_id\"") && has("\"span_id\""));
}

absl::StatusOr<FileImportReport> ImportSpans(Database& db, const Input& input,
                                             const FileImportOptions& options) {
  ASSIGN_OR_RETURN(const std::string content, input.FingerprintOfAll());
  const std::string file = Cat(input.is_file() ? input.name() : Cat("-", content), EvidenceSource::kOfSpans);
  ASSIGN_OR_RETURN(const std::optional<FileImportReport> unchanged,
                   Unchanged(db, input, {file}, options, content));
  if (unchanged) {
    FileImportReport report = *unchanged;
    report.of = FileImportReport::Entries::kSpans;
    return report;
  }
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  ImportWriter writer(db);
  RETURN_IF_ERROR(writer.Begin(file, options.cluster));
  SpanImport import(input, options);
  RETURN_IF_ERROR(import.Read(writer));
  if (import.fingerprint() != content)
    return absl::AbortedError(Cat(NameOf(input), ": changed while it was read"));
  StoreSink sink(writer, options.join);
  RETURN_IF_ERROR(import.Fold(sink));
  FileImportReport report = import.Report();
  report.bad = writer.set_aside();
  report.attempts = sink.attempts();
  report.outside = sink.outside();
  report.run = options.run;
  ImportRow row;
  row.fingerprint = content;
  row.run = row.name = options.run;
  row.user = options.user;
  row.joined = options.joined;
  row.entries = report.entries;
  if (options.join.empty()) row.job_id = writer.own_job_id();
  RETURN_IF_ERROR(writer.Finish(row, input.size(), options.now_s));
  RETURN_IF_ERROR(transaction.Commit());
  return report;
}

}  // namespace goodput
