// Tells each job on this node what the host said, once a word: as records in the spool. What a job was told
// stands there, so that a restart of the daemon repeats nothing.
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

  // What the host says from now on.
  void Set(HostKey key, NoticeKind word);
  // Whether jobs that come have to be told something.
  bool HasNotice() const;
  // Writes what jobs have not been told yet. `jobs` must have read the spool to its end.
  void Tell(const NodeJobs& jobs);

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, HostKey>;  // node, job, its first record
  bool Write(const NodeJob& job, HostKey key, const NoticeKind& word);

  StoreRecord store_;
  Clock clock_;
  std::map<HostKey, NoticeKind> said_;
  std::map<Key, NoticeKind> tried_;  // what could not be stored is not tried again and again
};

}  // namespace goodput
