// `sgoodput import`: imports what another program recorded about a run: a goodput log, spans of
// OpenTelemetry, a framework's output, or sacct's output.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "sql/text.h"
#include "tools/accounting/runs/imported_runs.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/allocation.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/base/progress.h"
#include "tools/sgoodput/cloud_log.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/import_export/google_import.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/import_export/log_import.h"
#include "tools/sources/import_export/nvrx_cycle.h"
#include "tools/sources/import_export/nvrx_import.h"
#include "tools/sources/import_export/otel_import.h"
#include "tools/sources/logs/log_reader.h"
#include "tools/sources/slurm/sacct.h"

namespace goodput {
namespace {

constexpr std::string_view kGoogle = "google-goodput";
constexpr std::string_view kOtel = "otel";
constexpr std::string_view kSacct = "sacct";
constexpr std::string_view kNvrx = "nvrx";
constexpr std::string_view kOutput = "output";  // of a program; --format has no such word
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// sacct's text is read as a whole; two million attempts are smaller.
constexpr std::int64_t kMaxSacctBytes = std::int64_t{1} << 30U;
constexpr std::size_t kLookedAt = 65536;

std::string Lines(std::int64_t count, std::string_view what) {
  return Cat(count, " ", what, count == 1 ? "" : "s");
}

// Whether a line begins as JSON does, and not as Python's dictionaries or a time in brackets.
bool LooksLikeJson(std::string_view line) {
  if (line.empty() || (line.front() != '{' && line.front() != '[')) return false;
  const bool array = line.front() == '[';
  line.remove_prefix(1);
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r\n"), line.size()));
  return line.empty() ||
         (array ? line.front() == '{' || line.front() == ']' : line.front() == '"' || line.front() == '}');
}

// Whether a line of the text is JSON, of a job: other JSON is what programs print.
bool LooksLikeGoodputLog(std::string_view text) {
  constexpr auto npos = std::string_view::npos;
  if (text.find("\"job_name\"") == npos && text.find("\"jsonPayload\"") == npos) return false;
  if (LooksLikeJson(text)) return true;
  for (std::size_t at = text.find('\n'); at != npos; at = text.find('\n', at + 1)) {
    const std::string_view line = text.substr(at + 1);
    if (line.substr(0, 1) == "{" && LooksLikeJson(line)) return true;
  }
  return false;
}

// From how it begins: spans, cycles of NVRx, a goodput log, the header line of sacct, or a program's output.
absl::StatusOr<std::string_view> GuessFormat(const Input& input) {
  std::string beginning(kLookedAt, '\0');
  ASSIGN_OR_RETURN(const std::size_t got, input.Read(0, beginning.data(), beginning.size()));
  std::string_view text = std::string_view(beginning).substr(0, got);
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (LooksLikeSpans(text)) return kOtel;
  if (LooksLikeNvrxCycle(text)) return kNvrx;
  const std::string_view header = text.substr(0, text.find('\n'));
  const bool of_sacct =
      header.find("JobID") != std::string_view::npos && header.find("State") != std::string_view::npos;
  if (text.empty() || LooksLikeGoodputLog(text)) return kGoogle;
  return of_sacct ? kSacct : kOutput;
}

std::vector<JoinSpan::Srun> SrunsOf(const AttemptFacts& attempt, Ns now) {
  std::map<std::int32_t, JoinSpan::Srun> sruns;
  const Allocation allocation = ReadAllocation(attempt, now);
  for (const TaskLife& life : allocation.lives) {
    if (life.slurm_step < 0) continue;
    JoinSpan::Srun& srun = sruns[life.slurm_step];
    const Ns end = life.end.value_or(allocation.end);
    srun.begin = srun.tasks == 0 ? life.begin : std::min(srun.begin, life.begin);
    srun.end = std::max(srun.end, end);
    ++srun.tasks;
    srun.slurm_step = Cat(life.slurm_step);
  }
  std::vector<JoinSpan::Srun> all;
  all.reserve(sruns.size());
  for (auto& [step, srun] : sruns) all.push_back(std::move(srun));
  return all;
}

// The allocations to which the log is added; none if it becomes a run of its own.
absl::Status FindJobs(const ImportOptions& options, FileImportOptions& import) {
  if (options.job.empty() && options.run.empty()) return absl::OkStatus();
  const bool by_run = options.job.empty();
  absl::StatusOr<Target> target =
      OpenTarget(options.common,
                 {options.job, by_run ? options.run : "", options.cluster, options.submitted, options.user});
  if (!target.ok()) {
    return by_run && absl::IsNotFound(target.status()) ? absl::OkStatus() : target.status();
  }
  std::vector<JobKey>& jobs = target->jobs;
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), IsImport), jobs.end());
  if (jobs.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Run run, LoadRun(target->session.db, jobs, target->session.now));
  for (const AttemptFacts& attempt : run.facts.attempts) {
    if (!attempt.start) continue;
    import.join.push_back({attempt.job_id, *attempt.start, SrunsOf(attempt, run.facts.now), attempt.end,
                           attempt.nodes, attempt.gpus});
  }
  if (import.join.empty()) {
    return absl::InvalidArgumentError(Cat(by_run ? Cat("run ", options.run) : Cat("job ", options.job),
                                          " has not started, so no log can be added to it"));
  }
  import.cluster = jobs.front().cluster;
  import.joined = by_run ? Cat("run ", options.run, options.user.empty() ? "" : " of ", options.user)
                         : Cat("job ", options.job);
  return absl::OkStatus();
}

std::string_view NameOf(FileImportReport::Entries entries) {
  switch (entries) {
    case FileImportReport::Entries::kLines:
      return "line";
    case FileImportReport::Entries::kSpans:
      return "span";
    case FileImportReport::Entries::kCycles:
      return "cycle";
    case FileImportReport::Entries::kEntries:
      break;
  }
  return "entry";
}

int Print(const Input& input, const FileImportOptions& options, const FileImportReport& report,
          bool start_was_given) {
  const std::string where = options.join.empty()
                                ? Cat(Lines(report.attempts, "attempt"), " of run ", report.run)
                                : Cat("added to ", options.joined);
  const bool of_lines = report.of == FileImportReport::Entries::kLines;
  std::string line = Cat(Lines(report.entries, NameOf(report.of)),
                         of_lines ? " with steps, saves or phases, " : ", ", where);
  if (!of_lines) line += Cat(", ", Lines(report.bad, "line"), " quarantined");
  if (report.entries != 1) line = absl::StrReplaceAll(line, {{"entrys", "entries"}});
  if (report.unchanged) line += "; unchanged";
  std::printf("%s\n", Printable(line).c_str());
  const auto also = [&](std::int64_t count, const char* what) {
    if (count > 0)
      std::fprintf(stderr, "sgoodput: %s: %lld %s\n", input.name().c_str(), static_cast<long long>(count),
                   what);
  };
  also(report.other_job, report.of == FileImportReport::Entries::kSpans    ? "spans of other jobs skipped"
                         : report.of == FileImportReport::Entries::kCycles ? "cycles of other jobs skipped"
                                                                           : "entries of other jobs skipped");
  also(of_lines ? 0 : report.other, "JSON objects skipped that are not log entries");
  if (!report.note.empty())
    std::fprintf(stderr, "sgoodput: %s: %s\n", input.name().c_str(), Printable(report.note).c_str());
  if (report.placed_from && report.untimed == 0) {
    std::fprintf(stderr, "sgoodput: %s: no line has a time: placed by the durations of steps, from %s on%s\n",
                 input.name().c_str(), FormatTime(*report.placed_from).c_str(),
                 start_was_given ? "" : "; use --start TIME if the log began at another time");
  }
  also(report.untimed,
       report.untimed == 1
           ? "line has neither a time nor a step's duration: counted, but not placed in time"
           : "lines have neither a time nor a step's duration: counted, but not placed in time");
  also(report.outside, "steps and marks precede the job's first allocation and belong to no attempt");
  return kAnswered;
}

// For both kinds of logs: `run` imports it.
int ImportLogFile(
    const Input& input, const ImportOptions& options,
    const std::function<absl::StatusOr<FileImportReport>(const FileImportOptions& import)>& run) {
  FileImportOptions how;
  how.run = options.run;
  how.user = options.user.empty() ? UserName() : options.user;
  how.user_was_said = !options.user.empty();
  how.now_s = absl::ToUnixSeconds(absl::Now());
  if (absl::Status status = FindJobs(options, how); !status.ok()) return Fail(status);
  absl::StatusOr<FileImportReport> report = absl::InternalError("");
  {
    Progress progress;
    how.progress = [&](std::int64_t bytes, std::int64_t of) {
      if (of > 0) progress.Say(Cat(Printable(input.name()), ": ", bytes * 100 / of, " %"));
    };
    report = run(how);
  }
  if (!report.ok()) {
    const absl::Status& status = report.status();
    return Fail(absl::IsNotFound(status) ? absl::FailedPreconditionError(status.message()) : status);
  }
  return Print(input, how, *report, !options.start.empty());
}

int ImportSacct(Database& db, const Input& input, const ImportOptions& options, const Config& config) {
  if (!options.job.empty() || !options.run.empty() || !options.user.empty()) {
    return Fail(absl::InvalidArgumentError(
        "-j, --run and -u cannot be used with sacct output, which names jobs and users itself"));
  }
  if (input.size() > kMaxSacctBytes)
    return Fail(absl::InvalidArgumentError(Cat(input.name(), ": longer than 1 GiB; import it in parts")));
  std::string text(static_cast<std::size_t>(input.size()), '\0');
  const absl::StatusOr<std::size_t> got = input.Read(0, text.data(), text.size());
  if (!got.ok()) return Fail(got.status());
  text.resize(*got);
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.erase(0, kByteOrderMark.size());
  absl::StrReplaceAll({{"\r\n", "\n"}}, &text);
  absl::StatusOr<SacctText> read = ParseSacctFile(text);
  if (!read.ok()) return Fail(Annotate(read.status(), input.name()));
  if (read->rows.empty()) {
    return Fail(absl::InvalidArgumentError(
        Cat(input.name(), ": contains no job (", Lines(read->bad_lines, "line"), " read)")));
  }
  const std::string& cluster = options.cluster.empty() ? config.cluster : options.cluster;
  for (AccountingRow& row : read->rows) {
    if (row.cluster.empty()) row.cluster = cluster;
    if (row.cluster.empty()) {
      return Fail(absl::InvalidArgumentError(Cat(
          input.name(), ": no field Cluster; select the cluster with -M, or set `cluster` in goodput.conf")));
    }
    if (row.job_id_text.empty()) row.job_id_text = Cat(row.job_id);
  }
  const absl::StatusOr<std::int64_t> stored = StoreAccountingOfFile(db, read->rows);
  if (!stored.ok()) return Fail(stored.status());
  const auto known = static_cast<std::int64_t>(read->rows.size()) - *stored;
  std::printf("%s imported, %lld already known from slurmdbd, %s unreadable\n",
              Lines(*stored, "attempt").c_str(), static_cast<long long>(known),
              Lines(read->bad_lines, "line").c_str());
  return kAnswered;
}

}  // namespace

namespace {

// Several files are one input only where their format allows it.
absl::StatusOr<Input> OpenInput(const ImportOptions& options) {
  const bool may_be_several =
      options.log_profile.empty() &&
      (options.format == "auto" || options.format == kOtel || options.format == kNvrx);
  if (may_be_several) return Input::OpenAll(options.files);
  if (options.files.size() > 1) {
    return absl::InvalidArgumentError(
        "several files can only be imported at once with --format=otel or nvrx; import one after the other");
  }
  return Input::Open(options.files.front());
}

absl::Status CheckCloudOptions(const ImportOptions& options) {
  if (options.cloud_log.empty()) {
    const bool none =
        options.job_name.empty() && options.keep.empty() && options.from.empty() && options.to.empty();
    return none ? absl::OkStatus()
                : absl::InvalidArgumentError("--job-name, --keep, -S and -E require --cloud-log");
  }
  if (!options.files.empty())
    return absl::InvalidArgumentError("--cloud-log and FILE cannot be used together");
  if (!options.log_profile.empty() || !options.start.empty() ||
      (options.format != "auto" && options.format != kGoogle)) {
    return absl::InvalidArgumentError(
        "--cloud-log reads only entries of format google-goodput; for others, use gcloud logging read "
        "--format=json | sgoodput import -");
  }
  return absl::OkStatus();
}

int ImportCloudLog(const ImportOptions& options, const Config& config) {
  const std::string path = options.common.db.empty() ? config.database : options.common.db;
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWrite);
  if (!db.ok()) return Fail(absl::FailedPreconditionError(db.status().message()));
  const absl::StatusOr<Input> input = ReadCloudEntries(options);
  if (!input.ok()) return input.status().message().empty() ? kBadUsage : Fail(input.status());
  return ImportLogFile(*input, options,
                       [&](const FileImportOptions& import) { return ImportGoogleLog(*db, *input, import); });
}

// `profile`: a name, or a file NAME.profile, whose folder then has the site's profiles.
absl::StatusOr<LogImportOptions> ChooseProfile(const std::string& profile, const Config& config) {
  LogImportOptions log;
  log.profile = profile;
  log.site_profiles = config.log_profiles;
  if (!IsProfileFile(profile)) return log;
  const std::filesystem::path file = profile;
  if (file.extension() != ".profile")
    return absl::InvalidArgumentError(Cat("--log-profile ", profile, ": a profile's file is NAME.profile"));
  ASSIGN_OR_RETURN(const Input exists, Input::Open(profile));
  log.profile = file.stem();
  log.site_profiles = file.has_parent_path() ? file.parent_path().string() : ".";
  return log;
}

}  // namespace

int RunImport(const ImportOptions& options) {
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) return Fail(absl::FailedPreconditionError(config.status().message()));
  if (absl::Status status = CheckCloudOptions(options); !status.ok()) return Fail(status);
  if (!options.cloud_log.empty()) return ImportCloudLog(options, *config);
  const absl::StatusOr<Input> input = OpenInput(options);
  if (!input.ok()) return Fail(absl::FailedPreconditionError(input.status().message()));
  if (!options.log_profile.empty() && options.format != "auto")
    return Fail(absl::InvalidArgumentError("--format and --log-profile cannot be used together"));
  std::string_view format = options.format;
  std::string profile = options.log_profile;
  if (format == "auto" && options.log_profile.empty()) {
    const absl::StatusOr<std::string_view> guess = GuessFormat(*input);
    if (!guess.ok()) return Fail(absl::FailedPreconditionError(guess.status().message()));
    format = *guess;
    if (format == kOutput) profile = kAutoProfile;
    if (format != kOtel && format != kNvrx && options.files.size() > 1) {
      return Fail(absl::InvalidArgumentError(
          Cat(input->name(),
              ": neither spans of OpenTelemetry nor cycles of NVRx; import such files one after the other")));
    }
  }
  absl::StatusOr<LogImportOptions> log = ChooseProfile(profile, *config);
  if (!log.ok()) return Fail(absl::InvalidArgumentError(log.status().message()));
  const std::string path = options.common.db.empty() ? config->database : options.common.db;
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWrite);
  if (!db.ok()) return Fail(absl::FailedPreconditionError(db.status().message()));
  std::optional<Ns> start;
  if (!options.start.empty()) {
    if (profile.empty())
      return Fail(absl::InvalidArgumentError(Cat(input->name(), ": --start is only for a program's output")));
    const absl::StatusOr<Ns> time = ParseTimeOption(options.start, absl::Now());
    if (!time.ok()) return Fail(time.status());
    start = *time;
  }
  if (!profile.empty()) {
    log->start = start;
    return ImportLogFile(*input, options, [&](const FileImportOptions& import) {
      return ImportLog(*db, *input, import, *log);
    });
  }
  if (format == kOtel) {
    return ImportLogFile(*input, options,
                         [&](const FileImportOptions& import) { return ImportSpans(*db, *input, import); });
  }
  if (format == kNvrx) {
    return ImportLogFile(*input, options, [&](const FileImportOptions& import) {
      return ImportNvrxCycles(*db, *input, import);
    });
  }
  if (format == kSacct) return ImportSacct(*db, *input, options, *config);
  return ImportLogFile(*input, options,
                       [&](const FileImportOptions& import) { return ImportGoogleLog(*db, *input, import); });
}

}  // namespace goodput
