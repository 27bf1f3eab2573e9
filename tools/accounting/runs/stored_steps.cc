#include "tools/accounting/runs/stored_steps.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Starts of a program known only from a log ("@1", "@2") are Slurm steps of their own, with numbers that
// Slurm does not use.
constexpr char kStartOfLog = '@';
constexpr std::int32_t kFirstStartOfLog = 1 << 30;
constexpr std::int32_t kMostStarts = 1 << 20;

}  // namespace

std::int32_t StepCode(std::string_view slurm_step) {
  if (slurm_step == "batch") return kBatchStep;
  if (slurm_step == "extern") return kExternStep;
  if (slurm_step == "interactive") return kInteractiveStep;
  if (!slurm_step.empty() && slurm_step.front() == kStartOfLog) {
    std::int32_t start = 0;
    const bool valid = absl::SimpleAtoi(ToAbsl(slurm_step.substr(1)), &start) && start > 0;
    return valid && start < kMostStarts ? kFirstStartOfLog + start : kNoStep;
  }
  std::int32_t number = kNoStep;
  if (!absl::SimpleAtoi(ToAbsl(slurm_step), &number)) return kNoStep;
  return number;
}

std::string StepText(std::int32_t slurm_step) {
  if (slurm_step == kBatchStep) return "batch";
  if (slurm_step == kExternStep) return "extern";
  if (slurm_step == kInteractiveStep) return "interactive";
  return slurm_step < 0 ? "" : std::to_string(slurm_step);
}

StepBlock StoredSteps::Add(StepBlockRow row, std::int32_t source, Ns shift) {
  StepBlock block;
  const auto mark = [&](const PackedStep& step) {
    return StepMark{step.t_ns + shift,
                    step.step,
                    StepCode(row.slurm_step),
                    static_cast<std::int32_t>(step.task),
                    {source, step.offset}};
  };
  block.first = mark(row.first);
  block.last = mark(row.last);
  block.stride = row.stride;
  block.durations = std::move(row.durations);
  block.key = static_cast<std::int64_t>(blocks_.size());
  row.durations = DurationHistogram();
  blocks_.push_back({std::move(row), source, shift});
  return block;
}

std::vector<StepMark> StoredSteps::Read(const StepBlock& block) const {
  std::vector<StepMark> marks;
  const Stored& stored = blocks_[static_cast<std::size_t>(block.key)];
  const absl::StatusOr<std::vector<PackedStep>> steps = LoadStepsOfBlock(db_, stored.row);
  if (!steps.ok()) return marks;
  marks.reserve(steps->size());
  for (const PackedStep& step : *steps) {
    marks.push_back({step.t_ns + stored.shift,
                     step.step,
                     block.first.slurm_step,
                     block.first.task,
                     {stored.source, step.offset}});
  }
  return marks;
}

}  // namespace goodput
