#include "tools/goodputd/checkpoints/checkpoint_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {
namespace {

constexpr std::int64_t kCostFactor = 100;
constexpr std::int64_t kLookForJobsMs = 1000;
constexpr int kMaxAbandoned = 16;
constexpr std::size_t kMaxWatched = 64;

// One directory of one job.
class Watch {
 public:
  Watch(const Config& config, const NodeJobs::WatchedJob& watched, AbandonedHelpers& abandoned, int stop_fd)
      : config_(config),
        name_(Cat("job ", watched.job->job, ": checkpoint directory ", watched.checkpoint_dir)),
        spools_(config.spool, static_cast<std::uint64_t>(config.spool_max), geteuid(), kSystemClock),
        news_(*watched.job, [this](const std::string& node,
                                   std::string_view record) { return spools_.Write(node, record); }),
        over_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        stop_fd_(stop_fd) {
    HelperProcess::Options options;
    options.name = std::string(kScanHelper);
    options.arguments = {watched.checkpoint_dir, Cat(watched.job->job), Cat(watched.pid)};
    options.user = HelperUser{watched.job->uid, watched.job->gid};
    options.abandoned = &abandoned;
    options.hurry_fd = stop_fd;
    helper_ = std::make_unique<HelperProcess>(std::move(options));
    thread_ = std::thread([this] { Run(); });
  }
  ~Watch() {
    End();
    thread_.join();
    close(over_fd_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The job's tasks are gone: one look more.
  void End() const {
    const std::uint64_t one = 1;
    if (write(over_fd_, &one, sizeof(one)) < 0) return;
  }
  bool done() const { return done_; }

 private:
  void Run() {
    const std::int64_t interval = absl::ToInt64Nanoseconds(config_.checkpoint_scan);
    std::array<pollfd, 2> ends{{{stop_fd_, POLLIN, 0}, {over_fd_, POLLIN, 0}}};
    bool last = false;
    while (true) {
      const std::int64_t took = Look();
      if (last) break;
      const std::int64_t wait = std::max(interval, kCostFactor * took);
      last = poll(ends.data(), ends.size(), static_cast<int>(wait / 1'000'000)) != 0;
    }
    done_ = true;
  }

  std::int64_t Look() {
    const absl::StatusOr<std::string> answer = helper_->Call("look");
    if (!answer.ok()) {
      trouble_.Say(Cat(name_, ": ", Message(answer.status())));
      return 0;
    }
    const absl::StatusOr<ScanResult> result = DecodeScan(*answer);
    if (!result.ok()) {
      trouble_.Say(Cat(name_, ": ", Message(result.status())));
      return 0;
    }
    trouble_.Say(result->problem.empty() ? "" : Cat(name_, ": ", result->problem, ", as the job's user"));
    news_.Take(result->found);
    return result->took_ns;
  }

  const Config& config_;
  std::string name_;
  NodeSpools spools_;
  CheckpointNews news_;
  std::unique_ptr<HelperProcess> helper_;
  Complaint trouble_;
  int over_fd_;
  int stop_fd_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

void CheckpointNews::Take(const std::vector<CheckpointSeen>& found) {
  for (const CheckpointSeen& seen : found) {
    if (seen.begin_ns < job_.since_ns) continue;
    Told& told = told_[seen.name];
    if (told.begin_ns != seen.begin_ns) {
      Write(seen, true, seen.begin_ns);
      told = {seen.begin_ns, false};
    }
    if (seen.complete_ns && !told.complete) {
      Write(seen, false, *seen.complete_ns);
      told.complete = true;
    }
  }
}

void CheckpointNews::Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns) {
  const std::int64_t ago = clock_.real_ns() - t_ns;
  RecordBuilder record(kind::kCheckpoint,
                       {t_ns, clock_.mono_ns() - ago, job_.node, static_cast<int>(getpid())});
  if (!job_.cluster.empty()) record.Text(key::kCluster, job_.cluster);
  record.Int(key::kJob, job_.job);
  record.Uint(key::kUid, job_.uid);
  if (job_.restart) record.Int(key::kRestart, *job_.restart);
  if (job_.job_start_s) record.Int(key::kJobStart, *job_.job_start_s);
  if (!job_.sluid.empty()) record.Text(key::kSluid, job_.sluid);
  record.Text(key::kEdge, begin ? "begin" : "end");
  record.Int(key::kTrainStep, seen.train_step);
  record.Text(key::kName, seen.name);
  record.Text(key::kLayout, seen.layout);
  store_(job_.node, record.Finish());
}

void RunCheckpointWatch(const Config& config, int stop_fd) {
  NodeJobs jobs(config.spool);
  AbandonedHelpers abandoned(kMaxAbandoned);
  using Key = std::pair<std::string, std::pair<std::int64_t, std::int64_t>>;  // node, job, since
  std::map<Key, std::unique_ptr<Watch>> watches;
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    jobs.Refresh();
    std::set<Key> live;
    for (const NodeJobs::WatchedJob& watched : jobs.CheckpointJobs()) {
      const Key key{watched.job->node, {watched.job->job, watched.job->since_ns}};
      live.insert(key);
      if (watches.count(key) == 0 && watches.size() < kMaxWatched)
        watches[key] = std::make_unique<Watch>(config, watched, abandoned, stop_fd);
    }
    for (auto at = watches.begin(); at != watches.end();) {
      if (live.count(at->first) == 0) at->second->End();
      at = at->second->done() ? watches.erase(at) : std::next(at);
    }
  } while (poll(&stop, 1, kLookForJobsMs) == 0);
}

}  // namespace goodput
