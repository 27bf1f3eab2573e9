#include "tools/exchange/google_import.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "spank/event.h"
#include "spank/json_text.h"
#include "sql/imports.h"
#include "sql/text.h"
#include "tools/exchange/entry_stream.h"
#include "tools/exchange/google_entry.h"
#include "tools/exchange/google_fold.h"
#include "tools/exchange/time_order.h"

namespace goodput {
namespace {

// Names of jobs that an error lists.
constexpr std::size_t kMaxNames = 6;
constexpr std::int64_t kProgressEvery = 4096;

// The canonical record of a task's begin or end, as far as a log tells it (SPOOL_FORMAT.md).
class Record {
 public:
  explicit Record(std::string_view kind) : text_("{") { Text(key::kKind, kind); }
  Record& Text(std::string_view name, std::string_view value) {
    Name(name);
    QuoteJson(value, [this](std::string_view piece) {
      text_.append(piece);
      return true;
    });
    return *this;
  }
  Record& Int(std::string_view name, std::int64_t value) {
    Name(name);
    text_ += std::to_string(value);
    return *this;
  }
  std::string Finish() && { return std::move(text_) + "}"; }

 private:
  void Name(std::string_view name) {
    if (text_.size() > 1) text_ += ',';
    text_.append("\"").append(name).append("\":");
  }
  std::string text_;
};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Where what a log says goes: to a run of its own, or to the jobs whose allocations it falls into.
class StoreSink final : public ToldSink {
 public:
  StoreSink(ImportWriter& writer, const std::vector<JoinSpan>& join) : writer_(writer), join_(join) {
    std::sort(join_.begin(), join_.end(),
              [](const JoinSpan& a, const JoinSpan& b) { return a.start < b.start; });
  }

  absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override {
    return writer_.Step(JobAt(t), StepName(t, speaker), {t, step, speaker.task, offset});
  }

  absl::Status Mark(const ToldMark& mark, const Speaker& speaker, std::int64_t offset) override {
    PackedMark packed;
    packed.t_ns = mark.t;
    packed.kind = mark.kind;
    packed.begin = mark.begin;
    packed.step = mark.step;
    const std::string name = LowerCase(mark.name);
    packed.name = name;
    packed.slurm_step = StepName(mark.t, speaker);
    packed.task = speaker.task;
    packed.offset = offset;
    return writer_.Mark(JobAt(mark.t), packed);
  }

  // Of the life of a job of Slurm's others know more.
  absl::Status Srun(const ToldSrun& srun, const Speaker& speaker, std::int64_t offset) override {
    if (!join_.empty()) return absl::OkStatus();
    if (srun.begin) {
      Record record(kind::kTaskStart);
      record.Text(key::kSlurmStep, StepName(srun.begin.value_or(0), speaker)).Int(key::kTask, speaker.task);
      absl::Status status = writer_.Event(writer_.own_job_id(), kind::kTaskStart, *srun.begin, offset,
                                          std::move(record).Finish());
      if (!status.ok()) return status;
    }
    if (!srun.end) return absl::OkStatus();
    Record record(kind::kTaskExit);
    record.Text(key::kSlurmStep, StepName(srun.begin.value_or(0), speaker)).Int(key::kTask, speaker.task);
    if (srun.exit_code) record.Int(key::kExitCode, *srun.exit_code);
    if (srun.exit_signal) record.Int(key::kSignal, *srun.exit_signal);
    return writer_.Event(writer_.own_job_id(), kind::kTaskExit, *srun.end, offset + 1,
                         std::move(record).Finish());
  }

  absl::Status Attempt(const ToldAttempt& attempt) override {
    ++attempts_;
    if (!join_.empty()) return attempt.is_life ? Life(attempt) : absl::OkStatus();
    return writer_.Attempt({attempt.number, attempt.begin, attempt.end, attempt.ended, attempt.state,
                            attempt.stop, attempt.is_life, attempt.offset});
  }

  // Where Slurm's records do not show when the program lived, the log does.
  absl::Status Life(const ToldAttempt& attempt) {
    Speaker speaker;
    speaker.attempt = attempt.number;
    const JoinSpan& span = SpanAt(attempt.begin);
    if (!span.sruns.empty() || attempt.begin + kSecond < span.start) return absl::OkStatus();
    const auto record = [&](std::string_view kind) {
      return std::move(
                 Record(kind).Text(key::kSlurmStep, StepName(attempt.begin, speaker)).Int(key::kTask, 0))
          .Finish();
    };
    // Within the entry that began it, and behind what else it may have said.
    constexpr std::int64_t kBehindMarks = 16;
    const std::int64_t offset = attempt.offset + kBehindMarks;
    absl::Status status =
        writer_.Event(span.job_id, kind::kTaskStart, attempt.begin, offset, record(kind::kTaskStart));
    if (!status.ok() || !attempt.ended || &SpanAt(attempt.end) != &span) return status;
    return writer_.Event(span.job_id, kind::kTaskExit, attempt.end, offset + 1, record(kind::kTaskExit));
  }

  std::int64_t attempts() const { return attempts_; }
  std::int64_t outside() const { return outside_; }

 private:
  // As LoadRun finds a mark's attempt: the one that began last before it.
  const JoinSpan& SpanAt(Ns t) const {
    // Accounting has whole seconds, rounded down.
    const auto after = std::upper_bound(join_.begin(), join_.end(), t + kSecond,
                                        [](Ns value, const JoinSpan& span) { return value < span.start; });
    return after == join_.begin() ? join_.front() : after[-1];
  }

  std::int64_t JobAt(Ns t) {
    if (join_.empty()) return writer_.own_job_id();
    if (t + kSecond < join_.front().start) ++outside_;
    return SpanAt(t).job_id;
  }

  // A log's own starts of the program are told apart by names no Slurm step has (see tools/runs/imported.h).
  std::string_view StepName(Ns t, const Speaker& speaker) {
    if (!speaker.slurm_step.empty()) return speaker.slurm_step;
    if (join_.empty()) return "0";
    const JoinSpan::Srun* best = nullptr;
    for (const JoinSpan::Srun& srun : SpanAt(t).sruns) {
      if (t < srun.begin || t > srun.end) continue;
      if (best == nullptr || srun.tasks > best->tasks) best = &srun;
    }
    if (best != nullptr) return best->slurm_step;
    if (speaker.attempt != named_attempt_) {
      named_attempt_ = speaker.attempt;
      start_name_ = Cat("@", speaker.attempt + 1);
    }
    return start_name_;
  }

  ImportWriter& writer_;
  std::vector<JoinSpan> join_;
  std::int64_t attempts_ = 0;
  std::int64_t outside_ = 0;
  int named_attempt_ = -1;
  std::string start_name_;
};

// One go at a file. What it finds out may call for another.
class Pass {
 public:
  enum class Result : std::uint8_t { kDone, kNotInOrder, kSeveralJobs };

  Pass(const Input& input, const GoogleImportOptions& options, ImportWriter& writer)
      : input_(input),
        options_(options),
        writer_(writer),
        sink_(writer, options.join),
        fold_(sink_),
        stream_(input) {}

  // `only`: entries of this job, all if empty. `sorted`: the file is in order, which is found out.
  absl::StatusOr<Result> Run(const std::string& only, bool sorted);
  const std::set<std::string>& names() const { return names_; }
  std::string first_problem() const { return first_problem_; }
  const std::string& name() const { return name_; }
  GoogleImportReport Report() const;
  std::string fingerprint() const { return stream_.fingerprint().Text(); }

 private:
  bool IsTheOthers(std::string_view name, const std::string& only);
  absl::Status TakePlaces();
  absl::Status SetAside(const EntryText& text, std::string_view reason);
  void TellProgress(std::int64_t done);

  const Input& input_;
  const GoogleImportOptions& options_;
  ImportWriter& writer_;
  StoreSink sink_;
  GoogleFold fold_;
  EntryStream stream_;
  GoogleEntryParser parser_;
  TimeOrder order_;
  std::set<std::string> names_;
  std::string name_;
  std::string first_problem_;
  GoogleImportReport report_;
  std::int64_t calls_ = 0;
};

GoogleImportReport Pass::Report() const {
  GoogleImportReport report = report_;
  report.bad = writer_.set_aside();
  report.attempts = sink_.attempts();
  report.outside = sink_.outside();
  return report;
}

void Pass::TellProgress(std::int64_t done) {
  if (options_.progress && ++calls_ % kProgressEvery == 0) options_.progress(done, input_.size());
}

bool Pass::IsTheOthers(std::string_view name, const std::string& only) {
  if (name.empty()) return false;
  if (name != name_) {
    if (names_.size() < kMaxNames) names_.emplace(name);
    if (only.empty() || name == only) name_ = name;
  }
  return !only.empty() && name != only;
}

absl::Status Pass::SetAside(const EntryText& text, std::string_view reason) {
  if (first_problem_.empty()) first_problem_ = Cat("byte ", text.offset, ": ", reason);
  return writer_.SetAside(text.offset, reason, text.text);
}

absl::StatusOr<Pass::Result> Pass::Run(const std::string& only, bool sorted) {
  EntryText text;
  GoogleEntry entry;
  Ns last = 0;
  while (true) {
    const absl::StatusOr<bool> more = stream_.Next(text);
    if (!more.ok()) return more.status();
    if (!*more) break;
    TellProgress(stream_.position());
    if (!text.problem.empty()) {
      if (absl::Status status = SetAside(text, text.problem); !status.ok()) return status;
      continue;
    }
    const absl::StatusOr<bool> taken = parser_.Parse(text.text, entry);
    if (!taken.ok()) {
      if (absl::Status status = SetAside(text, Message(taken.status())); !status.ok()) return status;
      continue;
    }
    if (!*taken) {
      ++report_.other;
      continue;
    }
    if (IsTheOthers(entry.job_name, only)) {
      ++report_.other_job;
      continue;
    }
    if (names_.size() > 1 && only.empty()) return Result::kSeveralJobs;
    ++report_.entries;
    const Ns t = entry.time();
    if (!sorted) {
      order_.Add({t, entry.order(), text.offset, static_cast<std::int64_t>(text.text.size())});
      continue;
    }
    if (t < last) return Result::kNotInOrder;
    last = t;
    if (absl::Status status = fold_.Take(entry, text.offset); !status.ok()) return status;
  }
  if (!sorted) {
    if (absl::Status status = TakePlaces(); !status.ok()) return status;
  }
  if (absl::Status status = fold_.Finish(); !status.ok()) return status;
  return Result::kDone;
}

absl::Status Pass::TakePlaces() {
  order_.Sort();
  EntryPlace place;
  GoogleEntry entry;
  std::string text;
  while (order_.Next(place)) {
    TellProgress(input_.size());
    const auto length = static_cast<std::size_t>(place.length);
    text.resize(length + GoogleEntryParser::kPadding);
    const absl::StatusOr<std::size_t> got = input_.Read(place.offset, text.data(), length);
    if (!got.ok()) return got.status();
    const absl::StatusOr<bool> taken = parser_.Parse(std::string_view(text).substr(0, length), entry);
    if (*got < length || !taken.ok() || !*taken || entry.time() != place.t)
      return absl::AbortedError(Cat(input_.name(), ": it changes while it is read"));
    if (absl::Status status = fold_.Take(entry, place.offset); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NoEntries(const Input& input, const Pass& pass, const std::string& only) {
  const GoogleImportReport report = pass.Report();
  const std::string file = input.name() == "-" ? "stdin" : input.name();
  if (input.size() == 0) return absl::InvalidArgumentError(Cat(file, ": it is empty"));
  if (report.other_job > 0) {
    std::string names;
    for (const std::string& name : pass.names()) names += (names.empty() ? "" : ", ") + name;
    return absl::InvalidArgumentError(Cat(file, ": no entry is of job ", only, "; they are of ", names));
  }
  return absl::InvalidArgumentError(
      Cat(file, ": nothing in it is an entry of a goodput log (",
          pass.first_problem().empty() ? Cat(report.other, " JSON objects say none of job, step or phase")
                                       : pass.first_problem(),
          ")"));
}

absl::Status SeveralJobs(const Input& input, const Pass& pass) {
  return absl::InvalidArgumentError(Cat(input.name() == "-" ? "stdin" : input.name(),
                                        ": it has entries of several jobs (", *pass.names().begin(), ", ",
                                        *pass.names().rbegin(), "); choose one with --run NAME"));
}

std::string Identity(const std::string& file, const std::string& only) {
  return only.empty() ? file : Cat(file, "#", only);
}

}  // namespace

absl::StatusOr<GoogleImportReport> ImportGoogleLog(Database& db, const Input& input,
                                                   const GoogleImportOptions& options) {
  std::string file = input.name();
  std::string fingerprint;
  if (!input.is_file()) {
    const absl::StatusOr<std::string> content = input.FingerprintOfAll();
    if (!content.ok()) return content.status();
    fingerprint = *content;
    file = Cat("-", fingerprint);
  }
  for (const std::string& identity : {file, Identity(file, options.run)}) {
    const absl::StatusOr<std::optional<ImportRow>> before = FindImport(db, identity);
    if (!before.ok()) return before.status();
    if (!*before) continue;
    const ImportRow& row = **before;
    if (fingerprint.empty()) {
      const absl::StatusOr<std::string> content = input.FingerprintOfAll();
      if (!content.ok()) return content.status();
      fingerprint = *content;
    }
    const bool same_run =
        options.run.empty() ? row.run == row.name || !row.joined.empty() : row.run == options.run;
    if (row.fingerprint != fingerprint || row.joined != options.joined || !same_run) continue;
    GoogleImportReport report;
    report.run = row.run;
    report.entries = row.entries;
    report.bad = row.bad;
    report.attempts = row.attempts;
    report.unchanged = true;
    return report;
  }

  std::string only;
  bool sorted = true;
  while (true) {
    Transaction transaction(db);
    if (!transaction.status().ok()) return transaction.status();
    ImportWriter writer(db);
    if (absl::Status status = writer.Begin(Identity(file, only), options.cluster); !status.ok())
      return status;
    Pass pass(input, options, writer);
    const absl::StatusOr<Pass::Result> result = pass.Run(only, sorted);
    if (!result.ok()) return result.status();
    if (*result == Pass::Result::kNotInOrder) {
      sorted = false;
      continue;
    }
    if (*result == Pass::Result::kSeveralJobs) {
      if (options.run.empty()) return SeveralJobs(input, pass);
      only = options.run;
      continue;
    }
    GoogleImportReport report = pass.Report();
    if (report.entries == 0) return NoEntries(input, pass, only);
    ImportRow row;
    row.fingerprint = pass.fingerprint();
    row.name = pass.name();
    report.run = row.run = options.run.empty() ? pass.name() : options.run;
    row.user = options.user;
    row.joined = options.joined;
    row.entries = report.entries;
    if (options.join.empty()) row.job_id = writer.own_job_id();
    if (row.run.empty()) {
      return absl::InvalidArgumentError(
          Cat(input.name(), ": its entries name no job; name the run with --run NAME"));
    }
    if (absl::Status status = writer.Finish(row, input.size(), options.now_s); !status.ok()) return status;
    if (absl::Status status = transaction.Commit(); !status.ok()) return status;
    return report;
  }
}

}  // namespace goodput
