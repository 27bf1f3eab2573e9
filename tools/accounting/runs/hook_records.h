// What slurmd's hooks recorded of a large job, out of the blocks they are kept in: read as often as is asked,
// for they are millions, and understood a shape at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"
#include "sql/tables/record_blocks.h"
#include "tools/accounting/runs/record.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// "job_prolog" and so on; absent: none of slurmd's.
std::optional<NodeEvent::Kind> NodeEventKind(std::string_view kind);

class HookRecords {
 public:
  // What all records of a shape have in common.
  struct Shape {
    NodeEvent::Kind kind = NodeEvent::Kind::kProlog;
    std::string slurm_step;
    std::int32_t step_code = kNoStep;
    bool declares = false;  // has what the job said of itself
    // Which of its numbers these are.
    std::optional<std::size_t> m, task, exit_code, signal, restart;
  };
  // Valid until the next one.
  struct Record {
    const Shape* shape;  // the same of the same shape, as long as this lives
    const RecordUnpacker* in;
    Ns t;
    std::optional<std::int64_t> Number(const std::optional<std::size_t>& of) const {
      return of ? std::optional(in->number(*of)) : std::nullopt;
    }
  };

  // The database must outlive it.
  HookRecords(Database& db, JobKey job) : db_(db), job_(std::move(job)) {}

  // Each of the job's records, in no order.
  absl::Status ForEach(const std::function<void(const Record& record)>& take);

 private:
  const Shape* ShapeOf(const RecordTemplate& text);

  Database& db_;
  JobKey job_;
  std::map<std::string, std::optional<Shape>> shapes_;  // absent: none of slurmd's
  RecordReader reader_;
};

}  // namespace goodput
