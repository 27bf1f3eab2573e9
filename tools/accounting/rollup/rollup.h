// Sums over runs by user, account, partition, reservation, consumption, run, tag, node, day, cause or window.
// The rows add up to the runs exactly.
//
// Pure: no I/O. Sums are integers (nanoseconds, GPU-nanoseconds), and every interval of every run goes into
// exactly one row. Only a node's share of an interval is divided; the remainder goes to the first nodes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/accounting/rollup/provision.h"
#include "tools/accounting/rollup/stockout.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/gpu_use.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

enum class RollupBy : std::uint8_t {
  kAll,
  kUser,
  kAccount,
  kPartition,
  kRun,
  kTag,
  kNode,
  kDay,
  kCause,
  kReservation,  // how the machines were obtained, each Slurm reservation by itself
  kConsumption,  // the same, all reservations together
  kRecovery,     // how runs went on after the interruption that the time was lost to
  kStockout      // the lack of machines in the cloud that the time was lost to
};
// From "user", "account", ...; absent if unknown.
std::optional<RollupBy> RollupByName(std::string_view name);

// What a run is grouped by, besides its timeline.
struct RollupSubject {
  std::string user;
  std::string account;
  std::string partition;
  std::string run;  // its name, or its job id
  std::map<std::string, std::string> tags;
  const std::map<std::string, std::string>* node_features = nullptr;  // for the two above; borrowed
  std::string cluster = {};
  std::optional<double> program = {};  // program goodput, if its FLOPs are known
  // For kNode: of each of RankWait::late; empty: unknown.
  std::vector<std::string> late_nodes = {};
};

// What rows are grouped by.
struct RollupKey {
  RollupBy by = RollupBy::kAll;
  std::string tag;  // for kTag: the key whose values are the groups
};

// Whether a job holds its nodes meanwhile.
bool HoldsNodes(Bucket bucket);

// The groups of a row, one per key; `group` has them as one text.
std::vector<std::string> GroupParts(const std::string& group);

// The result for a test's largest message: bytes, and bytes per second on the slowest link.
struct NetworkTest {
  Ns t = 0;
  std::int64_t bytes = 0;
  std::int64_t busbw = 0;
};

// In how much time others waited for a node's ranks to begin a step (timeline/rank_wait.h): GPU-nanoseconds,
// of runs without GPUs nanoseconds.
struct NodeWait {
  GpuWait time;
  GpuNs productive = 0;  // of the runs in which that was measured

  double share() const { return ShareOf(time.wait); }
  double most_share() const { return ShareOf(time.most); }  // if all clocks agree
  void Add(const NodeWait& other) {
    time.Add(other.time);
    productive += other.productive;
  }

 private:
  double ShareOf(GpuNs wait) const {
    return productive > 0 ? static_cast<double>(wait) / static_cast<double>(productive) : 0;
  }
};

struct RollupRow {
  std::string group;
  Ns begin = 0;  // of its window; 0 without windows
  Ns end = 0;
  std::int64_t runs = 0;
  std::int64_t interruptions = 0;
  std::array<Ns, kBucketCount> ns{};
  std::array<GpuNs, kBucketCount> gpu_ns{};  // of runs with GPUs
  std::array<Ns, kBucketCount> cpu_ns{};     // of runs without GPUs

  // For kNode: how long the node was held, how often it failed, and how likely it is that some node fails as
  // often by chance (see node_chance.h); absent without failures.
  Ns node_ns = 0;
  std::int64_t node_failures = 0;
  std::optional<double> chance;
  // For kNode: errors of the hardware (Fault::kHardware) that its kernel log told while jobs held it; absent:
  // its log was not read.
  std::optional<std::int64_t> hardware_errors;
  // The last nccl-tests result with this and another node.
  std::optional<NetworkTest> network;

  // For kNode: the wait of runs with GPUs, and of others; absent: measured in no run on this node.
  std::optional<NodeWait> gpu_wait;
  std::optional<NodeWait> cpu_wait;
  // The one of these that counts, as with the fractions below.
  const std::optional<NodeWait>& awaited() const { return gpu_wait || HasGpus() ? gpu_wait : cpu_wait; }

  // The part of `unobserved` in which even the allocation is unknown.
  GpuNs gap_gpu_ns = 0;
  Ns gap_cpu_ns = 0;

  // For kConsumption: the allocated GPU time by what says how its machines were obtained
  // (Provision::evidence).
  std::map<std::string, GpuNs> told_by;

  // What GPUs did, where nodes measured it (timeline/gpu_use.h), in all time and in productive time. Not for
  // kNode, since it is known of whole allocations only.
  GpuUseSum gpu_use;
  GpuUseSum productive_gpu_use;

  // Program goodput of the runs whose FLOPs are known, their share of the productive time, and MPG, which is
  // unknown unless that share is 1.
  std::optional<double> program;
  std::optional<double> program_share;
  std::optional<double> mpg;

  // GPU-nanoseconds known to be allocated, whatever they were used for.
  GpuNs allocated() const;
  GpuNs wanted() const;
  // GPU-nanoseconds, and nanoseconds, wanted before all resources were up: the time on the side of
  // scheduling, without suspension.
  GpuNs waited() const;
  Ns waited_ns() const;
  // Allocated time that is known not to have become progress, and allocated time that may not have: at-risk
  // steps and unobserved time.
  GpuNs wasted() const;
  GpuNs maybe_wasted() const;
  GpuNs unobserved() const { return gpu_ns[static_cast<std::size_t>(Bucket::kUnobserved)]; }

  // As in goodput.h, of runs with GPUs; rows without such runs use time. Absent if nothing was wanted (or
  // up); `scheduling` also if the allocation is unknown for a while, the others also if no step was seen and
  // all open time may be progress. The values are lower bounds; the ranges give the upper ones.
  std::optional<double> scheduling() const;
  std::optional<double> runtime() const;
  std::optional<double> sg_rg() const;
  std::optional<Range> scheduling_range() const;
  std::optional<Range> runtime_range() const;
  std::optional<Range> sg_rg_range() const;

  void Add(const RollupRow& other);
  // Productive GPU time of a run with this program goodput.
  void AddRated(GpuNs productive, double program_goodput);
  // Sets program, program_share and mpg from what AddRated() added.
  void Rate();

 private:
  GpuNs rated_ = 0;
  double rate_ = 0;  // GPU-nanoseconds x program goodput

  // Weight of a bucket, in GPU-time or time.
  GpuNs Of(Bucket bucket) const;
  GpuNs Up() const;
  GpuNs Wanted() const;
  GpuNs Gap() const;
  bool HasGpus() const;
  std::optional<Range> ProgressOf(GpuNs whole) const;
};

// Sets `chance` in rows of nodes: those of one cluster and window, whose failures and node-time are compared.
// `judged`: the number of nodes that are judged at once, here and elsewhere.
void JudgeNodes(const std::vector<RollupRow*>& rows, std::int64_t judged);

class Rollup {
 public:
  // By one key or several; with several, none may be kNode or kAll. `edges`: ascending borders of the
  // windows; time outside is omitted. Empty: no windows.
  Rollup(std::vector<RollupKey> keys, std::vector<Ns> edges);
  Rollup(RollupBy by, std::string tag, std::vector<Ns> edges)
      : Rollup(std::vector<RollupKey>{{by, std::move(tag)}}, std::move(edges)) {}

  void Add(const RollupSubject& subject, const Timeline& timeline);

  // By window, then by group; groups by name, for kDay by time. Includes windows in which nothing happened.
  std::vector<RollupRow> Rows() const;
  RollupRow Total() const;

 private:
  using Key = std::pair<std::size_t, std::string>;  // window, group
  struct Stretch {
    Ns begin;
    Ns end;
    Bucket bucket;
    GpuNs gpu_ns;
    bool has_gpus;
    bool gap;  // even the allocation is unknown
  };

  void AddInterval(const RollupSubject& subject, const Timeline& timeline, const GpuWeights& weights,
                   const Interval& interval);
  void AddWithin(std::size_t window, const RollupSubject& subject, const Timeline& timeline,
                 const GpuWeights& weights, const Interval& interval);
  void AddByNode(std::size_t window, const Timeline& timeline, const Interval& interval, Stretch stretch);
  void AddGpuUse(const Key& key, const Timeline& timeline, const Interval& interval);
  void AddTo(const Key& key, const Stretch& stretch);
  RollupRow& RowOf(const Key& key);
  // The window that contains `t`; absent if none does.
  std::optional<std::size_t> WindowAt(Ns t) const;
  void AddNetworkTests(const AttemptFacts& attempt);
  void AddHardwareErrors(const Timeline& timeline);
  void AddRankWaits(const RollupSubject& subject, const Timeline& timeline, const GpuWeights& weights);
  void AddNodeWait(const Key& key, bool has_gpus, const NodeWait& wait);
  // `whole`: the interval that `interval` is a part of; it decides what the time was lost to.
  std::string GroupOf(const RollupSubject& subject, const Timeline& timeline, const Interval& interval,
                      const Interval& whole);
  std::string GroupBy(const RollupKey& key, const RollupSubject& subject, const Timeline& timeline,
                      const Interval& interval, const Interval& whole);
  std::string GroupOf(const RollupSubject& subject, const Timeline& timeline,
                      const Interruption& interruption);
  bool By(RollupBy by) const;
  const Provision& ProvisionOfAttempt(const RollupSubject& subject, const Timeline& timeline, int attempt);
  void AddEvidence(const Key& key, const RollupSubject& subject, const Timeline& timeline, int attempt,
                   const Stretch& stretch);
  const std::vector<std::string>& NodesOf(const Timeline& timeline, int attempt);

  std::vector<RollupKey> keys_;
  std::vector<Ns> edges_;
  std::map<Key, RollupRow> rows_;
  std::set<Key> of_this_run_;                // rows of the run being added
  std::map<std::size_t, GpuNs> productive_;  // of this run, by window; without GPUs: time
  RollupRow total_;
  // Counted: jobs that share a node have the same ones.
  std::set<std::tuple<std::string, Ns, HardwareError::Kind, std::int64_t, std::string>> errors_;
  // Of the run being added: expanded node lists of its attempts.
  std::map<int, std::vector<std::string>> nodes_;
  std::map<int, Provision> provisions_;  // how they were obtained
  std::optional<double> program_;
  std::vector<MachineWait> machine_waits_;
};

// The interruption to which an interval was lost: the one that ended its work, or after which the run waited
// and restarted; null if none.
const Interruption* InterruptionOf(const Timeline& timeline, const Interval& interval);

// The borders of local days, or of windows of `step`, that cover [begin, end): ascending, the first at or
// before `begin`, the last at or after `end`. Windows of whole days begin at local midnights if `begin` does,
// also across clock changes.
std::vector<Ns> WindowEdges(Ns begin, Ns end, Ns step);

}  // namespace goodput
