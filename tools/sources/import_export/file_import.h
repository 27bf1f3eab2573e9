// What every import of a log is told and tells, and where what it reads goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/imports.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/logs/log_sink.h"

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
  std::optional<Ns> end = std::nullopt;
};

struct FileImportOptions {
  // The run's name; of a log of several jobs, the one to take. Empty: as the entries name it.
  std::string run;
  // The jobs to join, of one cluster: a mark is of the allocation that began last before it, and in it of the
  // Slurm step with most tasks of those alive. Empty: none.
  std::vector<JoinSpan> join;
  std::string cluster;
  std::string joined;  // what they were asked for as, for people and to see a change
  std::string user;    // who imports, or whose the run was said to be
  bool user_was_said = false;
  std::int64_t now_s = 0;
  std::function<void(std::int64_t bytes, std::int64_t of)> progress;  // may be empty
};

struct FileImportReport {
  std::string run;
  std::int64_t entries = 0;
  std::int64_t other_job = 0;  // entries of jobs not asked for
  std::int64_t other = 0;      // JSON objects that are no entries
  std::int64_t bad = 0;        // set aside in `quarantine`
  std::int64_t attempts = 0;
  std::int64_t outside = 0;  // before the first allocation it could join
  bool of_lines = false;  // entries are lines that say something, and others are none of anybody's business
  std::int64_t untimed = 0;       // lines that were counted only: nothing says when they were printed
  std::optional<Ns> placed_from;  // where no line says when it was printed: of the first
  std::string note;               // a choice that was made, and why
  bool unchanged = false;         // the same as the last time: nothing was done
};

// Its report, where the file was imported the same way before and has not changed since. `fingerprint`: of
// its content; empty: made when it is needed.
absl::StatusOr<std::optional<FileImportReport>> Unchanged(Database& db, const Input& input,
                                                          const std::vector<std::string>& identities,
                                                          const FileImportOptions& options,
                                                          std::string fingerprint);

// Stores what a log says: as a run of its own, or as what the jobs said whose allocations it falls into.
class StoreSink final : public LogSink {
 public:
  StoreSink(ImportWriter& writer, const std::vector<JoinSpan>& join);

  absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) override;
  absl::Status StepEnd(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Stop(Ns t, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Collective(const LogCollective& collective, const Speaker& speaker,
                          std::int64_t offset) override;
  // Of the life of a job of Slurm's others know more.
  absl::Status Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Attempt(const LogAttempt& attempt) override;

  std::int64_t attempts() const { return attempts_; }
  std::int64_t outside() const { return outside_; }

 private:
  absl::Status Life(const LogAttempt& attempt);
  const JoinSpan& SpanAt(Ns t) const;
  std::int64_t JobAt(Ns t);
  std::string_view StepName(Ns t, const Speaker& speaker);

  ImportWriter& writer_;
  std::vector<JoinSpan> join_;
  std::int64_t attempts_ = 0;
  std::int64_t outside_ = 0;
  int named_attempt_ = -1;
  std::string start_name_;
};

}  // namespace goodput
