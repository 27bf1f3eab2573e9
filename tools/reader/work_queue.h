// A few threads that do queued work, shared fairly among those who ask for it. Work that waits too long is
// rejected, when its time is up.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace goodput {

class WorkQueue {
 public:
  // `in_time`: false if it waited for longer than `patience`, or found no room.
  using Work = std::function<void(bool in_time)>;
  // At most `most` wait. One who asks never has all threads, if there are several.
  WorkQueue(std::size_t threads, std::size_t most, absl::Duration patience);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // `asker`: who shares with others. Of those who wait, the one with the least work being done is next, then
  // the one whose turn was longest ago, so that one question does not wait behind the many of another asker.
  // In a full queue the asker with the most waiting work loses the latest of it.
  void Add(const std::string& asker, Work work);

 private:
  struct Waiting {
    std::string asker;
    Work work;
    std::int64_t since_ns = 0;
  };
  using List = std::list<Waiting>;
  void Run();
  void RejectLate();
  // Whose turn it is; end(): nobody's.
  List::iterator Next();
  // The order of turns: the lower is before.
  std::pair<std::size_t, std::int64_t> Turn(const std::string& asker) const;
  void ForgetOldTurns(std::int64_t now_ns);
  List::iterator LatestOfGreediest();

  const std::size_t most_;
  const std::size_t most_of_asker_;  // being done at once
  const std::int64_t patience_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  List waiting_;                              // guarded by mutex_, as all below
  std::map<std::string, std::size_t> doing_;  // by asker
  // By asker, the time of its last turn; forgotten after patience.
  std::map<std::string, std::int64_t> turn_ns_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace goodput
