#include "tools/sgoodput/session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/evidence.h"
#include "sql/ingest.h"
#include "sql/text.h"
#include "tools/runs/strands.h"
#include "tools/slurm/backfill.h"

namespace goodput {
namespace {

void Warn(const std::string& line) {
  std::fprintf(stderr, "sgoodput: %s\n", line.c_str());
}

bool MayWrite(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) return access(path.c_str(), W_OK) == 0;
  const std::string folder = std::filesystem::path(path).parent_path();
  return access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

void RefreshAccounting(Session& session, const SacctQuery& query) {
  const absl::Status status = Backfill(session.db, query, absl::ToUnixSeconds(absl::Now()));
  // No sacct, or a cluster without slurmdbd, is no news: then the controller's watch has to do.
  if (!status.ok() && !absl::IsNotFound(status) && !absl::IsUnavailable(status)) {
    Warn(Cat("not refreshed from accounting: ", Message(status)));
  }
}

void Refresh(Session& session, const SacctQuery& query) {
  RefreshAccounting(session, query);
  // Last, for sacct takes its time and a live job goes on meanwhile.
  if (access(session.config.spool.c_str(), R_OK) == 0) {
    absl::StatusOr<IngestReport> report =
        IngestSpool(session.db, session.config.spool, {session.config.cluster});
    if (!report.ok()) Warn(Cat("not refreshed from the spool: ", Message(report.status())));
    if (report.ok() && !report->problems.empty()) Warn(report->problems.front());
  }
}

// A file that is not there is bad usage; NotFound is for jobs.
absl::Status Unreadable(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::FailedPreconditionError(status.message()) : status;
}

}  // namespace

absl::StatusOr<Session> OpenSession(const CommonOptions& options, const std::vector<std::int64_t>& job_ids,
                                    std::optional<std::int64_t> start_s) {
  absl::StatusOr<Config> config = LoadConfig(options.config);
  if (!config.ok()) return Unreadable(config.status());
  const std::string path = options.db.empty() ? config->database : options.db;
  const bool write = !options.no_refresh && MayWrite(path);
  absl::StatusOr<Database> db =
      Database::Open(path, write ? Database::Mode::kReadWrite : Database::Mode::kReadOnly);
  if (!db.ok()) return Unreadable(db.status());
  Session session{*std::move(config), *std::move(db), 0, write};
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
        return absl::InvalidArgumentError(
            Cat("'", std::string(word),
                "' is not a job id; write 12, 12_3 (array task) or 12+1 (het component)"));
      }
      ids.push_back(id);
    }
  }
  return ids;
}

absl::StatusOr<std::vector<std::int64_t>> ResolveJob(Database& db, const std::string& text) {
  Statement statement =
      db.Prepare("SELECT DISTINCT job_id FROM accounting WHERE job_id_text = ?1 ORDER BY job_id");
  statement.Bind(1, text);
  std::vector<std::int64_t> ids;
  while (statement.Step()) ids.push_back(statement.Int(0));
  if (!statement.status().ok()) return statement.status();
  if (!ids.empty()) return ids;
  std::int64_t id = 0;
  if (absl::SimpleAtoi(text, &id)) ids.push_back(id);
  return ids;
}

absl::StatusOr<Target> OpenTarget(const CommonOptions& options, const std::string& job,
                                  const std::string& run) {
  if (job.empty() == run.empty())
    return absl::InvalidArgumentError("name a job id, or a run with --run NAME");
  absl::StatusOr<std::vector<std::int64_t>> asked = std::vector<std::int64_t>{};
  if (!job.empty()) asked = ParseJobIds({job});
  if (!asked.ok()) return asked.status();
  absl::StatusOr<Session> session = OpenSession(options, *asked, std::nullopt);
  if (!session.ok()) return session.status();
  Target target{*std::move(session), {}, 0};
  absl::StatusOr<std::vector<std::int64_t>> found =
      job.empty() ? JobsOfRun(target.session.db, run) : ResolveJob(target.session.db, job);
  if (!found.ok()) return found.status();
  if (found->empty() && job.empty()) {
    const auto [name, strand] = StrandOfName(run);
    target.strand = strand;
    if (strand > 0) found = JobsOfRun(target.session.db, name);
    if (!found.ok()) return found.status();
  }
  if (found->empty()) {
    return absl::NotFoundError(job.empty() ? Cat("no job of run '", run, "' is known")
                                           : Cat("job ", job, " is not known"));
  }
  target.job_ids = *std::move(found);
  // Which jobs a run has is known only now; the older of them may have ended since they were last looked at.
  if (job.empty() && target.session.refreshed)
    RefreshAccounting(target.session, {target.job_ids, std::nullopt});
  return target;
}

int Fail(const absl::Status& status) {
  Warn(Message(status));
  return absl::IsNotFound(status) ? kNothingMatched : kBadUsage;
}

}  // namespace goodput
