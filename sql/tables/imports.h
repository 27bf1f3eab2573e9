// What was imported from files of other programs: which file, into which run, and the attempts of runs that
// have no Slurm job in the database. Marks and steps are stored like those of nodes, with a source of the
// node kImportNode.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/blocks/mark_block.h"
#include "sql/database.h"
#include "sql/tables/job_index.h"
#include "sql/tables/jobs.h"
#include "sql/tables/step_store.h"

namespace goodput {

inline constexpr std::string_view kImportNode = "@import";

// One file, imported.
struct ImportRow {
  std::int64_t source_id = 0;
  std::string file;         // the source's file: a path, or an identifier of stdin's content
  std::string fingerprint;  // of the content
  std::string run;
  std::string name;  // the job's name in the file
  std::string user;  // who imported it
  // A run of its own has the job id -source_id. Absent if the marks were added to Slurm jobs.
  std::optional<std::int64_t> job_id;
  std::string joined;  // which jobs, as the user named them
  std::int64_t entries = 0;
  std::int64_t bad = 0;
  std::int64_t attempts = 0;
};
absl::StatusOr<std::optional<ImportRow>> FindImport(Database& db, const std::string& file);
// Those of the same run, user and job name that are runs of their own, but not from this source.
absl::StatusOr<std::vector<ImportRow>> FindOtherImports(Database& db, const ImportRow& of);
// Removes what was imported from a source.
absl::Status RemoveImport(Database& db, std::int64_t source_id);
// The import of such a run. NotFound: there is none.
absl::StatusOr<ImportRow> LoadImport(Database& db, const JobKey& job);

struct ImportedAttempt {
  std::int64_t number = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool ended = false;  // false: the log does not say; end_ns is then the latest possible end
  std::string state;
  std::optional<std::int64_t> stop_ns;  // when it was asked to stop
  bool is_life = false;                 // begin and end are those of the program
  std::int64_t offset = 0;              // of the entry that began it
};
absl::StatusOr<std::vector<ImportedAttempt>> LoadImportedAttempts(Database& db, std::int64_t source_id);

// Calls `take` with each imported mark of a job, and its source. An error: a block is damaged.
absl::Status ReadImportedMarks(Database& db, const JobKey& job,
                               const std::function<void(std::int64_t source_id, const PackedMark&)>& take);

// Stores one file; Begin removes what was imported from it before. Make all calls within one transaction.
class ImportWriter {
 public:
  explicit ImportWriter(Database& db) : db_(db) {}
  // `cluster`: of the jobs to which the log is added; empty for a run of its own.
  absl::Status Begin(const std::string& file, const std::string& cluster);
  std::int64_t source_id() const { return source_id_; }
  // The job id of a run of its own.
  std::int64_t own_job_id() const { return -source_id_; }

  absl::Status Step(std::int64_t job_id, std::string_view slurm_step, const PackedStep& step);
  absl::Status Mark(std::int64_t job_id, const PackedMark& mark);
  absl::Status Event(std::int64_t job_id, std::string_view kind, std::int64_t t_ns, std::int64_t offset,
                     std::string_view record);
  absl::Status Attempt(const ImportedAttempt& attempt);
  // Counts a line that is not an entry; only the first such lines are kept.
  absl::Status SetAside(std::int64_t offset, std::string_view reason, std::string_view text);
  std::int64_t set_aside() const { return set_aside_; }
  // `row`: source_id, bad and attempts are set by the writer.
  absl::Status Finish(const ImportRow& row, std::int64_t bytes, std::int64_t now_s);

 private:
  Database& db_;
  std::int64_t source_id_ = 0;
  std::int64_t set_aside_ = 0;
  std::int64_t attempts_ = 0;
  absl::Status StoreMarks(std::int64_t job_id);

  std::optional<StepStore> steps_;
  // The block being filled, per job.
  struct OpenMarks {
    std::int64_t seq = 0;
    MarkPacker packer;
  };
  std::map<std::int64_t, OpenMarks> marks_;
  std::optional<Statement> event_;
  std::string cluster_;
  SeenJobs seen_;
};

}  // namespace goodput
