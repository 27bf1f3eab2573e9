#include "sql/ingest/hook_rows.h"

#include <algorithm>
#include <optional>
#include <string>

#include "sql/tables/record_blocks.h"

namespace goodput {
namespace {

constexpr std::int64_t kManyRecords = 512;
// Rows of saves of one job, two for each save.
constexpr std::int64_t kManySaves = 2048;
constexpr std::size_t kMostJobs = 100'000;
// In Job::shapes: the first of the shape became a row.
constexpr std::size_t kRow = ~std::size_t{0};

}  // namespace

HookRows::Job& HookRows::JobOf(std::int64_t job_id, std::string_view cluster) {
  if (last_ == nullptr || last_key_ != Key(job_id, cluster)) {
    last_key_ = {job_id, cluster};
    last_ = &jobs_[last_key_];
  }
  return *last_;
}

absl::Status HookRows::Add(const File& file, const NewEvent& event, const LineTemplates::Shape& shape,
                           const std::int64_t* numbers) {
  Job& job = JobOf(*event.job_id, file.cluster);
  ++job.records;
  job.first_t_ns = std::min(job.first_t_ns, event.t_ns);
  job.last_t_ns = std::max(job.last_t_ns, event.t_ns);
  if (job.records < kManyRecords) {
    waiting_.push_back({file, event, &shape, numbers_.size(), &job});
    numbers_.insert(numbers_.end(), numbers, numbers + shape.text().names().size());
    return absl::OkStatus();
  }
  if (job.records == kManyRecords) {
    if (absl::Status status = PackWaiting(job); !status.ok()) return status;
  }
  return Pack(job, file, event, shape, numbers);
}

absl::Status HookRows::PackWaiting(const Job& job) {
  for (Waiting& one : waiting_) {
    if (one.job != &job) continue;
    absl::Status status = Pack(*one.job, one.file, one.event, *one.shape, numbers_.data() + one.numbers);
    if (!status.ok()) return status;
    one.job = nullptr;
  }
  return absl::OkStatus();
}

// The first in which a job tells of itself is a row: the view job_option and whoever asks whose the job is
// find it.
absl::Status HookRows::Pack(Job& job, const File& file, const NewEvent& event,
                            const LineTemplates::Shape& shape, const std::int64_t* numbers) {
  if (job.shapes.size() <= shape.number()) job.shapes.resize(shape.number() + 1);
  std::size_t& packed_as = job.shapes[shape.number()];
  if (packed_as == 0 && shape.begins_work()) {
    packed_as = kRow;
    return events_.Add(event);
  }
  if (packed_as == 0 || packed_as == kRow) packed_as = job.packer.AddShape(shape.text()) + 1;
  job.packer.SetFile(event.source_id, file.node, file.boot);
  job.packer.Add(packed_as - 1, event.offset, numbers);
  return absl::OkStatus();
}

absl::Status HookRows::Flush() {
  for (const Waiting& one : waiting_) {
    if (one.job == nullptr) continue;
    if (absl::Status status = events_.Add(one.event); !status.ok()) return status;
  }
  for (auto& [key, job] : jobs_) {
    if (job.packer.records() == 0) continue;
    absl::Status status =
        StoreRecordBlock(db_, {key.first, std::string(key.second), job.packer.records(), job.first_t_ns,
                               job.last_t_ns, std::nullopt, false, job.packer.Finish()});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status HookRows::PackSaves(SpoolMemory& memory) {
  auto& rows_of = memory.rows_of_saves;
  if (rows_of.size() > kMostJobs) rows_of.clear();
  for (const Waiting& one : waiting_) {
    if (one.job == nullptr || !one.shape->of_save()) continue;
    std::int64_t& rows = rows_of[{*one.event.job_id, std::string(one.file.cluster)}];
    if (++rows < kManySaves) continue;
    rows = 0;
    const absl::StatusOr<std::int64_t> packed =
        PackRowsOfSaves(db_, *one.event.job_id, std::string(one.file.cluster));
    if (!packed.ok()) return packed.status();
  }
  return absl::OkStatus();
}

}  // namespace goodput
