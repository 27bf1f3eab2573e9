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
  // Notes of a node's spool (spank/spool.h); one that cannot be had is empty.
  bool PutNote(const std::string& node, const std::string& name, std::string_view text);
  std::string GetNote(const std::string& node, const std::string& name);
  void DropNote(const std::string& node, const std::string& name);

 private:
  bool Append(const std::string& node, std::string_view record);
  Spool* OfLocked(const std::string& node);

  std::string root_;
  std::uint64_t max_bytes_;
  uid_t owner_;
  RecordQuota& quota_;
  Clock clock_;
  std::string label_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Spool>> spools_;
};

}  // namespace goodput
