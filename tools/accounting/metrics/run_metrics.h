// The metrics of runs in /metrics. Pure.
//
// Counters cover finished runs, since the buckets of a running one may still change; ratios cover the last
// day. The number of series is bounded: beyond kMostGroups partitions, accounts or QOS, the smallest are
// summed up as `other`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tools/accounting/live/run_now.h"
#include "tools/accounting/metrics/exposition.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/gpu_use.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct MetricSubject {
  std::string partition;
  std::string account;
  std::string qos;
};

class RunMetrics {
 public:
  static constexpr std::size_t kMostGroups = 50;
  static constexpr Ns kWindow = 86'400'000'000'000;

  explicit RunMetrics(Ns now);
  void Add(const MetricSubject& subject, const Timeline& timeline);
  // `losses`: by kind.
  std::string Text(const std::map<std::string, std::int64_t>& losses) const;

 private:
  // In GPU-nanoseconds; runs without GPUs separately, in nanoseconds.
  struct Shares {
    std::array<GpuNs, 2> wanted{};
    std::array<GpuNs, 2> up{};
    std::array<GpuNs, 2> productive{};
    std::array<GpuNs, 2> lost{};
    std::array<GpuNs, 2> at_risk{};
    std::array<GpuNs, 2> unobserved{};
    void Add(const Shares& other);
  };
  struct Partition {
    std::array<GpuNs, kBucketCount> gpu_ns{};
    std::array<Ns, kBucketCount> ns{};
    std::array<GpuUseSum, kBucketCount> gpu_use{};
    std::map<std::string, std::int64_t> interruptions;  // by cause
    std::int64_t over = 0;
    std::int64_t running = 0;
    std::int64_t stalled = 0;  // of the running runs
    std::int64_t pending = 0;
    GpuNs at_risk = 0;
    NowTotals now;
    void Add(const Partition& other);
  };
  void AddOver(const Timeline& timeline, const GpuWeights& weights, Partition& partition);
  static void AddGpuUse(MetricText& text, const std::map<std::string, Partition>& partitions);
  static void AddProgress(MetricText& text, const MetricLabels& labels, const std::string& part,
                          const Shares& shares, std::size_t kind, GpuNs of);
  static void AddRatios(MetricText& text, const std::map<std::string, Shares>& by, const std::string& label);

  const Ns now_;
  std::map<std::string, Partition> partitions_;
  std::map<std::string, Shares> shares_by_partition_;
  std::map<std::string, Shares> shares_by_account_;
  std::map<std::string, Shares> shares_by_qos_;
  MetricHistogram queue_wait_;
  MetricHistogram provisioning_;
  MetricHistogram resources_;
  MetricHistogram restart_;
  MetricHistogram checkpoint_;
};

}  // namespace goodput
