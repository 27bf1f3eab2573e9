// Where the time of each node went, by UTC day: allocated to jobs, or else in the node's condition. A node
// that Slurm keeps for a job (timeline/withheld.h) is allocated, too.
//
// Pure: no I/O, no clock. A node's row of a day adds up to the part of the day in which the node is known to
// have existed: while the queue watch reported it, was not running (then the time is unknown), or a job held
// it; and before the first watch, while slurmdbd knows that it was down or drained. Rows of a longer time are
// the sums of its days, to the nanosecond.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/fleet/node_history.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// First match wins. kOff is a machine that was shut down to save money, which is no capacity.
enum class NodeUse : std::uint8_t { kAllocated, kCompleting, kIdle, kDown, kDrained, kOff, kUnknown };
inline constexpr int kNodeUseCount = 7;
// "allocated", "idle", ...: also the columns of the fleet database, after n_ and g_.
std::string_view NodeUseName(NodeUse use);

struct NodeTime {
  std::array<Ns, kNodeUseCount> ns{};
  // Of its GPUs, as Fleet counts them: a job holds its GPUs only, and the others are in the node's condition.
  // Only while it is known how many the node had.
  std::array<GpuNs, kNodeUseCount> gpu_ns{};
};

struct NodeDay {
  std::string node;
  std::int64_t day = 0;
  std::optional<std::int64_t> gpus;  // the most that it had on this day; absent: not known at any time
  NodeTime time;
};

// One attempt held some GPUs of a node from `begin` to `end`.
struct NodeHold {
  Ns begin = 0;
  Ns end = 0;
  std::int64_t gpus = 0;
  bool withheld = false;  // kept for the job's next attempt: allocated only while the node is idle otherwise
};

// Which runs held which nodes, in the order in which they are added. Takes about 100 bytes for an attempt,
// whatever the number of its nodes.
class NodeHolds {
 public:
  void Add(const Timeline& timeline);
  // The begin of the first one.
  std::optional<Ns> first() const { return first_; }
  // By node, those that overlap [begin, end). Slurm does not record how many GPUs of a job are on which node:
  // distributed evenly, the remainder on the first ones.
  std::map<std::string, std::vector<NodeHold>> Within(Ns begin, Ns end) const;

 private:
  struct Hold {
    Ns begin = 0;
    Ns end = 0;
    std::int64_t gpus = 0;
    const std::string* nodes = nullptr;  // a hostlist
    bool withheld = false;
  };
  std::set<std::string> hostlists_;
  std::vector<Hold> holds_;
  std::optional<Ns> first_;
};

struct NodeEvidence {
  std::map<std::string, NodeHistory> histories;             // from the first watch on, by name
  std::map<std::string, std::vector<KnownOutage>> outages;  // before the first watch, by begin
};

// By node and day, within [begin, end).
std::vector<NodeDay> CountNodeDays(const NodeEvidence& evidence, const NodeHolds& holds, Ns begin, Ns end);

}  // namespace goodput
