// Options, result and storage that all imports of logs share.
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

// An allocation to which marks may be added, and the Slurm steps in it that may have been the program.
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
  // 0: not known.
  int nodes = 0;
  int gpus = 0;
};

struct FileImportOptions {
  // The run's name; for a log of several jobs, the one to import. Empty: as named in the entries.
  std::string run;
  // The jobs to which the log is added, of one cluster: a mark belongs to the last allocation that began
  // before it, and there to the Slurm step with most tasks of those alive. Empty: none.
  std::vector<JoinSpan> join;
  std::string cluster;
  std::string joined;  // as the user named them, for messages and to detect a change
  std::string user;    // the user who imports, or the given owner of the run
  bool user_was_said = false;
  std::int64_t now_s = 0;
  std::function<void(std::int64_t bytes, std::int64_t of)> progress;  // may be empty
};

struct FileImportReport {
  // What an import counts. Of lines of output, those that match; other lines do not matter.
  enum class Entries : std::uint8_t { kEntries, kLines, kSpans, kCycles };
  std::string run;
  std::int64_t entries = 0;
  std::int64_t other_job = 0;  // entries of other jobs
  std::int64_t other = 0;      // JSON objects that are not entries
  std::int64_t bad = 0;        // lines in `quarantine`
  std::int64_t attempts = 0;
  std::int64_t outside = 0;  // before the first allocation
  Entries of = Entries::kEntries;
  std::int64_t untimed = 0;       // lines that were only counted, since their times are unknown
  std::optional<Ns> placed_from;  // set if no line has a time: the time of the first
  std::string note;               // a choice that was made, and why
  bool unchanged = false;         // the same as last time: nothing was done
};

// For messages: "stdin" instead of "-".
std::string NameOf(const Input& input);

// Of an import that stays as it is.
FileImportReport UnchangedImport(const ImportRow& row);

// The earlier report, if the file was imported in the same way before and has not changed. `fingerprint`: of
// its content; empty: computed if needed.
absl::StatusOr<std::optional<FileImportReport>> Unchanged(Database& db, const Input& input,
                                                          const std::vector<std::string>& identities,
                                                          const FileImportOptions& options,
                                                          std::string fingerprint);

// Stores the events of a log: as a run of its own, or as marks of the jobs in whose allocations they fall.
class StoreSink final : public LogSink {
 public:
  StoreSink(ImportWriter& writer, const std::vector<JoinSpan>& join);

  absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) override;
  absl::Status StepEnd(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Stop(Ns t, const Speaker& speaker, std::int64_t offset) override;
  absl::Status World(const LogWorld& world, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Collective(const LogCollective& collective, const Speaker& speaker,
                          std::int64_t offset) override;
  // For a Slurm job, other sources know this better.
  absl::Status Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) override;
  absl::Status Attempt(const LogAttempt& attempt) override;
  // What follows is from one process that is known to have lived then, of this job, if it is one of those to
  // which the log is added; absent: not known. All of it belongs to one Slurm step.
  void Within(std::optional<std::int64_t> job, const TimeSpan& life);

  std::int64_t attempts() const { return attempts_; }
  std::int64_t outside() const { return outside_; }

 private:
  absl::Status Life(const LogAttempt& attempt);
  const JoinSpan& SpanAt(Ns t) const;
  std::int64_t JobAt(Ns t);
  std::string_view StepName(Ns t, const Speaker& speaker);

  ImportWriter& writer_;
  std::vector<JoinSpan> all_;
  std::vector<JoinSpan> join_;  // of all, those to choose from
  std::string within_;          // the Slurm step of the process; empty: by time
  std::int64_t attempts_ = 0;
  std::int64_t outside_ = 0;
  int named_attempt_ = -1;
  std::string start_name_;
};

}  // namespace goodput
