#include "sql/tables/step_store.h"

#include "sql/blocks/varint.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Any two numbers, of which the difference may not fit their type.
std::uint64_t Apart(std::int64_t a, std::int64_t b) {
  const auto difference = static_cast<std::uint64_t>(Minus(a, b));
  return a < b ? ~difference + 1 : difference;
}

}  // namespace

void StepSummary::Add(const PackedStep& step) {
  if (marks_++ == 0) {
    first_ = last_ = step;
    return;
  }
  const PackedStep before = last_;
  if (even_ && step.task == first_.task && step.step == before.step && step.t_ns >= before.t_ns) return;
  last_ = step;
  if (!even_) return;
  const std::int64_t stride = Minus(step.step, before.step);
  const std::int64_t ns = Minus(step.t_ns, before.t_ns);
  even_ = step.task == first_.task && step.step > before.step && stride > 0 && step.t_ns > before.t_ns &&
          ns > 0 && (stride_ == 0 || stride == stride_);
  if (!even_) {
    durations_ = DurationHistogram();
    return;
  }
  stride_ = stride;
  durations_.Add(ns / stride);
}

std::optional<std::int64_t> StepSummary::stride() const {
  if (!even_ || stride_ == 0) return std::nullopt;
  return stride_;
}

void StepStore::OpenBlock::Add(const PackedStep& step) {
  summary.Add(step);
  tail.push_back(step);
  if (tail.size() < kMarksPerFrame) return;
  PackFrame(last_framed, tail, frames);
  last_framed = tail.back();
  tail.clear();
}

absl::StatusOr<StepStore::OpenBlock*> StepStore::BlockFor(std::int64_t job_id, std::string_view slurm_step) {
  Key key{job_id, std::string(slurm_step)};
  const auto found = blocks_.find(key);
  if (found != blocks_.end()) return &found->second;
  OpenBlock block;
  Statement last = db_.Prepare(
      "SELECT seq, clock_ns, data FROM step_block"
      " WHERE source_id = ?1 AND job_id = ?2 AND slurm_step = ?3 ORDER BY seq DESC LIMIT 1");
  last.Bind(1, source_id_).Bind(2, job_id).Bind(3, slurm_step);
  if (last.Step()) {
    block.seq = last.Int(0);
    block.clock_ns = last.OptionalInt(1);
    std::vector<PackedStep> steps;
    const std::string_view data = last.Bytes(2);
    if (!UnpackSteps(data, steps))
      return absl::DataLossError(Cat(db_.path(), ": a step block of job ", job_id, " is damaged"));
    for (const PackedStep& step : steps) block.summary.Add(step);
    // What full frames hold need not be packed again.
    const std::size_t in_frames = steps.size() / kMarksPerFrame * kMarksPerFrame;
    block.frames = data.substr(0, FullFrames(data));
    if (in_frames > 0) block.last_framed = steps[in_frames - 1];
    block.tail.assign(steps.begin() + static_cast<std::ptrdiff_t>(in_frames), steps.end());
  }
  if (!last.status().ok()) return last.status();
  return &blocks_.emplace(std::move(key), std::move(block)).first->second;
}

absl::Status StepStore::Store(const Key& key, OpenBlock& block) {
  if (!block.changed) return absl::OkStatus();
  if (!store_) {
    store_ = db_.Prepare(
        "INSERT OR REPLACE INTO step_block (source_id, job_id, slurm_step, seq, marks, first_t_ns, last_t_ns,"
        " first_step, last_step, task, first_offset, last_offset, clock_ns, stride, durations, data)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)");
  }
  const StepSummary& summary = block.summary;
  const std::optional<std::int64_t> stride = summary.stride();
  std::string data = block.frames;
  PackFrame(block.last_framed, block.tail, data);
  Statement& store = *store_;
  store.Bind(1, source_id_).Bind(2, key.first).Bind(3, key.second).Bind(4, block.seq);
  store.Bind(5, summary.marks()).Bind(6, summary.first().t_ns).Bind(7, summary.last().t_ns);
  store.Bind(8, summary.first().step).Bind(9, summary.last().step).Bind(10, summary.first().task);
  store.Bind(11, summary.first().offset).Bind(12, summary.last().offset).Bind(13, block.clock_ns);
  store.Bind(14, stride).BindBlob(16, data);
  if (stride) {
    store.BindBlob(15, summary.durations().Encode());
  } else {
    store.BindNull(15);
  }
  block.changed = false;
  return store.Run();
}

absl::Status StepStore::Append(std::int64_t job_id, std::string_view slurm_step, const PackedStep& step,
                               std::optional<std::int64_t> clock_ns) {
  ASSIGN_OR_RETURN(OpenBlock * found, BlockFor(job_id, slurm_step));
  OpenBlock& block = *found;
  const bool clock_was_set = block.summary.marks() > 0 && block.clock_ns && clock_ns &&
                             Apart(*clock_ns, *block.clock_ns) > kClockStepNs;
  if (block.summary.marks() >= kMarksPerBlock || clock_was_set) {
    RETURN_IF_ERROR(Store({job_id, std::string(slurm_step)}, block));
    const std::int64_t next = block.seq + 1;
    block = OpenBlock{};
    block.seq = next;
  }
  if (block.summary.marks() == 0) block.clock_ns = clock_ns;
  block.Add(step);
  block.changed = true;
  return absl::OkStatus();
}

absl::Status StepStore::Flush() {
  for (auto& [key, block] : blocks_) {
    if (absl::Status status = Store(key, block); !status.ok()) return status;
  }
  blocks_.clear();
  return absl::OkStatus();
}

}  // namespace goodput
