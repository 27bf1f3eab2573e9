#include "tools/accounting/runs/hook_records.h"

#include <array>
#include <vector>

#include "spank/event.h"
#include "sql/tables/evidence.h"
#include "tools/accounting/runs/stored_steps.h"

namespace goodput {

std::optional<NodeEvent::Kind> NodeEventKind(std::string_view kind) {
  if (kind == kind::kJobProlog) return NodeEvent::Kind::kProlog;
  if (kind == kind::kStepStart) return NodeEvent::Kind::kStepStart;
  if (kind == kind::kTaskStart) return NodeEvent::Kind::kTaskStart;
  if (kind == kind::kTaskExec) return NodeEvent::Kind::kTaskExec;
  if (kind == kind::kTaskExit) return NodeEvent::Kind::kTaskExit;
  if (kind == kind::kStepEnd) return NodeEvent::Kind::kStepEnd;
  if (kind == kind::kJobEpilog) return NodeEvent::Kind::kEpilog;
  return std::nullopt;
}

const HookRecords::Shape* HookRecords::ShapeOf(const RecordTemplate& text) {
  const auto [found, fresh] = shapes_.try_emplace(text.text());
  if (fresh) {
    const std::array<std::int64_t, RecordTemplate::kMostNumbers> numbers{};
    std::string record;
    text.Write("node", numbers.data(), record);
    const bool valid = reader_.Parse(record);
    const std::optional<NodeEvent::Kind> kind = NodeEventKind(reader_.Text(key::kKind));
    if (valid && kind) {
      Shape shape;
      shape.kind = *kind;
      shape.slurm_step = reader_.Text(key::kSlurmStep);
      shape.step_code = StepCode(shape.slurm_step);
      shape.declares = reader_.HasOpt();
      shape.m = text.NumberOf(key::kMonotonic);
      shape.task = text.NumberOf(key::kTask);
      shape.exit_code = text.NumberOf(key::kExitCode);
      shape.signal = text.NumberOf(key::kSignal);
      shape.restart = text.NumberOf(key::kRestart);
      found->second = std::move(shape);
    }
  }
  return found->second ? &*found->second : nullptr;
}

absl::Status HookRecords::ForEach(const std::function<void(const Record& record)>& take) {
  // Of a job that only accounting tells of there are none: a list has hundreds of thousands.
  if (!job_.heard) return absl::OkStatus();
  const auto [first_ns, end_ns] = TimesOf(job_);
  const Ns first = first_ns;
  const Ns end = end_ns;
  return ReadRecordBlocks(db_, job_, first, end, [&](RecordUnpacker& records) {
    std::vector<const Shape*> shapes;
    for (const RecordTemplate& shape : records.shapes()) shapes.push_back(ShapeOf(shape));
    while (records.Next()) {
      const Record record{shapes[records.shape()], &records, records.t_ns()};
      if (record.shape != nullptr && record.t >= first && record.t < end) take(record);
    }
  });
}

}  // namespace goodput
