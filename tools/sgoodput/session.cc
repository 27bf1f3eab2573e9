#include "tools/sgoodput/session.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/ingest/ingest.h"
#include "sql/status_macros.h"
#include "sql/tables/evidence.h"
#include "sql/tables/owners.h"
#include "sql/text.h"
#include "tools/accounting/runs/chain.h"
#include "tools/accounting/runs/concurrent_jobs.h"
#include "tools/accounting/runs/imported_runs.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/base/subprocess.h"
#include "tools/sources/slurm/backfill.h"

namespace goodput {
namespace {

void Warn(const std::string& line) {
  std::fprintf(stderr, "sgoodput: %s\n", line.c_str());
}

// A read-only command must not create a database: with a mistyped name it would report that there is nothing.
absl::Status MustExist(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) == 0 || errno != ENOENT) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Cat("there is no database ", path,
          "; goodputd, sgoodput ingest, backfill or import creates it; --db FILE selects another, and --url "
          "URL (or `url` in goodput.conf) queries goodputd on the controller"));
}

void RefreshAccounting(Session& session, const SacctQuery& query) {
  const absl::Status status = Backfill(session.db, query, absl::ToUnixSeconds(absl::Now()));
  // Without sacct or slurmdbd, the controller's watch must do; that is not worth a warning.
  if (!status.ok() && !absl::IsNotFound(status) && !absl::IsUnavailable(status)) {
    Warn(Cat("cannot update from accounting: ", Message(status)));
  }
}

void Refresh(Session& session, const SacctQuery& query) {
  RefreshAccounting(session, query);
  // Last, since sacct takes time and a live job continues meanwhile.
  if (access(session.config.spool.c_str(), R_OK) == 0) {
    absl::StatusOr<IngestReport> report =
        IngestSpool(session.db, session.config.spool, {session.config.cluster});
    if (!report.ok()) Warn(Cat("cannot update from the spool: ", Message(report.status())));
    if (report.ok() && !report->problems.empty()) Warn(report->problems.front());
  }
}

// Unless goodput-reader says otherwise, a user who can read the database sees everything.
Viewer WhoAsks() {
  const char* said = std::getenv(kViewerVariable);
  if (said != nullptr) return ParseViewer(said);
  Viewer viewer;
  if (geteuid() != 0) viewer.user = UserName();
  return viewer;
}

// A missing file is bad usage; NotFound is for jobs.
absl::Status Unreadable(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::FailedPreconditionError(status.message()) : status;
}

}  // namespace

std::string UserName() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? Cat(geteuid()) : std::string(entry->pw_name);
}

absl::StatusOr<Session> OpenSession(const CommonOptions& options, const std::vector<std::int64_t>& job_ids,
                                    std::optional<std::int64_t> start_s) {
  absl::StatusOr<Config> config = LoadConfig(options.config);
  if (!config.ok()) return Unreadable(config.status());
  const std::string path = options.db.empty() ? config->database : options.db;
  RETURN_IF_ERROR(MustExist(path));
  const bool write = !options.no_refresh && access(path.c_str(), W_OK) == 0;
  absl::StatusOr<Database> db =
      Database::Open(path, write ? Database::Mode::kReadWrite : Database::Mode::kReadOnly);
  if (!db.ok()) return Unreadable(db.status());
  Session session{*std::move(config), *std::move(db), 0, write, WhoAsks()};
  if (write) Refresh(session, {job_ids, start_s});
  session.now = absl::GetCurrentTimeNanos();
  return session;
}

absl::StatusOr<std::vector<std::int64_t>> ParseJobIds(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> ids;
  for (const std::string& text : texts) {
    for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      std::int64_t id = 0;
      const absl::string_view digits = word.substr(0, word.find_first_of("_+."));
      if (!absl::SimpleAtoi(digits, &id) || id <= 0) {
        return absl::InvalidArgumentError(Cat(
            "'", std::string(word), "' is not a job id; use 12, 12_3 (array task) or 12+1 (het component)"));
      }
      ids.push_back(id);
    }
  }
  return ids;
}

namespace {

// All uses of the ids, each once.
absl::StatusOr<std::vector<JobKey>> KeysOf(Database& db, const std::vector<ArrayTask>& tasks) {
  std::vector<JobKey> jobs;
  for (const ArrayTask& task : tasks) {
    ASSIGN_OR_RETURN(const std::vector<JobKey> known, KnownJobs(db, task.job_id));
    std::copy_if(known.begin(), known.end(), std::back_inserter(jobs),
                 [&](const JobKey& job) { return task.cluster.empty() || job.cluster == task.cluster; });
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

}  // namespace

absl::StatusOr<std::vector<JobKey>> ResolveJob(Database& db, const std::string& text) {
  Statement statement = db.Prepare("SELECT DISTINCT cluster, job_id FROM accounting WHERE job_id_text = ?1");
  statement.Bind(1, text);
  std::vector<std::pair<std::string, std::int64_t>> written;
  while (statement.Step()) written.emplace_back(statement.Text(0), statement.Int(1));
  if (!statement.status().ok()) return statement.status();
  std::int64_t id = 0;
  if (absl::SimpleAtoi(text, &id)) {
    ASSIGN_OR_RETURN(std::vector<ArrayTask> tasks, TasksOfArray(db, id));
    if (!tasks.empty()) return KeysOf(db, tasks);
    if (written.empty()) return KnownJobs(db, id);
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('_', 1));
  if (std::int64_t number = 0;
      written.empty() && absl::SimpleAtoi(parts.first, &id) && absl::SimpleAtoi(parts.second, &number)) {
    ASSIGN_OR_RETURN(std::vector<ArrayTask> tasks, TasksOfArray(db, id));
    tasks.erase(std::remove_if(tasks.begin(), tasks.end(),
                               [&](const ArrayTask& task) { return task.number != number; }),
                tasks.end());
    return KeysOf(db, tasks);
  }
  std::vector<JobKey> jobs;
  for (const auto& [cluster, job_id] : written) {
    ASSIGN_OR_RETURN(const std::vector<JobKey> known, KnownJobs(db, job_id));
    std::copy_if(known.begin(), known.end(), std::back_inserter(jobs),
                 [&, of = cluster](const JobKey& job) { return job.cluster == of; });
  }
  return jobs;
}

namespace {

// Keeps the jobs of one cluster: the requested one, else goodput.conf's, else the only one.
absl::Status KeepOneCluster(const TargetOptions& asked, const Config& config, std::vector<JobKey>& jobs) {
  std::set<std::string> clusters;
  for (const JobKey& job : jobs) clusters.insert(job.cluster);
  std::string cluster = asked.cluster;
  if (cluster.empty() && clusters.size() > 1) {
    if (clusters.count(config.cluster) == 0) {
      return absl::InvalidArgumentError(
          Cat("clusters ", absl::StrJoin(clusters, " and "), " each have it; select one with -M CLUSTER"));
    }
    cluster = config.cluster;
  }
  if (cluster.empty()) return absl::OkStatus();
  jobs.erase(
      std::remove_if(jobs.begin(), jobs.end(), [&](const JobKey& job) { return job.cluster != cluster; }),
      jobs.end());
  return absl::OkStatus();
}

// Jobs hidden from the viewer are treated as if they did not exist.
absl::Status KeepVisible(Session& session, std::vector<JobKey>& jobs) {
  if (session.viewer.all) return absl::OkStatus();
  const absl::StatusOr<std::map<JobKey, Owner>> owners = OwnersOf(session.db, jobs);
  if (!owners.ok()) return owners.status();
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [&](const JobKey& job) {
                              const Owner& owner = owners->at(job);
                              return !session.viewer.Sees(owner.user, owner.account);
                            }),
             jobs.end());
  return absl::OkStatus();
}

// If several users have jobs with this run name: keeps those of the requested user, or of the viewer.
absl::Status KeepOneOwner(const TargetOptions& asked, Session& session, std::vector<JobKey>& jobs) {
  const absl::StatusOr<std::map<JobKey, Owner>> owners = OwnersOf(session.db, jobs);
  if (!owners.ok()) return owners.status();
  std::set<std::string> users;
  for (const auto& [job, owner] : *owners) users.insert(owner.user);
  std::string user = asked.user;
  if (user.empty()) {
    if (users.size() < 2) return absl::OkStatus();
    const std::string names = absl::StrJoin(users, " and ");
    user = session.viewer.user;
    if (user.empty() || users.count(user) == 0) {
      return absl::InvalidArgumentError(
          Cat("users ", names, " each have a run of that name; select one with -u USER"));
    }
    Warn(Cat("users ", names, " each have a run of that name; showing yours (others: -u USER)"));
  }
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [&](const JobKey& job) { return owners->at(job).user != user; }),
             jobs.end());
  return absl::OkStatus();
}

// If an id was reused: keeps the job that had it at the requested time, or the last one.
absl::Status KeepOneUse(const TargetOptions& asked, std::vector<JobKey>& jobs) {
  if (!asked.submitted.empty()) {
    ASSIGN_OR_RETURN(const Ns at, ParseTimeOption(asked.submitted, absl::Now()));
    const std::int64_t at_s = at / kSecond;
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                              [&](const JobKey& job) { return at_s < job.from_s || at_s >= job.until_s; }),
               jobs.end());
  }
  if (jobs.size() < 2) return absl::OkStatus();
  Warn(Cat("job id ", jobs.back().job_id, " was used ", jobs.size(), " times; showing the job submitted at ",
           FormatTime(jobs.back().from_s * kSecond), "(others: --submitted TIME)"));
  jobs.erase(jobs.begin(), jobs.end() - 1);
  return absl::OkStatus();
}

// The same for each id.
absl::Status KeepOneUseOfEach(const TargetOptions& asked, std::vector<JobKey>& jobs) {
  std::map<std::int64_t, std::vector<JobKey>> by_id;
  for (const JobKey& job : jobs) by_id[job.job_id].push_back(job);
  jobs.clear();
  for (auto& [id, uses] : by_id) {
    RETURN_IF_ERROR(KeepOneUse(asked, uses));
    jobs.insert(jobs.end(), uses.begin(), uses.end());
  }
  return absl::OkStatus();
}

// Whether JOB is a job id; anything else is a run name.
bool IsJobId(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789_+") == std::string::npos &&
         text.front() != '_' && text.front() != '+';
}

// Interprets JOB as a job id or a run name.
TargetOptions JobOrRun(const TargetOptions& asked) {
  constexpr std::string_view kJob = "job:";
  constexpr std::string_view kRun = "run:";
  TargetOptions target = asked;
  const std::string_view text = asked.job;
  if (text.substr(0, kJob.size()) == kJob) {
    target.job = text.substr(kJob.size());
  } else if (asked.run.empty() && text.substr(0, kRun.size()) == kRun) {
    target.run = std::exchange(target.job, {}).substr(kRun.size());
  } else if (asked.run.empty() && !text.empty() && !IsJobId(asked.job)) {
    target.run = std::exchange(target.job, {});
  }
  return target;
}

// Slurm has the job, but nothing about it is recorded yet.
bool IsQueued(const std::string& job) {
  const absl::StatusOr<CommandResult> answer =
      RunCommand({"squeue", "-h", "-a", "-o", "%i", "-j", job}, {absl::Seconds(3), 1 << 20, {}});
  return answer.ok() && answer->exit_code == 0 && !answer->out.empty();
}

absl::Status NotKnown(const TargetOptions& asked) {
  if (asked.job.empty()) return absl::NotFoundError(Cat("no job of run '", asked.run, "' is known"));
  // Slurm hides from this user what it should; for viewers of goodput-reader, it is not asked.
  const bool asked_here = std::getenv(kViewerVariable) == nullptr;
  if (asked_here && IsQueued(asked.job)) {
    return absl::NotFoundError(Cat("job ", asked.job,
                                   " is in the queue, but nothing about it is recorded yet (goodputd polls "
                                   "every few seconds; if this persists, run sgoodput doctor); ",
                                   kAskAgain));
  }
  return absl::NotFoundError(Cat("job ", asked.job, " is not known"));
}

absl::Status RefuseArray(const std::string& job, std::size_t tasks) {
  return absl::InvalidArgumentError(Cat("job ", job, " is an array of ", tasks,
                                        " tasks: specify one, such as ", job,
                                        "_1, or list them with sgoodput -j ", job));
}

// The ids that slurmdbd may know: not those of imports.
std::vector<std::int64_t> IdsOf(const std::vector<JobKey>& jobs) {
  std::vector<std::int64_t> ids;
  for (const JobKey& job : jobs) {
    if (!IsImport(job)) ids.push_back(job.job_id);
  }
  return ids;
}

}  // namespace

absl::StatusOr<Target> OpenTarget(const CommonOptions& options, const TargetOptions& given) {
  const TargetOptions asked = JobOrRun(given);
  const std::string& job = asked.job;
  const std::string& run = asked.run;
  if (job.empty() == run.empty()) return absl::InvalidArgumentError("specify a job id or a run (--run NAME)");
  if (asked.chain && job.empty())
    return absl::InvalidArgumentError("--chain requires a JOB and cannot be used with --run");
  if (!asked.user.empty() && run.empty()) return absl::InvalidArgumentError("-u requires --run");
  absl::StatusOr<std::vector<std::int64_t>> ids = std::vector<std::int64_t>{};
  if (!job.empty()) ids = ParseJobIds({job});
  if (!ids.ok()) return ids.status();
  absl::StatusOr<Session> session = OpenSession(options, *ids, std::nullopt);
  if (!session.ok()) return session.status();
  Target target{*std::move(session), {}, false, 0, "", std::nullopt};
  absl::StatusOr<std::vector<JobKey>> found =
      job.empty() ? JobsOfRun(target.session.db, run) : ResolveJob(target.session.db, job);
  if (!found.ok()) return found.status();
  if (found->empty() && job.empty()) {
    const auto [name, strand] = StrandOfName(run);
    target.strand = strand;
    if (strand > 0) found = JobsOfRun(target.session.db, name);
    if (!found.ok()) return found.status();
  }
  const std::string what = job.empty() ? Cat("run '", run, "'") : Cat("job ", job);
  RETURN_IF_ERROR(KeepVisible(target.session, *found));
  if (absl::Status status = KeepOneCluster(asked, target.session.config, *found); !status.ok())
    return Annotate(status, what);
  if (job.empty()) {
    if (absl::Status status = KeepOneOwner(asked, target.session, *found); !status.ok())
      return Annotate(status, what);
  }
  if (!job.empty()) {
    if (absl::Status status = KeepOneUseOfEach(asked, *found); !status.ok()) return status;
  }
  if (found->empty()) return NotKnown(asked);
  target.jobs = *std::move(found);
  target.array = !job.empty() && target.jobs.size() > 1;
  if (target.array && !asked.chain && !asked.tasks) return RefuseArray(job, target.jobs.size());
  if (asked.chain) {
    const JobKey of = target.jobs.back();
    absl::StatusOr<Chain> chain = FindChain(target.session.db, of);
    if (!chain.ok()) return Annotate(chain.status(), what);
    target.jobs = std::move(chain->jobs);
    target.inferred = std::move(chain->inferred);
    target.chained_job = of.job_id;
  }
  // Only now the run's jobs are known; older ones may have ended since they were last read.
  const std::vector<std::int64_t> of_run = IdsOf(target.jobs);
  if ((job.empty() || asked.chain) && target.session.refreshed && !of_run.empty())
    RefreshAccounting(target.session, {of_run, std::nullopt});
  return target;
}

int Fail(const absl::Status& status) {
  Warn(Message(status));
  return absl::IsNotFound(status) ? kNothingMatched : kBadUsage;
}

}  // namespace goodput
