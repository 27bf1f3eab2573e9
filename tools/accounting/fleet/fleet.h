// Partitions all GPU time of a cluster's nodes in a window: by bucket for the time that jobs held, and by
// node condition for the rest. Nodes that Slurm keeps for a job (timeline/withheld.h) are not idle: their
// time is in the buckets in which the job waits.
//
// Pure: no I/O, no clock. Sums are GPU-nanoseconds and add up to the nodes' capacity exactly.
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
  std::int64_t nodes = 0;                       // that were in it at any time
  std::array<GpuNs, kBucketCount> held{};       // by jobs, by bucket
  std::array<GpuNs, kConditionCount> unheld{};  // by the node's condition
  // Productive GPU time of runs whose FLOPs are known, and its weighted share of their peak.
  GpuNs rated = 0;
  double rate = 0;

  // All but powered-down nodes.
  GpuNs capacity() const;
  GpuNs held_sum() const;
  GpuNs up() const;
  // Google's Scheduling Goodput of a fleet: the share of the capacity in which jobs had everything they had
  // asked for. Of the known time; absent if there is none.
  std::optional<double> scheduling() const;
  // Bounds for it, given what the unknown time may have been; absent without capacity.
  std::optional<Range> scheduling_range() const;
  // Productive / up, a lower bound; absent if no step was seen and time is unobserved.
  std::optional<double> runtime() const;
  // Bounds for it, given what at-risk steps and unobserved time may turn out to be; absent if nothing was up.
  std::optional<Range> runtime_range() const;
  // Of the runs whose FLOPs are known.
  std::optional<double> program() const;
  double rated_share() const;  // of productive GPU-time
  // scheduling x runtime x program; absent unless the FLOPs of all productive time are known.
  std::optional<double> mpg() const;

  void Add(const FleetRow& other);
};

struct FleetCount {
  std::vector<FleetRow> rows;
  FleetRow total;
  // GPU time that jobs held on unknown nodes, or beyond the GPUs that the nodes are known to have; in no row.
  GpuNs unplaced = 0;
};

class Fleet {
 public:
  // Nodes by name. Only [begin, end) counts.
  Fleet(std::map<std::string, NodeHistory> nodes, Ns begin, Ns end);

  // Adds one run. `program`: its Program Goodput, if known.
  void Add(const Timeline& timeline, std::optional<double> program);

  // One row per set of partitions that nodes belong to, or a single row.
  FleetCount Count(bool by_partition) const;

 private:
  // The GPU time of one allocation between two changes of its number of GPUs, and of those that step.
  struct Use {
    Ns begin = 0;
    Ns end = 0;
    std::vector<Ns> edges;                             // edges of its intervals
    std::vector<std::array<Ns, kBucketCount>> before;  // in each bucket before the edge
    std::optional<double> program;

    // Time in each bucket within [from, to).
    std::array<Ns, kBucketCount> Between(Ns from, Ns to) const;
    std::array<Ns, kBucketCount> Until(Ns t) const;
  };
  struct Share {
    std::shared_ptr<const Use> use;
    std::int64_t gpus = 0;
    bool withheld = false;  // kept for its job, which does not hold it: only while the node is idle
  };

  // Of the `of` GPUs of an allocation, `count` from `first` on, in the order of its nodes.
  struct SomeGpus {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t of = 0;
    bool operator==(const SomeGpus& other) const {
      return first == other.first && count == other.count && of == other.of;
    }
  };

  void AddUse(const AttemptFacts& facts, const SomeGpus& gpus, Use use);
  void AddWithheld(const Timeline& timeline);
  static void CountNode(const NodeHistory& history, const std::vector<Share>& shares, bool by_partition,
                        std::map<std::string, FleetRow>& rows, GpuNs& unplaced);
  static void CountSlice(const NodeSpan& span, Ns from, Ns to, const std::vector<const Share*>& active,
                         FleetRow& row, GpuNs& unplaced);

  std::map<std::string, NodeHistory> nodes_;
  Ns begin_;
  Ns end_;
  std::map<std::string, std::vector<Share>> shares_;  // of nodes
  GpuNs elsewhere_ = 0;                               // on unknown nodes
};

}  // namespace goodput
