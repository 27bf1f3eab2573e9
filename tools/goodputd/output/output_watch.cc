#include "tools/goodputd/output/output_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/job_threads.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/output/follow_helper.h"
#include "tools/goodputd/polling.h"

namespace goodput {
namespace {

// A line without a time gets the time of the look that found it.
constexpr std::int64_t kLookEveryNs = 200'000'000;
// A look is followed by a pause of this many times its processor time, so that a job that prints constantly
// costs a twentieth of a processor.
constexpr std::int64_t kRestPerWork = 20;
constexpr std::size_t kMaxFollowed = 64;
constexpr int kMaxLastLooks = static_cast<int>(OutputFollower::kMaxBehind / OutputFollower::kMaxBytes);
// Between two looks while there is more to read.
constexpr std::int64_t kBreathNs = 5'000'000;

std::string NoteName(const NodeJob& job) {
  return Cat("follow.", job.job);
}

// The node's jobs, shared by all threads that follow output.
class SharedJobs {
 public:
  explicit SharedJobs(const std::string& spool) : jobs_(spool) {}
  std::vector<NodeJobs::OutputJob> Outputs() {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.Refresh();
    return jobs_.OutputJobs();
  }
  // Current, since a step's record is written before its tasks can print.
  NodeJobs::TrainingStep TrainingStepOf(const NodeJob& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.Refresh();
    return jobs_.TrainingStepOf(job);
  }

 private:
  std::mutex mutex_;
  NodeJobs jobs_;
};

// One job.
class OutputOfJob {
 public:
  OutputOfJob(const Config& config, const NodeJobs::OutputJob& output, SharedJobs& jobs,
              AbandonedHelpers& abandoned, int stop_fd)
      : job_(*output.job),
        name_(Cat("job ", output.job->job, ": output")),
        jobs_(jobs),
        spools_(config.spool, static_cast<std::uint64_t>(config.spool_max), geteuid(), kSystemClock,
                std::string(kLogLabel)),
        news_(*output.job),
        thread_(stop_fd) {
    FollowOrder order;
    order.log_profile = output.log_profile;
    order.site_profiles = config.log_profiles;
    order.checkpoint_dir = output.checkpoint_dir;
    order.job = output.job->job;
    for (const pid_t pid : {output.batch_pid, output.task_pid}) {
      if (pid != 0) order.pids.push_back(pid);
    }
    order.since_ns = output.job->since_ns;
    order.resume = news_.Remember(spools_.GetNote(job_.node, NoteName(job_)));
    HelperProcess::Options options;
    options.name = std::string(kFollowHelper);
    options.arguments = ToArguments(order);
    options.user = HelperUser{output.job->uid, output.job->gid, true};
    options.abandoned = &abandoned;
    options.hurry_fd = stop_fd;
    helper_ = std::make_unique<HelperProcess>(std::move(options));
    thread_.Begin([this] { Run(); });
  }

  void Update(const NodeJobs::OutputJob& /*output*/) const {}
  // The job's tasks are gone: reads the rest and ends.
  void End() const { thread_.End(); }
  bool done() const { return thread_.done(); }

 private:
  void Run() {
    auto woken = JobThread::Woken::kTimeIsOver;
    while (woken == JobThread::Woken::kTimeIsOver) {
      const bool more = Look("more");
      woken = thread_.Wait(std::max(more ? kBreathNs : kLookEveryNs, kRestPerWork * cpu_ns_));
    }
    // When the daemon stops, the next one continues with the job.
    if (woken == JobThread::Woken::kDaemonStops) return;
    for (int looks = 0; looks < kMaxLastLooks && Look("last"); ++looks) {
    }
    news_.End(jobs_.TrainingStepOf(job_));
    Write();
    spools_.DropNote(job_.node, NoteName(job_));
  }

  // True: there is more.
  bool Look(std::string_view what) {
    const absl::StatusOr<std::string> answer = helper_->Call(what);
    const absl::StatusOr<FollowAnswer> decoded =
        answer.ok() ? DecodeFound(*answer) : absl::StatusOr<FollowAnswer>(answer.status());
    if (!decoded.ok()) {
      trouble_.Say(Cat(name_, ": ", Message(decoded.status())));
      return false;
    }
    const OutputFollower::Found& found = decoded->found;
    cpu_ns_ = found.cpu_ns;
    std::string problem = decoded->problem;
    if (problem.empty() && found.skipped_bytes > 0)
      problem = Cat("grows too fast to follow: skipped ", found.skipped_bytes, " bytes");
    trouble_.Say(problem.empty() ? "" : Cat(name_, ": ", problem));
    const bool news = !found.events.empty();
    if (news) news_.Take(found, jobs_.TrainingStepOf(job_));
    if (news) Write();
    return found.more;
  }

  // First the records, then the position: a daemon that dies in between leaves a gap of one look, which the
  // next step's number closes; the other order would count lines twice.
  void Write() {
    if (!spools_.PutNote(job_.node, NoteName(job_), news_.Memory()))
      spools_.DropNote(job_.node, NoteName(job_));
    for (const std::string& record : news_.Records()) spools_.Write(job_.node, record);
  }

  const NodeJob job_;
  std::string name_;
  SharedJobs& jobs_;
  NodeSpools spools_;
  OutputNews news_;
  std::unique_ptr<HelperProcess> helper_;
  Complaint trouble_;
  std::int64_t cpu_ns_ = 0;  // of the last look, in the child
  JobThread thread_;
};

}  // namespace

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
  RecordBuilder record(kind::kCollective, news_.StampOf(collective.t));
  news_.Identify(record);
  record.Int(key::kBytes, collective.bytes);
  record.Int(key::kAlgbw, collective.algbw);
  record.Int(key::kBusbw, collective.busbw);
  news_.records_.emplace_back(record.Finish());
  return absl::OkStatus();
}

Stamp OutputNews::StampOf(std::int64_t t_ns) const {
  const std::int64_t ago = clock_.real_ns() - t_ns;
  return {t_ns, clock_.mono_ns() - ago, job_.node, static_cast<int>(getpid())};
}

void OutputNews::Identify(RecordBuilder& record) const {
  if (!job_.cluster.empty()) record.Text(key::kCluster, job_.cluster);
  record.Int(key::kJob, job_.job);
  record.Uint(key::kUid, job_.uid);
  record.Text(key::kSlurmStep, slurm_step_);
}

void OutputNews::Write(std::int64_t t_ns, std::string_view mark, bool begin, std::optional<std::int64_t> step,
                       std::string_view name, std::int64_t task) {
  RecordBuilder record(kind::kMark, StampOf(t_ns));
  Identify(record);
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
  // Another srun: the program was restarted.
  if (!slurm_step_.empty() && slurm_step_ != training.slurm_step && !found.events.empty())
    static_cast<void>(fold_.End(found.events.front().t_ns));
  slurm_step_ = training.slurm_step;
  for (const OutputFollower::Event& said : found.events)
    static_cast<void>(fold_.Take(said.event, said.t_ns, said.began_ns, said.offset, said.late_ns));
}

void OutputNews::End(const NodeJobs::TrainingStep& training) {
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

void RunOutputWatch(const Config& config, int stop_fd) {
  SharedJobs jobs(config.spool);
  AbandonedHelpers abandoned(kMostAbandonedOfJobs);
  JobWatchers<OutputOfJob> watches(kMaxFollowed);
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    watches.Follow(jobs.Outputs(), [&](const NodeJobs::OutputJob& output) {
      return std::make_unique<OutputOfJob>(config, output, jobs, abandoned, stop_fd);
    });
  } while (poll(&stop, 1, kLookForJobsMs) == 0);
}

}  // namespace goodput
