// All GPUs of a cluster's nodes times a window of time, partitioned: what jobs made of it, and what nobody
// held.
//
// Pure: no I/O, no clock. Sums are GPU-nanoseconds and add up to capacity and time of the nodes exactly.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/fleet/node_history.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct FleetRow {
  std::string group;
  std::int64_t nodes = 0;                       // that were ever in it
  std::array<GpuNs, kBucketCount> held{};       // by jobs, by what they made of it
  std::array<GpuNs, kConditionCount> unheld{};  // by what the node was in then
  // Of the productive part, the GPU-time of runs whose FLOPs are known; and what share of their peak these
  // used, weighted by it.
  GpuNs rated = 0;
  double rate = 0;

  // What there was: everything but machines that were off.
  GpuNs capacity() const;
  GpuNs held_sum() const;
  GpuNs up() const;
  // Google's Scheduling Goodput of a fleet: the share of the capacity in which jobs had all they asked for.
  // Of the time that is known; absent where none is.
  std::optional<double> scheduling() const;
  // What it can be, by what the unknown time may have been; absent without any capacity.
  std::optional<Range> scheduling_range() const;
  // Productive / up, the least it can be; absent where no step was seen and time is unobserved.
  std::optional<double> runtime() const;
  // Up to what, by what steps at risk and unobserved time may turn out to be; absent where nothing was up.
  std::optional<Range> runtime_range() const;
  // Of the runs whose FLOPs are known.
  std::optional<double> program() const;
  double rated_share() const;  // of productive GPU-time
  // scheduling x runtime x program; absent unless FLOPs are known of all of it.
  std::optional<double> mpg() const;

  void Add(const FleetRow& other);
};

struct FleetCount {
  std::vector<FleetRow> rows;
  FleetRow total;
  // GPU-time that jobs held on nodes nobody has described, or beyond what those have: in no row.
  GpuNs unplaced = 0;
};

class Fleet {
 public:
  // Nodes by name. Outside [begin, end) nothing counts.
  Fleet(std::map<std::string, NodeHistory> nodes, Ns begin, Ns end);

  // One run. `program`: its Program Goodput, where known.
  void Add(const Timeline& timeline, std::optional<double> program);

  // With a row for each set of partitions that nodes are in; or one in all.
  FleetCount Count(bool by_partition) const;

 private:
  // What GPUs of one allocation, between two changes of their number, were good for.
  struct Use {
    Ns begin = 0;
    Ns end = 0;
    std::vector<Ns> edges;                             // of its intervals
    std::vector<std::array<Ns, kBucketCount>> before;  // in each bucket before the edge
    std::optional<double> program;

    // In each bucket, within [from, to).
    std::array<Ns, kBucketCount> Between(Ns from, Ns to) const;
    std::array<Ns, kBucketCount> Until(Ns t) const;
  };
  struct Share {
    std::shared_ptr<const Use> use;
    std::int64_t gpus = 0;
  };

  void AddUse(const AttemptFacts& facts, std::int64_t gpus, Use use);
  static void CountNode(const NodeHistory& history, const std::vector<Share>& shares, bool by_partition,
                        std::map<std::string, FleetRow>& rows, GpuNs& unplaced);
  static void CountSlice(const NodeSpan& span, Ns from, Ns to, const std::vector<const Share*>& active,
                         FleetRow& row, GpuNs& unplaced);

  std::map<std::string, NodeHistory> nodes_;
  Ns begin_;
  Ns end_;
  std::map<std::string, std::vector<Share>> shares_;  // of nodes
  GpuNs elsewhere_ = 0;                               // on nodes nobody has described
};

}  // namespace goodput
