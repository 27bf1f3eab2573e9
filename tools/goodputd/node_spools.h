// The spools of the nodes that this host serves, for the daemon's own records. Each is opened on first use.
// Threads may share it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "spank/clock.h"
#include "spank/spool.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/record_quota.h"

namespace goodput {

// Stores a record about a job, on its node; false: not stored.
using StoreRecord = std::function<bool(const NodeJob& job, std::string_view record)>;

class NodeSpools {
 public:
  // `label`: for files kept apart from the others (spank/spool.h). `quota` must outlive this.
  NodeSpools(std::string root, std::uint64_t max_bytes, uid_t owner, RecordQuota& quota,
             Clock clock = kSystemClock, std::string label = "")
      : root_(std::move(root)),
        max_bytes_(max_bytes),
        owner_(owner),
        quota_(quota),
        clock_(clock),
        label_(std::move(label)) {}

  // False: not stored, which the quota has counted.
  bool Write(const NodeJob& job, std::string_view record);
  // The same as a function, valid for as long as this lives.
  StoreRecord store() {
    return [this](const NodeJob& job, std::string_view record) { return Write(job, record); };
  }
  // Records how many records of each job were refused since the last call, whatever its quota.
  void RecordRefused();
  // Looks for records of the node, the plugin's too, that found no room since the last look, and records how
  // many as soon as there is room; the first look takes `looked_ns` for the time of the last one. True: some
  // were lost that are not recorded yet.
  bool RecordLost(const std::string& node, std::int64_t looked_ns);
  // Keeps the reserve of the node's spool (spank/spool.h) complete, as soon as the disk has room.
  void KeepReserve(const std::string& node);
  // Notes of a node's spool (spank/spool.h); one that cannot be had is empty.
  bool PutNote(const std::string& node, const std::string& name, std::string_view text);
  std::string GetNote(const std::string& node, const std::string& name);
  void DropNote(const std::string& node, const std::string& name);

 private:
  // Records that found no room.
  struct Lost {
    std::int64_t looked_ns = 0;
    std::uint64_t counted = 0;   // by the last look, since the spool exists
    std::uint64_t recorded = 0;  // of these
    std::int64_t since_ns = 0;   // the others were lost after this
  };
  bool RecordLostLocked(Spool& spool, const std::string& node, Lost& lost);
  bool Write(const std::string& node, std::string_view record);
  std::uint64_t BytesHeld(const std::string& node);
  Spool* OfLocked(const std::string& node);

  std::string root_;
  std::uint64_t max_bytes_;
  uid_t owner_;
  RecordQuota& quota_;
  Clock clock_;
  std::string label_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Spool>> spools_;
  std::map<std::string, Lost> lost_;  // by node
};

}  // namespace goodput
