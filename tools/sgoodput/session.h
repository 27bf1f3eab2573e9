// What every reading subcommand begins with: the configuration, and a database that is up to date.
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
  bool refreshed = false;  // this user may write the database, and what is new was taken in
  Viewer viewer;           // who asks: all of it, unless goodput-reader says less
};

// Of whoever runs this; the id where it has no name.
std::string UserName();

// Opens the database and, where this user may write it, first takes in what is new: spool files, and
// slurmdbd's rows of `job_ids` (all of them since `start_s` when there are none). What cannot be refreshed is
// said on stderr and left as it was; only a database that cannot be read is an error.
absl::StatusOr<Session> OpenSession(const CommonOptions& options, const std::vector<std::int64_t>& job_ids,
                                    std::optional<std::int64_t> start_s);

// 12, 12_3 or 12+1 -> the jobs the database knows by that id: of each cluster, and every time it was used
// again.
// Of an array (12, where tasks are 12_3) all its tasks.
absl::StatusOr<std::vector<JobKey>> ResolveJob(Database& db, const std::string& text);

// The ids the text itself names, for asking slurmdbd before the database knows them.
absl::StatusOr<std::vector<std::int64_t>> ParseJobIds(const std::vector<std::string>& texts);

// The jobs of a subcommand that takes JOB or --run NAME, in a session opened for them. NotFound: nothing
// matched. Where several clusters have it and neither the options nor goodput.conf say which, that is an
// error; of an id that was used again the last job is taken, with a line on stderr.
struct Target {
  Session session;
  std::vector<JobKey> jobs;
  bool array = false;      // they are tasks of an array, each a run of its own
  std::size_t strand = 0;  // of the run, where its jobs are several (NAME#2 is 1)
  // With --chain: by what the jobs were taken for one run, and which was asked for. Of several strands its
  // own is meant.
  std::string inferred;
  std::optional<std::int64_t> chained_job;
};
// JOB may be the name of a run, too: what is no number (12, 12_3, 12+1); job:ID and run:NAME say which.
// The tasks of an array are refused where `asked` does not take them all.
absl::StatusOr<Target> OpenTarget(const CommonOptions& options, const TargetOptions& asked);

// Prints the error and gives the exit status: nothing matched, or bad usage.
int Fail(const absl::Status& status);

}  // namespace goodput
