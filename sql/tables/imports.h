// What was imported from files of other programs: which file, as whose run, and of a run that no Slurm job of
// the database is, its attempts. Marks and steps are stored as those of nodes are, under a source of the node
// kImportNode.
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
  std::string file;         // the source's: a path, or what tells stdin's content from others
  std::string fingerprint;  // of the content
  std::string run;
  std::string name;  // as the file names the job
  std::string user;  // who imported it
  // A run of its own has the job id -source_id; absent where its marks joined jobs of Slurm's.
  std::optional<std::int64_t> job_id;
  std::string joined;  // which, as it was asked for
  std::int64_t entries = 0;
  std::int64_t bad = 0;
  std::int64_t attempts = 0;
};
absl::StatusOr<std::optional<ImportRow>> FindImport(Database& db, const std::string& file);
// Of a run of its own. NotFound: there is none.
absl::StatusOr<ImportRow> LoadImport(Database& db, const JobKey& job);

struct ImportedAttempt {
  std::int64_t number = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool ended = false;  // false: nothing says so, end_ns is the latest it can have been
  std::string state;
  std::optional<std::int64_t> stop_ns;  // when it was asked to stop
  bool is_life = false;                 // begin and end are those of the program
  std::int64_t offset = 0;              // of the entry that began it
};
absl::StatusOr<std::vector<ImportedAttempt>> LoadImportedAttempts(Database& db, std::int64_t source_id);

// Calls `take` with each mark of a job that a file brought, and the source it is of. An error: a block is
// damaged.
absl::Status ReadImportedMarks(Database& db, const JobKey& job,
                               const std::function<void(std::int64_t source_id, const PackedMark&)>& take);

// Stores one file anew: what was imported of it before goes with Begin. All calls belong into one
// transaction.
class ImportWriter {
 public:
  explicit ImportWriter(Database& db) : db_(db) {}
  // `cluster`: of the jobs it joins; empty for a run of its own.
  absl::Status Begin(const std::string& file, const std::string& cluster);
  std::int64_t source_id() const { return source_id_; }
  // The job id of a run of its own.
  std::int64_t own_job_id() const { return -source_id_; }

  absl::Status Step(std::int64_t job_id, std::string_view slurm_step, const PackedStep& step);
  absl::Status Mark(std::int64_t job_id, const PackedMark& mark);
  absl::Status Event(std::int64_t job_id, std::string_view kind, std::int64_t t_ns, std::int64_t offset,
                     std::string_view record);
  absl::Status Attempt(const ImportedAttempt& attempt);
  // Of very many lines that are no entries only the first are kept, all are counted.
  absl::Status SetAside(std::int64_t offset, std::string_view reason, std::string_view text);
  std::int64_t set_aside() const { return set_aside_; }
  // `row`: source_id, bad and attempts are the writer's own.
  absl::Status Finish(const ImportRow& row, std::int64_t bytes, std::int64_t now_s);

 private:
  Database& db_;
  std::int64_t source_id_ = 0;
  std::int64_t set_aside_ = 0;
  std::int64_t attempts_ = 0;
  absl::Status StoreMarks(std::int64_t job_id);

  std::optional<StepStore> steps_;
  // Of each job, the block that is being filled.
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
