#include "tools/sources/import_export/spool_export.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "spank/event.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/imports.h"
#include "sql/text.h"

namespace goodput {
namespace {

class SpoolExport {
 public:
  SpoolExport(Database& db, const std::function<absl::Status(std::string_view)>& write)
      : db_(db), write_(write) {}

  absl::Status Add(const JobKey& job) {
    if (!job.heard) return absl::OkStatus();
    RETURN_IF_ERROR(AddEvents(job));
    return AddSteps(job);
  }
  absl::Status Finish() { return text_.empty() ? absl::OkStatus() : write_(text_); }

 private:
  absl::Status EndLine() {
    constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
    text_ += '\n';
    if (text_.size() < kPieceBytes) return absl::OkStatus();
    absl::Status status = write_(text_);
    text_.clear();
    return status;
  }
  // One at a time, since a large job has millions of records.
  absl::Status AddEvents(const JobKey& job) {
    EventCursor events(db_, EventsOf::Job(job));
    while (events.Next()) {
      events.event().AppendRecord(text_);
      if (absl::Status status = EndLine(); !status.ok()) return status;
    }
    return events.status();
  }
  absl::Status AddSteps(const JobKey& job) {
    ASSIGN_OR_RETURN(const std::vector<StepRow> steps, LoadSteps(db_, job));
    for (const StepRow& step : steps) {
      ASSIGN_OR_RETURN(const SourceRow source, SourceOf(step.source_id));
      if (source.node == kImportNode) continue;
      text_ += Cat("{\"v\":", kFormatVersion, ",\"t\":", step.t_ns, ",\"node\":", QuotedJson(source.node),
                   ",\"kind\":\"", kind::kMark, "\"");
      if (!source.cluster.empty()) text_ += Cat(",\"cluster\":", QuotedJson(source.cluster));
      text_ += Cat(",\"job\":", job.job_id, ",\"slurm_step\":", QuotedJson(step.slurm_step),
                   ",\"task\":", step.task,
                   ",\"mark\":\"step\",\"edge\":\"begin\",\"train_step\":", step.train_step, "}");
      if (absl::Status status = EndLine(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<SourceRow> SourceOf(std::int64_t id) {
    const auto known = sources_.find(id);
    if (known != sources_.end()) return known->second;
    absl::StatusOr<SourceRow> source = LoadSource(db_, id);
    if (source.ok()) sources_.emplace(id, *source);
    return source;
  }

  Database& db_;
  const std::function<absl::Status(std::string_view)>& write_;
  std::string text_;
  std::map<std::int64_t, SourceRow> sources_;
};

}  // namespace

absl::Status ExportSpoolRecords(Database& db, const std::vector<JobKey>& jobs,
                                const std::function<absl::Status(std::string_view)>& write) {
  SpoolExport records(db, write);
  for (const JobKey& job : jobs) {
    if (absl::Status status = records.Add(job); !status.ok()) return status;
  }
  return records.Finish();
}

}  // namespace goodput
