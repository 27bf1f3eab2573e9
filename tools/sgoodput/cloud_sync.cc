// `sgoodput cloud`: exchanges with Google's systems what goodput.conf asks for, each minute: entries of
// cloud_import, runs that ended to cloud_export, a point of each running run to cloud_metrics.
//
// Each part is a command of its own, which can also be called by hand: what hangs is killed, and its memory
// is gone afterwards.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/base/format.h"
#include "tools/base/replace_file.h"
#include "tools/base/subprocess.h"
#include "tools/sgoodput/cloud_state.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

constexpr Ns kDay = 86'400 * kSecond;
// Records about an end arrive within this time, as a rule.
constexpr Ns kSettle = 60 * kSecond;
// Exported runs are remembered for so long.
constexpr Ns kRemember = 7 * kDay;
constexpr absl::Duration kPause = absl::Minutes(1);
// A first import reads a week of a log, within a quota.
constexpr absl::Duration kCommandPatience = absl::Minutes(30);

std::string LocalTime(Ns time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(time), absl::LocalTimeZone());
}

std::string FirstLine(std::string_view text) {
  constexpr std::string_view kProgram = "sgoodput: ";
  if (text.substr(0, kProgram.size()) == kProgram) text.remove_prefix(kProgram.size());
  return std::string(text.substr(0, text.find('\n')));
}

struct EndedRun {
  UnitKey key;
  RunInfo info;
  std::int64_t end_s = 0;
};

// All jobs of a run that has a name; otherwise its job, which may not be the last one with this id.
std::vector<std::string> TargetOf(const EndedRun& run) {
  if (!run.info.run.empty()) return {"--run", run.info.run, "-u", run.info.user, "-M", run.info.cluster};
  return {Cat("job:", run.key.job_id), "--submitted", LocalTime(run.key.submit_s * kSecond), "-M",
          run.info.cluster};
}

class CloudSync {
 public:
  CloudSync(CloudOptions options, Config config, std::string state_file)
      : options_(std::move(options)), config_(std::move(config)), state_file_(std::move(state_file)) {}

  absl::Status Open() {
    absl::StatusOr<std::optional<CloudState>> state = LoadCloudState(state_file_);
    if (absl::IsDataLoss(state.status())) {
      std::fprintf(
          stderr,
          "sgoodput: cloud: %s is damaged; it begins again: runs of the last day are exported again\n",
          Printable(state_file_).c_str());
    } else if (!state.ok()) {
      return state.status();
    } else if (*state) {
      state_ = **std::move(state);
    }
    if (state_.since == 0) state_.since = absl::GetCurrentTimeNanos() - kDay;
    return absl::OkStatus();
  }

  // An error is about this machine; what the services said is in the state. Returns whether all succeeded.
  absl::StatusOr<bool> Pass() {
    for (const std::string& log : config_.cloud_import) {
      // Exit status 1: the log has no entries so far.
      Do(log, {"import", Cat("--cloud-log=", log), "--keep", KeepFile(log)}, kNothingMatched);
    }
    if (!config_.cloud_metrics.empty()) {
      Do(config_.cloud_metrics, {"metrics", Cat("--cloud-monitoring=", config_.cloud_metrics), "--no-refresh",
                                 "-a", "-S", "now-10minutes"});
    }
    if (!config_.cloud_export.empty()) {
      RETURN_IF_ERROR(Export());
    }
    RETURN_IF_ERROR(Save());
    const std::vector<NamedCloudPart> parts = CloudParts(config_, state_);
    return std::all_of(parts.begin(), parts.end(),
                       [](const NamedCloudPart& one) { return one.part.problem.empty(); });
  }

 private:
  std::string KeepFile(const std::string& log) const {
    return Cat(std::filesystem::path(state_file_).parent_path().string(), "/cloud_import.",
               absl::StrReplaceAll(log, {{"/", "_"}}), ".json");
  }

  bool Do(const std::string& part, std::vector<std::string> words, int also_good = kAnswered) {
    words.insert(words.begin(), "/proc/self/exe");
    if (!options_.common.config.empty()) words.insert(words.end(), {"--config", options_.common.config});
    if (!options_.common.db.empty()) words.insert(words.end(), {"--db", options_.common.db});
    CommandOptions limits;
    limits.timeout = kCommandPatience;
    const absl::StatusOr<CommandResult> done = RunCommand(words, limits);
    std::string problem;
    if (!done.ok()) {
      problem = Cat("sgoodput ", words[1], ": ", Message(done.status()));
    } else if (done->exit_code != kAnswered && done->exit_code != also_good) {
      problem = FirstLine(done->err);
      if (problem.empty()) problem = Cat("sgoodput ", words[1], ": exit status ", done->exit_code);
    }
    Note(part, problem);
    return problem.empty();
  }

  // A problem is said once, until it is over.
  void Note(const std::string& name, const std::string& problem) {
    CloudPart& part = state_.parts[name];
    if (!problem.empty() && part.problem != problem)
      std::fprintf(stderr, "sgoodput: cloud: %s: %s\n", Printable(name).c_str(), Printable(problem).c_str());
    part.problem = problem;
    if (problem.empty()) part.done = absl::GetCurrentTimeNanos();
  }

  absl::StatusOr<std::vector<EndedRun>> NewlyEnded() {
    SelectionOptions select;
    select.all_users = true;
    select.start = LocalTime(state_.since);
    CommonOptions common = options_.common;
    common.no_refresh = true;  // goodputd does
    common.url.clear();
    std::vector<EndedRun> ended;
    const Ns settled = absl::GetCurrentTimeNanos() - kSettle;
    RETURN_IF_ERROR(ForEachSelected(common, select, {}, [&](Session& /*session*/, const Report& report) {
      const std::string& cluster = report.run.info.cluster;
      const std::vector<UnitKey> jobs = JobsOfReport(report);
      // Runs without a cluster were imported, perhaps from the same log.
      const bool is_new = !cluster.empty() && !jobs.empty() && !report.timeline.running &&
                          report.timeline.end >= state_.since && report.timeline.end <= settled;
      if (!is_new) return absl::OkStatus();
      const std::int64_t end_s = report.timeline.end / kSecond;
      const auto known = state_.exported.find(UnitName(jobs.front()));
      if (known == state_.exported.end() || known->second != end_s)
        ended.push_back({jobs.front(), report.run.info, end_s});
      return absl::OkStatus();
    }));
    return ended;
  }

  absl::Status Export() {
    ASSIGN_OR_RETURN(const std::vector<EndedRun> ended, NewlyEnded());
    for (const EndedRun& run : ended) {
      std::vector<std::string> words{"export", "--no-refresh", Cat("--cloud-log=", config_.cloud_export)};
      for (std::string& word : TargetOf(run)) words.push_back(std::move(word));
      if (!Do(config_.cloud_export, std::move(words))) return absl::OkStatus();  // the next pass tries again
      state_.exported[UnitName(run.key)] = run.end_s;
      RETURN_IF_ERROR(Save());
    }
    if (ended.empty()) Note(config_.cloud_export, "");
    Forget();
    return absl::OkStatus();
  }

  void Forget() {
    const Ns before = absl::GetCurrentTimeNanos() - kRemember;
    if (before <= state_.since) return;
    state_.since = before;
    for (auto run = state_.exported.begin(); run != state_.exported.end();)
      run = run->second < before / kSecond ? state_.exported.erase(run) : std::next(run);
  }

  absl::Status Save() { return ReplaceFile(state_file_, FormatCloudState(state_)); }

  const CloudOptions options_;
  const Config config_;
  const std::string state_file_;
  CloudState state_;
};

struct Setup {
  Config config;
  std::string state_file;
};

absl::StatusOr<Setup> SetUp(const CloudOptions& options) {
  Setup setup;
  ASSIGN_OR_RETURN(setup.config, LoadConfig(options.common.config));
  const std::string& database = options.common.db.empty() ? setup.config.database : options.common.db;
  setup.state_file = CloudStateFile(database);
  if (setup.config.cloud_import.empty() && setup.config.cloud_export.empty() &&
      setup.config.cloud_metrics.empty()) {
    return absl::FailedPreconditionError(
        "goodput.conf has no cloud_import, cloud_export or cloud_metrics; see goodput.conf(5)");
  }
  const std::vector<std::string>& imported = setup.config.cloud_import;
  if (std::find(imported.begin(), imported.end(), setup.config.cloud_export) != imported.end()) {
    return absl::FailedPreconditionError(
        "goodput.conf: cloud_export is in cloud_import, too, and runs would return as another program's; use "
        "another log");
  }
  return setup;
}

std::string LineOf(const NamedCloudPart& one, Ns now) {
  std::string line = Cat(one.what, " ", one.name, ": last done ",
                         one.part.done == 0 ? "never" : Cat(FormatDuration(now - one.part.done), " ago"));
  if (!one.part.problem.empty()) line += Cat("; ", one.part.problem);
  return Wrap(Printable(line), "");
}

}  // namespace

int RunCloudSync(const CloudOptions& options) {
  absl::StatusOr<Setup> setup = SetUp(options);
  if (!setup.ok()) return Fail(setup.status());
  if (geteuid() == 0) {
    return Fail(absl::PermissionDeniedError(
        "do not run it as root, but as the owner of the database: sudo -u goodput sgoodput cloud sync"));
  }
  CloudSync sync(options, setup->config, setup->state_file);
  if (const absl::Status status = sync.Open(); !status.ok()) return Fail(status);
  std::string said;
  while (true) {
    const absl::Time began = absl::Now();
    const absl::StatusOr<bool> pass = sync.Pass();
    if (options.once) return pass.ok() ? (*pass ? kAnswered : kNothingMatched) : Fail(pass.status());
    if (!pass.ok() && Message(pass.status()) != said) Fail(pass.status());
    said = Message(pass.status());
    absl::SleepFor(kPause - std::min(kPause, absl::Now() - began));
  }
}

int RunCloudStatus(const CloudOptions& options) {
  const absl::StatusOr<Setup> setup = SetUp(options);
  if (!setup.ok()) return Fail(setup.status());
  const absl::StatusOr<std::optional<CloudState>> state = LoadCloudState(setup->state_file);
  if (!state.ok()) return Fail(Annotate(state.status(), setup->state_file));
  if (!*state) {
    std::printf("Nothing was done so far: there is no %s\n", Printable(setup->state_file).c_str());
    return kNothingMatched;
  }
  const Ns now = absl::GetCurrentTimeNanos();
  bool good = true;
  for (const NamedCloudPart& one : CloudParts(setup->config, **state)) {
    std::fputs(LineOf(one, now).c_str(), stdout);
    good = good && !one.IsBad(now);
  }
  return good ? kAnswered : kNothingMatched;
}

}  // namespace goodput
