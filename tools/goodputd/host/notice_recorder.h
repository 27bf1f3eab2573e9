// Records the host's notices, and facts about its machine, for each job on this node, once each. The job's
// records show what was already recorded, so a restart of the daemon repeats nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "spank/clock.h"
#include "tools/goodputd/host/metadata_watch.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {

class NoticeRecorder {
 public:
  explicit NoticeRecorder(StoreRecord store, Clock clock = kSystemClock)
      : store_(std::move(store)), clock_(clock) {}

  // Sets the current notice for this key.
  void Set(HostKey key, NoticeKind word);
  // Whether new jobs need a record at once.
  bool HasNotice() const;
  // Whether they need a record of what the machine is.
  bool HasMachineFact() const;
  // Writes the missing records. `jobs` must have read the spool to its end.
  void Tell(const NodeJobs& jobs);

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, HostKey>;  // node, job, its first record
  bool Write(const NodeJob& job, HostKey key, const NoticeKind& word);

  StoreRecord store_;
  Clock clock_;
  std::map<HostKey, NoticeKind> said_;
  std::map<Key, NoticeKind> tried_;  // a record that could not be stored is not retried
};

}  // namespace goodput
