#include "tools/goodputd/checkpoints/checkpoint_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/job_threads.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/polling.h"

namespace goodput {
namespace {

constexpr std::int64_t kCostFactor = 100;
// Minimum time between two looks after changes, unless the configuration asks for more frequent ones.
constexpr std::int64_t kMinLookNs = 1'000'000'000;
// Maximum number of names to track for a job.
constexpr std::size_t kMaxTold = 50'000;
constexpr std::size_t kMaxWatched = 64;

// One directory of one job.
class FolderOfJob {
 public:
  FolderOfJob(const Config& config, const NodeJobs::WatchedJob& watched, AbandonedHelpers& abandoned,
              int stop_fd)
      : config_(config),
        name_(Cat("job ", watched.job->job, ": checkpoint directory ", watched.checkpoint_dir)),
        spools_(config.spool, static_cast<std::uint64_t>(config.spool_max), geteuid(), kSystemClock),
        news_(*watched.job, [this](const std::string& node,
                                   std::string_view record) { return spools_.Write(node, record); }),
        tasks_(watched.tasks),
        thread_(stop_fd) {
    HelperProcess::Options options;
    options.name = std::string(kScanHelper);
    options.arguments = {watched.checkpoint_dir, Cat(watched.job->job), Cat(watched.pid),
                         Cat(watched.job->since_ns)};
    options.user = HelperUser{watched.job->uid, watched.job->gid, true};
    options.abandoned = &abandoned;
    options.hurry_fd = stop_fd;
    helper_ = std::make_unique<HelperProcess>(std::move(options));
    thread_.Begin([this] { Run(); });
  }

  // Steps start and end.
  void Update(const NodeJobs::WatchedJob& watched) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_ = watched.tasks;
  }
  // The job's tasks have ended: scans for the last time.
  void End() const { thread_.End(); }
  bool done() const { return thread_.done(); }

 private:
  void Run() {
    const std::int64_t interval = absl::ToInt64Nanoseconds(config_.checkpoint_scan);
    while (true) {
      const std::int64_t began = kSystemClock.mono_ns();
      Look();
      if (last_) return;
      const std::int64_t rest = kCostFactor * took_ns_;
      WaitUntil(began + std::max(interval, rest), began + std::max(std::min(interval, kMinLookNs), rest));
    }
  }

  // Waits until the next look: after a change, from `changes_count` on, otherwise at `due`.
  void WaitUntil(std::int64_t due, std::int64_t changes_count) {
    bool changed = false;
    while (!last_) {
      const std::int64_t now = kSystemClock.mono_ns();
      if (now >= due || (changed && now >= changes_count)) return;
      if (!watched_) {
        Pause(due - now);
      } else if (now < changes_count) {
        // Changes during this pause are reported afterwards.
        Pause(changes_count - now);
      } else {
        const absl::StatusOr<std::string> answer = helper_->Call(kWaitRequest);
        watched_ = answer.ok();
        changed = answer.ok() && *answer == "changed";
        Pause(0);
      }
    }
  }

  void Pause(std::int64_t ns) {
    if (thread_.Wait(ns) != JobThread::Woken::kTimeIsOver) last_ = true;
  }

  void Look() {
    took_ns_ = 0;
    watched_ = false;
    const std::int64_t looked_ns = kSystemClock.real_ns();
    const absl::StatusOr<std::string> answer = helper_->Call(LookRequest());
    if (!answer.ok()) return CannotLook(Message(answer.status()));
    const absl::StatusOr<ScanResult> result = DecodeScan(*answer);
    if (!result.ok()) return CannotLook(Message(result.status()));
    news_.Saw(result->view, result->problem);
    trouble_.Say(result->problem.empty() ? "" : Cat(name_, ": ", result->problem, " (as the job's user)"));
    news_.Take(result->found, result->whole, looked_ns);
    took_ns_ = result->took_ns;
    watched_ = result->watched;
  }

  void CannotLook(const std::string& why) {
    trouble_.Say(Cat(name_, ": ", why));
    news_.Saw("", why);
  }
  std::string LookRequest() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string request(kLookRequest);
    for (const pid_t task : tasks_) request += Cat(" ", task);
    return request;
  }

  const Config& config_;
  std::string name_;
  NodeSpools spools_;
  CheckpointNews news_;
  std::unique_ptr<HelperProcess> helper_;
  Complaint trouble_;
  bool last_ = false;  // the job's tasks have ended, or the daemon stops: scan for the last time
  bool watched_ = false;
  std::int64_t took_ns_ = 0;
  std::mutex mutex_;
  std::vector<pid_t> tasks_;
  JobThread thread_;
};

}  // namespace

void CheckpointNews::Take(const std::vector<CheckpointSeen>& found, bool whole, std::int64_t looked_ns) {
  ++looks_;
  for (const CheckpointSeen& seen : found) {
    const auto known = told_.find(seen.name);
    if (known == told_.end() && told_.size() >= kMaxTold) continue;
    Told& told = known == told_.end() ? told_[seen.name] : known->second;
    // Another entry with the same name: a new save.
    if (told.id != 0 && seen.id != 0 && told.id != seen.id) told = Told{};
    if (seen.id != 0) told.id = seen.id;
    told.look = looks_;
    if (seen.complete_ns) {
      TakeComplete(seen, told);
    } else if (told.complete) {
      // It is being removed or overwritten; only its completion will tell.
      if (told.reopened_ns == 0) told.reopened_ns = std::max(seen.written_ns, told.complete_ns);
    } else if (told.begin_ns == 0 && seen.begin_ns >= job_.since_ns) {
      Write(seen, true, told.begin_ns = seen.begin_ns);
    }
  }
  if (!whole) return;
  looked_ns_ = looked_ns;
  // A name that vanished incomplete and reappears has begun again. Complete ones stay known, since they may
  // only be missing for a moment.
  for (auto at = told_.begin(); at != told_.end();) {
    at = at->second.look != looks_ && !at->second.complete ? told_.erase(at) : std::next(at);
  }
}

void CheckpointNews::TakeComplete(const CheckpointSeen& seen, Told& told) {
  std::int64_t begin_ns = seen.begin_ns;
  if (told.complete) {
    const bool again = seen.written_ns > told.written_ns;
    if (again) begin_ns = told.reopened_ns != 0 ? told.reopened_ns : *seen.complete_ns;
    told.reopened_ns = 0;
    if (!again) return;
    told.begin_ns = 0;
  }
  told.complete = true;
  told.complete_ns = *seen.complete_ns;
  told.written_ns = seen.written_ns;
  if (*seen.complete_ns < job_.since_ns) return;
  if (told.begin_ns == 0) {
    // When an older entry is rewritten, nothing records when that began.
    if (begin_ns < job_.since_ns) begin_ns = *seen.complete_ns;
    Write(seen, true, told.begin_ns = begin_ns);
  }
  Write(seen, false, *seen.complete_ns);
}

void CheckpointNews::Saw(const std::string& view, const std::string& problem) {
  // A directory that does not exist (now) is not a problem and has no view.
  if ((view == view_ || view.empty()) && problem == problem_) return;
  if (!view.empty()) view_ = view;
  problem_ = problem;
  RecordBuilder record(kind::kCheckpoint, StampOf(clock_.real_ns()));
  AddJob(record);
  if (!view_.empty()) record.Text(key::kView, view_);
  record.Text(key::kProblem, problem_);
  store_(job_.node, record.Finish());
}

Stamp CheckpointNews::StampOf(std::int64_t t_ns) const {
  const std::int64_t ago = clock_.real_ns() - t_ns;
  return {t_ns, clock_.mono_ns() - ago, job_.node, static_cast<int>(getpid())};
}

void CheckpointNews::AddJob(RecordBuilder& record) const {
  if (!job_.cluster.empty()) record.Text(key::kCluster, job_.cluster);
  record.Int(key::kJob, job_.job);
  record.Uint(key::kUid, job_.uid);
  if (job_.restart) record.Int(key::kRestart, *job_.restart);
  if (job_.job_start_s) record.Int(key::kJobStart, *job_.job_start_s);
  if (!job_.sluid.empty()) record.Text(key::kSluid, job_.sluid);
}

std::int64_t CheckpointNews::Earlier(const CheckpointSeen& seen, std::int64_t t_ns) const {
  // If it was seen only once complete, the timeline assumes no begin.
  if (seen.begin_known || t_ns == seen.complete_ns) return 0;
  return std::max<std::int64_t>(0, t_ns - std::max(looked_ns_, job_.since_ns));
}

void CheckpointNews::Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns) {
  RecordBuilder record(kind::kCheckpoint, StampOf(t_ns));
  AddJob(record);
  record.Text(key::kEdge, begin ? "begin" : "end");
  if (const std::int64_t earlier = begin ? Earlier(seen, t_ns) : 0; earlier > 0)
    record.Int(key::kEarlierNs, earlier);
  if (seen.train_step) record.Int(key::kTrainStep, *seen.train_step);
  record.Text(key::kName, seen.name);
  record.Text(key::kLayout, seen.layout);
  store_(job_.node, record.Finish());
}

void RunCheckpointWatch(const Config& config, int stop_fd) {
  NodeJobs jobs(config.spool);
  AbandonedHelpers abandoned(kMostAbandonedOfJobs);
  JobWatchers<FolderOfJob> watches(kMaxWatched);
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    jobs.Refresh();
    watches.Follow(jobs.CheckpointJobs(), [&](const NodeJobs::WatchedJob& watched) {
      return std::make_unique<FolderOfJob>(config, watched, abandoned, stop_fd);
    });
  } while (poll(&stop, 1, kLookForJobsMs) == 0);
}

}  // namespace goodput
