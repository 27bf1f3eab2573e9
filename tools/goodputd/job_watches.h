// Watches jobs of this node by helpers, from one thread. A watcher is a state machine: it says what to ask
// its helper and when, and takes the answer. A helper that hangs delays only its own job.
//
// Helpers are few, however many jobs there are: as many as the limits of this process allow, shared fairly
// among users. When a watcher needs one and there is no room, the user whose helpers need the most memory
// gives one up that is idle and has had its turn.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "spank/clock.h"
#include "tools/base/cgroup_limits.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

class JobWatcher {
 public:
  virtual ~JobWatcher() = default;

  // The helper that answers: its name, and its arguments if it is started now.
  virtual std::string helper_name() const = 0;
  // Memory that the helper needs.
  virtual std::int64_t helper_bytes() const = 0;
  virtual std::vector<std::string> HelperArguments() = 0;

  struct Question {
    std::string request;
    std::int64_t due_ns = 0;  // CLOCK_MONOTONIC
    // Waits for something to happen: the helper may be taken away meanwhile.
    bool waits = false;
  };
  // What to ask next; null: it has finished. Asked again after each answer and each call below.
  virtual std::optional<Question> Next(std::int64_t now_ns) = 0;
  // The answer, or why there is none (HelperProcess::Call).
  virtual void Take(const absl::StatusOr<std::string>& answer) = 0;
  // Its helper was given to another job.
  virtual void HelperIsGone() {}

  // The job's tasks are gone: it may look once more.
  virtual void JobEnded() = 0;
  // It has a second to finish.
  virtual void DaemonStops() = 0;
};

struct JobWatchCounts {
  std::uint64_t jobs = 0;          // watchers
  std::uint64_t helpers = 0;       // that run
  std::uint64_t most_helpers = 0;  // that may run at a time
  std::uint64_t waiting_s = 0;  // how long a watcher waits for a helper: the longest since the last Counts()
};

// How many helpers may run, and how much memory they may need together.
struct HelperLimits {
  std::size_t count = 0;
  std::int64_t bytes = 0;
};
// What a process within these limits may start beside what it needs itself.
HelperLimits HelperLimitsOf(const CgroupLimits& limits);

class JobWatches {
 public:
  struct Options {
    int stop_fd = -1;  // becomes readable when the daemon stops
    HelperLimits limits;
    // A helper is kept for so long before it is given to another job: to start one costs some milliseconds.
    std::int64_t turn_ns = 2'000'000'000;
    // How many helpers may start at a time. More would only take processors from each other, and on a full
    // node none would answer in time.
    std::size_t most_starting = std::max(2U, std::thread::hardware_concurrency());
    absl::Duration timeout = absl::Seconds(5);  // HelperProcess::Options
    Clock clock = kSystemClock;
  };
  explicit JobWatches(Options options) : options_(options), clock_(options.clock) {}
  JobWatches(const JobWatches&) = delete;
  JobWatches& operator=(const JobWatches&) = delete;

  // `jobs`: those to watch for one purpose, each with its NodeJob as `job`. A new one gets the watcher that
  // `make` returns, a known one `update` with that watcher; one that is missing has ended.
  template <typename Jobs, typename Make, typename Update>
  void Follow(const std::string& purpose, const Jobs& jobs, const Make& make, const Update& update) {
    std::map<Key, bool> live;
    for (const auto& one : jobs) {
      const Key key{purpose, one.job->node, one.job->job, one.job->since_ns};
      live[key] = true;
      const auto entry = entries_.find(key);
      if (entry == entries_.end()) {
        Add(key, *one.job, make(one));
      } else {
        update(*entry->second.watcher, one);
        entry->second.Reconsider();
      }
    }
    EndOthers(purpose, live);
  }

  // Serves the watchers until that time, or until the daemon stops: then it lets them finish and returns
  // false.
  bool Serve(std::int64_t until_ns);
  JobWatchCounts Counts();

 private:
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;  // purpose, node, job, since
  struct Entry {
    std::unique_ptr<JobWatcher> watcher;
    uid_t uid = 0;
    std::unique_ptr<HelperProcess> helper;
    std::optional<JobWatcher::Question> next;  // what Next() said
    bool asked = false;
    bool ended = false;
    std::int64_t since_ns = 0;  // when it was added
    std::int64_t helper_since_ns = 0;

    void Reconsider() {
      if (!asked) next.reset();
    }
  };

  void Add(const Key& key, const NodeJob& job, std::unique_ptr<JobWatcher> watcher);
  void EndOthers(const std::string& purpose, const std::map<Key, bool>& live);
  // One round: asks what is due, waits until `until_ns` at most, takes answers. True: the daemon stops.
  bool Round(std::int64_t until_ns, bool stopping);
  void AskWhatIsDue();
  void TakeAnswers();
  void Finish();
  struct HelperUse;
  bool MakeRoomFor(const Entry& entry, HelperUse& use);
  void TakeHelperFrom(Entry& entry);
  std::size_t Running() const;

  const Options options_;
  const Clock clock_;
  // Helpers that hang even when killed, by user.
  std::map<uid_t, std::unique_ptr<AbandonedHelpers>> abandoned_;
  std::map<Key, Entry> entries_;
  bool wants_helper_ = false;         // a watcher waits for one
  std::int64_t longest_wait_ns_ = 0;  // JobWatchCounts::waiting_s
};

}  // namespace goodput
