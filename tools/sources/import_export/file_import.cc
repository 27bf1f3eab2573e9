#include "tools/sources/import_export/file_import.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "spank/event.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// A record of a task's begin or end, with what a log knows of it (SPOOL_FORMAT.md).
class Record {
 public:
  explicit Record(std::string_view kind) : text_("{") { Text(key::kKind, kind); }
  Record& Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJson(text_, value);
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

}  // namespace

std::string NameOf(const Input& input) {
  return input.name() == "-" ? "stdin" : input.name();
}

FileImportReport UnchangedImport(const ImportRow& row) {
  FileImportReport report;
  report.run = row.run;
  report.entries = row.entries;
  report.bad = row.bad;
  report.attempts = row.attempts;
  report.unchanged = true;
  return report;
}

absl::StatusOr<std::optional<FileImportReport>> Unchanged(Database& db, const Input& input,
                                                          const std::vector<std::string>& identities,
                                                          const FileImportOptions& options,
                                                          std::string fingerprint) {
  for (const std::string& identity : identities) {
    ASSIGN_OR_RETURN(const std::optional<ImportRow> before, FindImport(db, identity));
    if (!before) continue;
    const ImportRow& row = *before;
    if (fingerprint.empty()) {
      ASSIGN_OR_RETURN(const std::string content, input.FingerprintOfAll());
      fingerprint = content;
    }
    const bool same_run =
        options.run.empty() ? row.run == row.name || !row.joined.empty() : row.run == options.run;
    const bool same_user = !options.user_was_said || row.user == options.user;
    if (row.fingerprint != fingerprint || row.joined != options.joined || !same_run || !same_user) continue;
    return UnchangedImport(row);
  }
  return std::nullopt;
}

StoreSink::StoreSink(ImportWriter& writer, const std::vector<JoinSpan>& join) : writer_(writer), all_(join) {
  std::sort(all_.begin(), all_.end(), [](const JoinSpan& a, const JoinSpan& b) { return a.start < b.start; });
  join_ = all_;
}

void StoreSink::Within(std::optional<std::int64_t> job, const TimeSpan& life) {
  join_.clear();
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(join_),
               [&](const JoinSpan& span) { return span.job_id == job; });
  if (join_.empty()) join_ = all_;
  within_.clear();
  if (join_.empty()) return;
  // Its last spans may end after the whole second in which accounting has the job end.
  Ns longest = 0;
  std::int64_t tasks = 0;
  for (const JoinSpan::Srun& srun : SpanAt(life.begin).sruns) {
    const Ns together = std::min(life.end, srun.end) - std::max(life.begin, srun.begin);
    if (together <= 0 || std::tie(together, srun.tasks) <= std::tie(longest, tasks)) continue;
    longest = together;
    tasks = srun.tasks;
    within_ = srun.slurm_step;
  }
}

absl::Status StoreSink::Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) {
  return writer_.Step(JobAt(t), StepName(t, speaker), {t, step, TaskOf(speaker), offset});
}

absl::Status StoreSink::Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) {
  PackedMark packed;
  packed.t_ns = mark.t;
  packed.kind = mark.kind;
  packed.begin = mark.begin;
  packed.step = mark.step;
  const std::string name = LowerCase(mark.name);
  packed.name = name;
  packed.slurm_step = StepName(mark.t, speaker);
  packed.task = TaskOf(speaker);
  packed.offset = offset;
  return writer_.Mark(JobAt(mark.t), packed);
}

absl::Status StoreSink::StepEnd(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) {
  LogMark mark;
  mark.t = t;
  mark.kind = PackedMark::Kind::kStepEnd;
  mark.begin = false;
  mark.step = step;
  return Mark(mark, speaker, offset);
}

absl::Status StoreSink::Stop(Ns t, const Speaker& speaker, std::int64_t offset) {
  Record record(kind::kMark);
  record.Text(key::kSlurmStep, StepName(t, speaker)).Int(key::kTask, speaker.task);
  record.Text(key::kMark, "stop").Text(key::kEdge, "begin");
  return writer_.Event(JobAt(t), kind::kMark, t, offset, std::move(record).Finish());
}

absl::Status StoreSink::World(const LogWorld& world, const Speaker& speaker, std::int64_t offset) {
  Record record(kind::kMark);
  record.Text(key::kSlurmStep, StepName(world.t, speaker)).Int(key::kTask, speaker.task);
  record.Text(key::kMark, "world").Int(key::kWorld, world.stepping).Int(key::kWanted, world.wanted);
  if (world.spares) record.Int(key::kSpares, *world.spares);
  return writer_.Event(JobAt(world.t), kind::kMark, world.t, offset, std::move(record).Finish());
}

absl::Status StoreSink::Collective(const LogCollective& collective, const Speaker& speaker,
                                   std::int64_t offset) {
  Record record(kind::kCollective);
  record.Text(key::kSlurmStep, StepName(collective.t, speaker)).Int(key::kBytes, collective.bytes);
  record.Int(key::kAlgbw, collective.algbw).Int(key::kBusbw, collective.busbw);
  if (collective.first) record.Text(key::kEdge, "begin");
  if (!collective.hosts.empty()) record.Text(key::kHosts, collective.hosts);
  return writer_.Event(JobAt(collective.t), kind::kCollective, collective.t, offset,
                       std::move(record).Finish());
}

absl::Status StoreSink::Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) {
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

absl::Status StoreSink::Attempt(const LogAttempt& attempt) {
  ++attempts_;
  if (!join_.empty()) return attempt.is_life ? Life(attempt) : absl::OkStatus();
  return writer_.Attempt({attempt.number, attempt.begin, attempt.end, attempt.ended, attempt.state,
                          attempt.stop, attempt.is_life, attempt.offset});
}

// If Slurm's records do not show when the program lived, the log does.
absl::Status StoreSink::Life(const LogAttempt& attempt) {
  Speaker speaker;
  speaker.attempt = attempt.number;
  const JoinSpan& span = SpanAt(attempt.begin);
  if (!span.sruns.empty() || attempt.begin + kSecond < span.start) return absl::OkStatus();
  const auto record = [&](std::string_view kind) {
    return std::move(Record(kind).Text(key::kSlurmStep, StepName(attempt.begin, speaker)).Int(key::kTask, 0))
        .Finish();
  };
  // An offset within the entry that began it, after its other marks.
  constexpr std::int64_t kBehindMarks = 16;
  const std::int64_t offset = attempt.offset + kBehindMarks;
  absl::Status status =
      writer_.Event(span.job_id, kind::kTaskStart, attempt.begin, offset, record(kind::kTaskStart));
  if (!status.ok() || !attempt.ended || &SpanAt(attempt.end) != &span) return status;
  return writer_.Event(span.job_id, kind::kTaskExit, attempt.end, offset + 1, record(kind::kTaskExit));
}

// The same choice as in LoadRun: the attempt that began last before the mark.
const JoinSpan& StoreSink::SpanAt(Ns t) const {
  // Accounting rounds down to whole seconds.
  const auto after = std::upper_bound(join_.begin(), join_.end(), t + kSecond,
                                      [](Ns value, const JoinSpan& span) { return value < span.start; });
  return after == join_.begin() ? join_.front() : after[-1];
}

std::int64_t StoreSink::JobAt(Ns t) {
  if (join_.empty()) return writer_.own_job_id();
  if (t + kSecond < join_.front().start) ++outside_;
  return SpanAt(t).job_id;
}

// Starts of a program known only from the log get names that no Slurm step has (see
// tools/accounting/runs/imported_runs.h).
std::string_view StoreSink::StepName(Ns t, const Speaker& speaker) {
  if (!speaker.slurm_step.empty()) return speaker.slurm_step;
  if (join_.empty()) return "0";
  if (!within_.empty()) return within_;
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

}  // namespace goodput
