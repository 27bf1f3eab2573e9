// The GPU time of ended runs by bucket, account and partition, and their goodput, as metrics of
// OpenTelemetry.
//
// Pure. The sums are cumulative and never fall: if a report is corrected, the bucket that lost time keeps its
// sum until new runs make up for it, and the other one rises at once. Cumulative sums may be sent again,
// while a delta whose acknowledgement was lost would be counted twice or never.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/accounting/report/report.h"
#include "tools/sources/telemetry/otlp_request.h"

namespace goodput {

struct GpuTimeKey {
  std::string account;
  std::string partition;
  Bucket bucket = Bucket::kUnobserved;

  friend bool operator<(const GpuTimeKey& a, const GpuTimeKey& b) {
    return std::tie(a.account, a.partition, a.bucket) < std::tie(b.account, b.partition, b.bucket);
  }
};
using GpuTimeSums = std::map<GpuTimeKey, GpuNs>;

// What one ended run adds.
struct RunShare {
  struct Ratio {
    std::string_view definition;
    double value = 0;
    double weight = 0;  // GPU-seconds of what the definition divides by
  };
  std::string account;
  std::string partition;
  std::vector<std::pair<Bucket, GpuNs>> gpu_ns;
  Ns begin = 0;
  Ns end = 0;
  std::vector<Ratio> ratios;
};
RunShare ShareOf(const Report& report);

// Pairs of account and partition that are sums of their own; later ones are summed up as `other`.
inline constexpr std::size_t kMostGpuTimeGroups = 200;

// Raises `sent` to the sums of `shares` where these are higher. The groups that `sent` has remain.
void RaiseSums(const std::vector<RunShare>& shares, GpuTimeSums& sent);

// Means over the runs that ended within `window` before `now`, by definition, weighted by their GPU time.
std::map<std::string_view, double> MeanRatios(const std::vector<RunShare>& shares, Ns now, Ns window);

// The nearest double up to 2^53 ns, as the reports' JSON has it.
double InGpuSeconds(GpuNs ns);

// goodput.gpu_seconds and goodput.ratio. `start`: when the sums began.
std::vector<OtlpMetric> MetricsOf(const GpuTimeSums& sums, const std::map<std::string_view, double>& ratios,
                                  Ns start, Ns now, OtlpProtocol protocol);

}  // namespace goodput
