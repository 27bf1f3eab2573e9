#include "tools/goodputd/checkpoints/checkpoint_watcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sql/text.h"
#include "tools/goodputd/checkpoints/checkpoint_news.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/look_cost.h"

namespace goodput {
namespace {

// Measured: 2 MiB of its own.
constexpr std::int64_t kScanHelperBytes = std::int64_t{3} << 20U;
constexpr std::int64_t kCostFactor = 100;
// Two looks because of changes are at least so far apart, unless the user wants them more often anyway.
constexpr std::int64_t kMinLookNs = 1'000'000'000;

class CheckpointFolder : public CheckpointWatcher {
 public:
  CheckpointFolder(const NodeContext& node, NodeJobs::WatchedJob watched, Clock clock)
      : interval_ns_(absl::ToInt64Nanoseconds(node.config.checkpoint_scan)),
        job_(std::move(watched)),
        name_(Cat("job ", job_.job->job, ": checkpoint directory ", job_.checkpoint_dir)),
        news_(*job_.job, node.spools.store(), clock),
        clock_(clock) {}

  void SetTasks(const std::vector<pid_t>& tasks) override { job_.tasks = tasks; }
  std::string helper_name() const override { return std::string(kScanHelper); }
  std::int64_t helper_bytes() const override { return kScanHelperBytes; }
  std::vector<std::string> HelperArguments() override {
    return {job_.checkpoint_dir, Cat(job_.job->job), Cat(job_.pid), Cat(job_.job->since_ns)};
  }
  void JobEnded() override { ending_ = true; }
  void DaemonStops() override { ending_ = true; }
  // What changes meanwhile is noticed by the next look.
  void HelperIsGone() override { sees_changes_ = false; }

  std::optional<Question> Next(std::int64_t now_ns) override {
    if (finished_) return std::nullopt;
    std::int64_t due = due_ns_;
    if (ending_) {
      due = now_ns;
    } else if (changed_) {
      due = std::min(due, change_due_ns_);
    } else if (sees_changes_ && wait_ns_ < due_ns_ && now_ns < due_ns_) {
      // What happens before that is there to be noticed then.
      looks_ = false;
      return Question{std::string(kWaitRequest), wait_ns_, true};
    }
    looks_ = true;
    looks_last_ = ending_;
    return Question{LookRequest(), due, false};
  }

  void Take(const absl::StatusOr<std::string>& answer) override {
    if (!looks_) {
      sees_changes_ = answer.ok();
      changed_ = answer.ok() && (*answer == "changed" || *answer == kCreatedAnswer);
      // What it cost to search for it says nothing about the cost of looking into it.
      if (answer.ok() && *answer == kCreatedAnswer) change_due_ns_ = wait_ns_;
      return;
    }
    const std::int64_t took_ns = TakeLook(answer);
    finished_ = looks_last_;
    const std::int64_t began = clock_.mono_ns() - took_ns;
    // A large directory is always slow.
    cost_.Add(answer.ok(), took_ns);
    const std::int64_t rest = kCostFactor * cost_.ns();
    const std::int64_t least_ns = began + std::min(interval_ns_, kMinLookNs);
    change_due_ns_ = std::max(least_ns, began + rest);
    wait_ns_ = is_there_ ? change_due_ns_ : least_ns;
    due_ns_ = too_early_ ? change_due_ns_ : began + std::max(interval_ns_, rest);
  }

 private:
  std::string LookRequest() const {
    std::string request(kLookRequest);
    for (const pid_t task : job_.tasks) request += Cat(" ", task);
    return request;
  }

  // Returns how long the look took.
  std::int64_t TakeLook(const absl::StatusOr<std::string>& answer) {
    sees_changes_ = changed_ = too_early_ = is_there_ = false;
    const absl::StatusOr<ScanResult> result = answer.ok() ? DecodeScan(*answer) : answer.status();
    if (!result.ok()) {
      const std::string why = Message(result.status());
      trouble_.Say(Cat(name_, ": ", why));
      news_.Saw("", why);
      return 0;
    }
    news_.Saw(result->view, result->problem);
    trouble_.Say(result->problem.empty() ? "" : Cat(name_, ": ", result->problem, " (as the job's user)"));
    news_.Take(result->found, result->whole, clock_.real_ns() - result->took_ns);
    sees_changes_ = result->watched;
    is_there_ = !result->view.empty();
    // The task is still being set up, or the directory is not there and its place cannot be watched.
    too_early_ = !result->watched && result->view.empty() && result->problem.empty();
    return result->took_ns;
  }

  const std::int64_t interval_ns_;
  NodeJobs::WatchedJob job_;
  std::string name_;
  CheckpointNews news_;
  Clock clock_;
  Complaint trouble_;
  bool ending_ = false;
  bool finished_ = false;
  bool looks_ = true;        // the last question was for a look, else for a change
  bool looks_last_ = false;  // and it is the last one
  bool sees_changes_ = false;
  bool changed_ = false;
  bool is_there_ = false;   // the last look saw the directory
  bool too_early_ = false;  // the last look saw nothing that could be watched
  LookCost<2> cost_;
  std::int64_t due_ns_ = 0;         // of the next look if nothing changes
  std::int64_t change_due_ns_ = 0;  // if something does
  std::int64_t wait_ns_ = 0;        // when to begin to wait for changes
};

}  // namespace

std::unique_ptr<CheckpointWatcher> CheckpointWatcher::Make(const NodeContext& node,
                                                           const NodeJobs::WatchedJob& watched, Clock clock) {
  return std::make_unique<CheckpointFolder>(node, watched, clock);
}

}  // namespace goodput
