#include "tools/sources/telemetry/gpu_time.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tools/accounting/fleet_rows/fleet_rows.h"

namespace goodput {
namespace {

constexpr const char* kOther = "other";

GpuNs Wanted(const Account& account) {
  GpuNs sum = 0;
  for (const BucketTotal& total : account.buckets) {
    if (BucketSide(total.bucket) != Side::kExcluded) sum += total.gpu_ns;
  }
  return sum;
}

GpuNs Productive(const Account& account) {
  return account.buckets[static_cast<std::size_t>(Bucket::kProductive)].gpu_ns;
}

std::vector<RunShare::Ratio> RatiosOf(const Account& account) {
  const Goodput& goodput = account.goodput;
  const Definitions& more = account.definitions;
  const double wanted = InGpuSeconds(Wanted(account));
  // Where the time with resources is known, it is a share of the wanted time.
  const double up = wanted * goodput.scheduling.value_or(0);
  std::vector<RunShare::Ratio> ratios;
  const auto add = [&](std::string_view name, const std::optional<double>& value, double weight) {
    if (value && weight > 0) ratios.push_back({name, *value, weight});
  };
  add("mpg", goodput.mpg, wanted);
  add("scheduling", goodput.scheduling, wanted);
  add("runtime", goodput.runtime, up);
  add("program", goodput.program, InGpuSeconds(Productive(account)));
  add("sg_rg", goodput.sg_rg, wanted);
  add("rg", more.rg, up);
  add("google_api", more.google_api, wanted);
  add("google_interval", more.google_interval, wanted);
  add("nvcre", more.nvcre, wanted);
  add("ettr", more.ettr, wanted);
  add("ettr_1h", more.ettr_1h, wanted);
  add("lens", more.lens, wanted);
  add("lens_scheduling", more.lens_scheduling, wanted);
  add("lens_runtime", more.lens_runtime, wanted);
  add("lens_app", more.lens_app, wanted);
  add("app_p05", more.app_p05, wanted);
  return ratios;
}

// The sums of one pass, and in which group each run belongs.
GpuTimeSums SumUp(const std::vector<RunShare>& shares, const GpuTimeSums& sent) {
  std::set<std::pair<std::string, std::string>> groups;
  for (const auto& [key, sum] : sent) groups.insert({key.account, key.partition});
  GpuTimeSums sums;
  for (const RunShare& share : shares) {
    std::pair<std::string, std::string> group{share.account, share.partition};
    if (groups.count(group) == 0) {
      if (groups.size() < kMostGpuTimeGroups) {
        groups.insert(group);
      } else {
        group = {kOther, kOther};
      }
    }
    for (const auto& [bucket, gpu_ns] : share.gpu_ns) sums[{group.first, group.second, bucket}] += gpu_ns;
  }
  return sums;
}

}  // namespace

double InGpuSeconds(GpuNs ns) {
  return static_cast<double>(ns) / 1e9;
}

RunShare ShareOf(const Report& report) {
  RunShare share;
  share.account = FleetText(report.run.info.account);
  share.partition = FleetText(report.run.info.partition);
  share.begin = report.timeline.begin;
  share.end = report.timeline.end;
  if (!report.account.has_gpus) return share;
  for (const BucketTotal& total : report.account.buckets) {
    if (total.gpu_ns > 0) share.gpu_ns.emplace_back(total.bucket, total.gpu_ns);
  }
  share.ratios = RatiosOf(report.account);
  return share;
}

void RaiseSums(const std::vector<RunShare>& shares, GpuTimeSums& sent) {
  for (const auto& [key, sum] : SumUp(shares, sent)) {
    GpuNs& known = sent[key];
    known = std::max(known, sum);
  }
}

std::map<std::string_view, double> MeanRatios(const std::vector<RunShare>& shares, Ns now, Ns window) {
  std::map<std::string_view, std::pair<double, double>> sums;
  for (const RunShare& share : shares) {
    if (share.end <= now - window) continue;
    for (const RunShare::Ratio& ratio : share.ratios) {
      auto& [weighted, weight] = sums[ratio.definition];
      weighted += ratio.value * ratio.weight;
      weight += ratio.weight;
    }
  }
  std::map<std::string_view, double> means;
  for (const auto& [definition, sum] : sums) means[definition] = sum.first / sum.second;
  return means;
}

std::vector<OtlpMetric> MetricsOf(const GpuTimeSums& sums, const std::map<std::string_view, double>& ratios,
                                  Ns start, Ns now, OtlpProtocol protocol) {
  std::vector<OtlpMetric> metrics;
  OtlpMetric time{"goodput.gpu_seconds", "s", "GPU time of ended runs, by what became of it", true, {}};
  for (const auto& [key, sum] : sums) {
    const OtlpAttributes attributes{{"bucket", std::string(BucketName(key.bucket))},
                                    {"side", std::string(SideName(BucketSide(key.bucket)))},
                                    {"account", key.account},
                                    {"partition", key.partition}};
    time.points.push_back(EncodePoint({attributes, InGpuSeconds(sum), start, now}, protocol));
  }
  OtlpMetric ratio{
      "goodput.ratio", "1", "Goodput of the runs that ended within a day, by definition", false, {}};
  for (const auto& [definition, value] : ratios) {
    const OtlpAttributes attributes{{"definition", std::string(definition)}};
    ratio.points.push_back(EncodePoint({attributes, value, 0, now}, protocol));
  }
  if (!time.points.empty()) metrics.push_back(std::move(time));
  if (!ratio.points.empty()) metrics.push_back(std::move(ratio));
  return metrics;
}

}  // namespace goodput
