// Imports the log that Google's goodput library and Orbax write (see google_entry.h): what it says joins jobs
// of Slurm's, or becomes a run of its own.
#ifndef GOODPUT_TOOLS_EXCHANGE_GOOGLE_IMPORT_H_
#define GOODPUT_TOOLS_EXCHANGE_GOOGLE_IMPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "tools/exchange/input.h"
#include "tools/timeline/facts.h"

namespace goodput {

// An allocation that marks may join, and the Slurm steps in it that may have been the program.
struct JoinSpan {
  struct Srun {
    Ns begin = 0;
    Ns end = 0;
    std::int64_t tasks = 0;
    std::string slurm_step;
  };
  std::int64_t job_id = 0;
  Ns start = 0;
  std::vector<Srun> sruns;
};

struct GoogleImportOptions {
  // The run's name; of a log of several jobs, the one to take. Empty: as the entries name it.
  std::string run;
  // The jobs to join, of one cluster: a mark is of the allocation that began last before it, and in it of the
  // Slurm step with most tasks of those alive. Empty: none.
  std::vector<JoinSpan> join;
  std::string cluster;
  std::string joined;  // what they were asked for as, for people and to see a change
  std::string user;    // who imports
  std::int64_t now_s = 0;
  std::function<void(std::int64_t bytes, std::int64_t of)> progress;  // may be empty
};

struct GoogleImportReport {
  std::string run;
  std::int64_t entries = 0;
  std::int64_t other_job = 0;  // entries of jobs not asked for
  std::int64_t other = 0;      // JSON objects that are no entries
  std::int64_t bad = 0;        // set aside in `quarantine`
  std::int64_t attempts = 0;
  std::int64_t outside = 0;  // before the first allocation it could join
  bool unchanged = false;    // the same as the last time: nothing was done
};

// All of it in one transaction. Entries may be in any order; those of an ordered file stream through, of
// another some ten bytes an entry are held. InvalidArgument, with what to do: no entry in it, or several
// jobs.
absl::StatusOr<GoogleImportReport> ImportGoogleLog(Database& db, const Input& input,
                                                   const GoogleImportOptions& options);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_EXCHANGE_GOOGLE_IMPORT_H_
