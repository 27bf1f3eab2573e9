#include "tools/goodputd/output/output_news.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/time.h"
#include "tools/goodputd/job_record.h"

namespace goodput {

absl::Status OutputNews::RecordSink::Step(Ns t, std::int64_t step, const Speaker& /*speaker*/,
                                          std::int64_t /*offset*/) {
  news_.Write(t, "step", true, step, "");
  return absl::OkStatus();
}

absl::Status OutputNews::RecordSink::Mark(const LogMark& mark, const Speaker& speaker,
                                          std::int64_t /*offset*/) {
  const std::string_view what = mark.kind == PackedMark::Kind::kCheckpoint ? "checkpoint"
                                : mark.kind == PackedMark::Kind::kRestore  ? "restore"
                                                                           : "phase";
  news_.Write(mark.t, what, mark.begin, mark.step, mark.name, speaker.task);
  return absl::OkStatus();
}

absl::Status OutputNews::RecordSink::StepEnd(Ns t, std::int64_t step, const Speaker& /*speaker*/,
                                             std::int64_t /*offset*/) {
  news_.Write(t, "step", false, step, "");
  return absl::OkStatus();
}

absl::Status OutputNews::RecordSink::Stop(Ns t, const Speaker& /*speaker*/, std::int64_t /*offset*/) {
  news_.Write(t, "stop", true, std::nullopt, "");
  return absl::OkStatus();
}

absl::Status OutputNews::RecordSink::Collective(const LogCollective& collective, const Speaker& /*speaker*/,
                                                std::int64_t /*offset*/) {
  const NodeJob& job = news_.job_;
  JobMarkRecord record(kind::kCollective, job, news_.slurm_step_,
                       StampAtReal(news_.clock_, job.node, collective.t));
  record.Int(key::kBytes, collective.bytes);
  record.Int(key::kAlgbw, collective.algbw);
  record.Int(key::kBusbw, collective.busbw);
  if (collective.first) record.Text(key::kEdge, "begin");
  if (!collective.hosts.empty()) record.Text(key::kHosts, collective.hosts, Worth::kFreeText);
  news_.records_.emplace_back(record.Finish());
  return absl::OkStatus();
}

void OutputNews::Write(std::int64_t t_ns, std::string_view mark, bool begin, std::optional<std::int64_t> step,
                       std::string_view name, std::int64_t task) {
  JobMarkRecord record(kind::kMark, job_, slurm_step_, StampAtReal(clock_, job_.node, t_ns));
  record.Int(key::kTask, task);
  record.Text(key::kMark, mark);
  record.Text(key::kEdge, begin ? "begin" : "end");
  if (step) record.Int(key::kTrainStep, *step);
  if (!name.empty()) record.Text(key::kName, name);
  record.Text(key::kProfile, profile_);
  records_.emplace_back(record.Finish());
}

void OutputNews::Take(const OutputFollower::Found& found, const NodeJobs::TrainingStep& training) {
  files_ = found.files;
  profile_ = found.profile;
  // Another srun: the program was started anew.
  if (!slurm_step_.empty() && slurm_step_ != training.slurm_step && !found.events.empty())
    static_cast<void>(fold_.End(found.events.front().t_ns));
  slurm_step_ = training.slurm_step;
  for (const OutputFollower::Event& said : found.events) {
    if (!problem_.empty()) return;
    const absl::Status status = fold_.Take(said.event, said.t_ns, said.began_ns, said.offset, said.late_ns);
    problem_ = status.ok() ? "" : Message(status);
    TakeTask(said);
  }
}

// Several tasks say when they have done the same steps: which of them others wait for (timeline/rank_wait.h).
void OutputNews::TakeTask(const OutputFollower::Event& said) {
  const LogEvent& event = said.event;
  if (event.kind != LogEvent::Kind::kStepEnd || !event.step || !event.task || *event.task > kMostRank) return;
  const auto [known, fresh] = tasks_.try_emplace(*event.task);
  if (fresh && tasks_.size() > RankBudget::kMostRanks) {
    tasks_.erase(known);
    return;
  }
  const LastLine before = std::exchange(known->second, {*event.step, said.t_ns});
  const std::int64_t steps = *event.step - before.step;
  if (fresh || steps <= 0) return;
  budget_.See(*event.task, Seconds(said.t_ns - before.t_ns));
  if (tasks_.size() < 2 || *event.step / steps % budget_.every() != 0) return;
  Write(said.t_ns, "step", false, event.step, kOfRank, *event.task);
}

void OutputNews::End(const NodeJobs::TrainingStep& training) {
  if (!problem_.empty()) return;
  const std::int64_t now = clock_.real_ns();
  const std::int64_t ago = training.end_mono_ns ? clock_.mono_ns() - *training.end_mono_ns : 0;
  static_cast<void>(fold_.End(now - ago));
}

std::string OutputNews::Memory() const {
  std::string text = Cat(job_.since_ns, " ", slurm_step_.empty() ? "-" : slurm_step_, " ");
  const std::optional<LogFold::Memory> memory = fold_.memory();
  text += memory ? Cat(memory->steps_done, ":", memory->done_at, ":", memory->stride) : "-";
  for (const FileMark& mark : files_) text += Cat(" ", mark.device, ":", mark.inode, ":", mark.offset);
  return text;
}

std::vector<FileMark> OutputNews::Remember(std::string_view memory) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(ToAbsl(memory), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  std::int64_t since = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[0], &since) || since != job_.since_ns) return {};
  std::vector<FileMark> files;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(words[i], ':');
    FileMark mark;
    if (numbers.size() == 3 && absl::SimpleAtoi(numbers[0], &mark.device) &&
        absl::SimpleAtoi(numbers[1], &mark.inode) && absl::SimpleAtoi(numbers[2], &mark.offset))
      files.push_back(mark);
  }
  LogFold::Memory steps;
  const std::vector<absl::string_view> numbers = absl::StrSplit(words[2], ':');
  if (numbers.size() == 3 && absl::SimpleAtoi(numbers[0], &steps.steps_done) &&
      absl::SimpleAtoi(numbers[1], &steps.done_at) && absl::SimpleAtoi(numbers[2], &steps.stride))
    fold_.Remember(steps);
  if (words[1] != "-") slurm_step_ = std::string(words[1]);
  files_ = files;
  return files;
}

}  // namespace goodput
