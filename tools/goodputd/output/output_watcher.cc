#include "tools/goodputd/output/output_watcher.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/text.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/output/follow_helper.h"
#include "tools/goodputd/output/output_news.h"

namespace goodput {
namespace {

// Measured with all log profiles compiled and their examples matched: 10.4 MiB of its own.
constexpr std::int64_t kFollowHelperBytes = std::int64_t{12} << 20U;
// A line without a time has that of the look which found it.
constexpr std::int64_t kLookEveryNs = 200'000'000;
// A look is followed by a pause so many times as long as it worked: a job that prints without end costs a
// twentieth of a processor.
constexpr std::int64_t kRestPerWork = 20;
constexpr int kMaxLastLooks = static_cast<int>(OutputFollower::kMaxBehind / OutputFollower::kMaxBytes);
// Between two looks where there is more to read.
constexpr std::int64_t kBreathNs = 5'000'000;

class OutputOfJob : public JobWatcher {
 public:
  OutputOfJob(const NodeContext& node, const NodeJobs::OutputJob& output, EndedOutputs& ended, Clock clock)
      : job_(*output.job),
        name_(Cat("job ", job_.job, ": output")),
        note_(Cat("follow.", job_.job)),
        jobs_(node.jobs),
        progress_(node.progress),
        spools_(node.log_spools),
        ended_(ended),
        news_(job_, clock),
        clock_(clock) {
    order_.log_profile = output.log_profile;
    order_.site_profiles = node.config.log_profiles;
    order_.checkpoint_dir = output.checkpoint_dir;
    order_.job = job_.job;
    for (const pid_t pid : {output.batch_pid, output.task_pid}) {
      if (pid != 0) order_.pids.push_back(pid);
    }
    order_.since_ns = job_.since_ns;
    order_.resume = news_.Remember(spools_.GetNote(job_.node, note_));
    order_.ended = ended_.Of(job_.uid);
  }

  std::string helper_name() const override { return std::string(kFollowHelper); }
  std::int64_t helper_bytes() const override { return kFollowHelperBytes; }
  std::vector<std::string> HelperArguments() override { return ToArguments(order_); }
  void JobEnded() override { last_looks_ = kMaxLastLooks; }
  void DaemonStops() override { finished_ = true; }

  std::optional<Question> Next(std::int64_t now_ns) override {
    if (finished_) return std::nullopt;
    if (last_looks_ > 0) return Question{"last", now_ns, false};
    return Question{"more", next_ns_, false};
  }

  void Take(const absl::StatusOr<std::string>& answer) override {
    const bool more = TakeLook(answer);
    next_ns_ = clock_.mono_ns() + std::max(more ? kBreathNs : kLookEveryNs, kRestPerWork * cpu_ns_);
    if (last_looks_ == 0) return;
    if (more && --last_looks_ > 0) return;
    news_.End(jobs_.TrainingStepOf(job_));
    Write();
    spools_.DropNote(job_.node, note_);
    ended_.Add(job_.uid, order_.resume);
    finished_ = true;
  }

 private:
  // True: there is more.
  bool TakeLook(const absl::StatusOr<std::string>& answer) {
    const absl::StatusOr<FollowAnswer> decoded = answer.ok() ? DecodeFound(*answer) : answer.status();
    if (!decoded.ok()) {
      trouble_.Say(Cat(name_, ": ", Message(decoded.status())));
      return false;
    }
    const OutputFollower::Found& found = decoded->found;
    cpu_ns_ = found.cpu_ns;
    // A helper that is started again continues there.
    if (!found.files.empty()) order_.resume = found.files;
    std::string problem = decoded->problem;
    if (problem.empty() && found.skipped_bytes > 0)
      problem = Cat("grows too fast to follow: skipped ", found.skipped_bytes, " bytes");
    if (!found.events.empty()) {
      NoteProgress(found);
      // As of now: a step's record is written before its tasks can print.
      jobs_.Refresh();
      TakeEvents(found);
      Write();
    }
    if (problem.empty()) problem = news_.problem();
    trouble_.Say(problem.empty() ? "" : Cat(name_, ": ", problem));
    return found.more;
  }

  // srun forwards only complete lines: the states of a progress bar arrive at its end, when the next srun may
  // run.
  void TakeEvents(const OutputFollower::Found& found) {
    using Event = OutputFollower::Event;
    const Moment now = ReadMoment(clock_);
    const std::int64_t offset = now.mono_ns - now.real_ns;
    std::map<std::int64_t, std::pair<NodeJobs::TrainingStep, std::vector<Event>>> of_steps;  // by begin
    for (const Event& event : found.events) {
      const NodeJobs::TrainingStep step = jobs_.TrainingStepAt(job_, event.t_ns - event.late_ns + offset);
      of_steps.try_emplace(step.begin_mono_ns, step, std::vector<Event>())
          .first->second.second.push_back(event);
    }
    OutputFollower::Found part = found;
    for (auto& [begin, events] : of_steps) {
      part.events = std::move(events.second);
      news_.Take(part, events.first);
    }
  }

  void NoteProgress(const OutputFollower::Found& found) const {
    if (progress_ == nullptr) return;
    const bool step = std::any_of(found.events.begin(), found.events.end(), [](const auto& said) {
      return said.event.kind == LogEvent::Kind::kStepEnd || said.event.kind == LogEvent::Kind::kStepBegin;
    });
    progress_->Note({job_.node, job_.job}, step, clock_.mono_ns());
  }

  // First what was read, then what follows from it: a daemon that dies between the two leaves a gap of one
  // look, which the next step's number closes; the other way round lines would count twice.
  void Write() {
    if (!spools_.PutNote(job_.node, note_, news_.Memory())) spools_.DropNote(job_.node, note_);
    for (const std::string& record : news_.Records()) spools_.Write(job_, record);
  }

  const NodeJob job_;
  std::string name_;
  std::string note_;
  NodeJobs& jobs_;
  JobProgress* progress_;
  NodeSpools& spools_;
  EndedOutputs& ended_;
  OutputNews news_;
  Clock clock_;
  FollowOrder order_;
  Complaint trouble_;
  std::int64_t cpu_ns_ = 0;  // of the last look, in the child
  std::int64_t next_ns_ = 0;
  int last_looks_ = 0;  // left; 0: the job's tasks run
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<JobWatcher> MakeOutputWatcher(const NodeContext& node, const NodeJobs::OutputJob& output,
                                              EndedOutputs& ended, Clock clock) {
  return std::make_unique<OutputOfJob>(node, output, ended, clock);
}

}  // namespace goodput
