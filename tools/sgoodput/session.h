// The common start of all reading subcommands: the configuration and an updated database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/base/config.h"
#include "tools/base/viewer.h"
#include "tools/sgoodput/options.h"

namespace goodput {

struct Session {
  Config config;
  Database db;
  Ns now = 0;
  bool refreshed = false;  // the user may write to the database, and it was updated
  Viewer viewer;           // who asks; sees everything unless goodput-reader restricts it
};

// The current user; the id if it has no name.
std::string UserName();

// Opens the database and, if this user may write to it, updates it first: new spool files, and slurmdbd's
// rows of `job_ids` (or all since `start_s` if there are none). A failed update is reported on stderr; only
// an unreadable database is an error.
absl::StatusOr<Session> OpenSession(const CommonOptions& options, const std::vector<std::int64_t>& job_ids,
                                    std::optional<std::int64_t> start_s);

// 12, 12_3 or 12+1 -> the jobs with that id in the database: on each cluster, and each time the id was
// reused. For an array (12, with tasks 12_3), all its tasks.
absl::StatusOr<std::vector<JobKey>> ResolveJob(Database& db, const std::string& text);

// The ids in the text, for querying slurmdbd before the database knows them.
absl::StatusOr<std::vector<std::int64_t>> ParseJobIds(const std::vector<std::string>& texts);

// The jobs of a subcommand with JOB or --run NAME, in an open session. NotFound: nothing matched. It is an
// error if several clusters have the job and neither the options nor goodput.conf select one; for a reused
// id, takes the last job and prints a line on stderr.
struct Target {
  Session session;
  std::vector<JobKey> jobs;
  bool array = false;      // they are tasks of an array, each a run of its own
  std::size_t strand = 0;  // of the run, if its jobs are several (NAME#2 is 1)
  // With --chain: how the jobs were joined, and which one was requested. Of several strands, the one with
  // that job is meant.
  std::string inferred;
  std::optional<std::int64_t> chained_job;
};
// JOB may also be a run name, if it is not a number (12, 12_3, 12+1); job:ID and run:NAME are explicit.
// Refuses the tasks of an array unless `asked` takes all of them.
absl::StatusOr<Target> OpenTarget(const CommonOptions& options, const TargetOptions& asked);

// Prints the error and returns the exit status: nothing matched, or bad usage.
int Fail(const absl::Status& status);

}  // namespace goodput
