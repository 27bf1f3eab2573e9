#include "tools/accounting/metrics/run_metrics.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/hang.h"

namespace goodput {
namespace {

const std::vector<double> kWaits = {1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400};
const std::vector<double> kShort = {1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600};
constexpr const char* kOther = "other";

double GpuSeconds(GpuNs ns) {
  // Whole seconds are converted separately: the total may exceed a double's precision.
  const GpuNs whole = ns / kSecond;
  return static_cast<double>(whole) + static_cast<double>(ns % kSecond) / 1e9;
}

bool IsUp(Side side) {
  return side != Side::kExcluded && side != Side::kScheduling;
}

// The largest groups by name, and all others together as `other`.
template <typename Group, typename Weight>
std::map<std::string, Group> Bounded(const std::map<std::string, Group>& groups, const Weight& weight) {
  if (groups.size() <= RunMetrics::kMostGroups) return groups;
  std::vector<std::pair<GpuNs, std::string>> order;
  order.reserve(groups.size());
  for (const auto& [name, group] : groups) order.emplace_back(weight(group), name);
  std::sort(order.rbegin(), order.rend());
  std::map<std::string, Group> bounded;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& name = order[i].second;
    bounded[i < RunMetrics::kMostGroups ? name : kOther].Add(groups.at(name));
  }
  return bounded;
}

void AddRatio(MetricText& text, const MetricLabels& labels, const std::string& part, GpuNs share, GpuNs of) {
  if (of == 0) return;
  MetricLabels with_part = labels;
  with_part.emplace_back("part", part);
  text.Gauge(with_part, GpuSeconds(share) / GpuSeconds(of));
}

// For a running run: whether one of its attempts runs.
bool HoldsNodes(const Timeline& timeline) {
  return std::any_of(timeline.attempts.begin(), timeline.attempts.end(), [](const AttemptSummary& attempt) {
    return attempt.facts->start && !attempt.facts->end;
  });
}

}  // namespace

void RunMetrics::Shares::Add(const Shares& other) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] += other.wanted[i];
    up[i] += other.up[i];
    productive[i] += other.productive[i];
    lost[i] += other.lost[i];
    at_risk[i] += other.at_risk[i];
    unobserved[i] += other.unobserved[i];
  }
}

void RunMetrics::Partition::Add(const Partition& other) {
  for (std::size_t i = 0; i < gpu_ns.size(); ++i) {
    gpu_ns[i] += other.gpu_ns[i];
    ns[i] += other.ns[i];
    gpu_use[i].Add(other.gpu_use[i]);
  }
  for (const auto& [cause, count] : other.interruptions) interruptions[cause] += count;
  over += other.over;
  running += other.running;
  stalled += other.stalled;
  pending += other.pending;
  at_risk += other.at_risk;
  now.Add(other.now);
}

RunMetrics::RunMetrics(Ns now)
    : now_(now),
      queue_wait_(kWaits),
      provisioning_(kShort),
      resources_(kWaits),
      restart_(kShort),
      checkpoint_(kShort) {}

void RunMetrics::AddOver(const Timeline& timeline, const GpuWeights& weights, Partition& partition) {
  ++partition.over;
  if (const std::optional<GpuUse> use = SumGpuUse(timeline)) {
    for (std::size_t i = 0; i < kBucketCount; ++i) partition.gpu_use[i].Add(use->of[i]);
  }
  for (const Interval& interval : timeline.intervals) {
    const auto bucket = static_cast<std::size_t>(interval.bucket);
    partition.ns[bucket] += interval.end - interval.begin;
    if (!weights.has_gpus()) continue;
    for (const GpuWeights::Share& share : weights.Split(interval, interval.begin, interval.end))
      partition.gpu_ns[static_cast<std::size_t>(share.bucket)] += share.gpu_ns;
  }
  for (const AttemptSummary& attempt : timeline.attempts) {
    if (!attempt.facts->start) continue;
    const Ns allocated = attempt.facts->allocated.value_or(*attempt.facts->start);
    const Ns eligible = attempt.facts->eligible.value_or(attempt.facts->submit);
    queue_wait_.Observe(Seconds(std::max<Ns>(0, allocated - eligible)));
    if (attempt.ready) provisioning_.Observe(Seconds(std::max<Ns>(0, *attempt.ready - allocated)));
  }
  for (const Interruption& interruption : timeline.interruptions) {
    ++partition.interruptions[interruption.cause];
    if (interruption.t_re) resources_.Observe(Seconds(*interruption.t_re));
    if (interruption.t_rm) restart_.Observe(Seconds(*interruption.t_rm));
  }
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    if (checkpoint.complete)
      checkpoint_.Observe(Seconds(std::max<Ns>(0, *checkpoint.complete - checkpoint.begin)));
  }
}

void RunMetrics::Add(const MetricSubject& subject, const Timeline& timeline) {
  const GpuWeights weights(timeline);
  Partition& partition = partitions_[subject.partition];
  if (timeline.running) {
    ++(HoldsNodes(timeline) ? partition.running : partition.pending);
    if (NoProgressSince(timeline)) ++partition.stalled;
    if (const std::optional<RunNow> run = LookAtNow(timeline)) partition.now.Add(*run);
    for (const Interval& interval : timeline.intervals) {
      if (interval.bucket == Bucket::kAtRisk && weights.has_gpus())
        partition.at_risk += weights.Split(interval, interval.begin, interval.end).own().gpu_ns;
    }
  } else {
    AddOver(timeline, weights, partition);
  }
  Shares shares;
  const std::size_t kind = weights.has_gpus() ? 0 : 1;
  bool any = false;
  for (const Interval& interval : timeline.intervals) {
    const Ns begin = std::max(interval.begin, now_ - kWindow);
    const Ns end = std::min(interval.end, now_);
    const Side side = BucketSide(interval.bucket);
    if (begin >= end || side == Side::kExcluded) continue;
    any = true;
    const GpuWeights::Shares split = weights.Split(interval, begin, end);
    for (const GpuWeights::Share& share : split) {
      shares.wanted[kind] += share.gpu_ns;
      if (IsUp(BucketSide(share.bucket))) shares.up[kind] += share.gpu_ns;
    }
    const GpuNs weight = split.own().gpu_ns;
    if (side == Side::kProductive) shares.productive[kind] += weight;
    if (interval.bucket == Bucket::kLostWork) shares.lost[kind] += weight;
    if (interval.bucket == Bucket::kAtRisk) shares.at_risk[kind] += weight;
    if (interval.bucket == Bucket::kUnobserved) shares.unobserved[kind] += weight;
  }
  if (!any) return;
  shares_by_partition_[subject.partition].Add(shares);
  shares_by_account_[subject.account].Add(shares);
  shares_by_qos_[subject.qos].Add(shares);
}

// Nothing of buckets in which nothing was measured: 0 would be a GPU that does nothing.
void RunMetrics::AddGpuUse(MetricText& text, const std::map<std::string, Partition>& partitions) {
  const auto add = [&](const std::string& name, const std::string& help, GpuNs GpuUseSum::*of,
                       const std::function<double(const GpuUseSum&)>& value) {
    text.Family(name, "counter", help);
    for (const auto& [partition, sums] : partitions) {
      for (const Bucket bucket : AllBuckets()) {
        const GpuUseSum& sum = sums.gpu_use[static_cast<std::size_t>(bucket)];
        if (sum.*of == 0) continue;
        text.Counter({{"partition", partition}, {"bucket", std::string(BucketName(bucket))}}, value(sum));
      }
    }
  };
  add("slurm_goodput_gpu_busy_measured_gpu_seconds",
      "GPU time of finished runs in which nodes measured how busy GPUs were, by bucket.", &GpuUseSum::busy_of,
      [](const GpuUseSum& sum) { return GpuSeconds(sum.busy_of); });
  add("slurm_goodput_gpu_busy_gpu_seconds", "The part of it in which they were busy.", &GpuUseSum::busy_of,
      [](const GpuUseSum& sum) { return GpuSeconds(sum.busy); });
  add("slurm_goodput_gpu_energy_joules",
      "Energy of the GPUs of finished runs, as far as it was measured, by bucket.", &GpuUseSum::energy_of,
      [](const GpuUseSum& sum) { return EnergyJ(sum).value_or(0); });
}

// The lower bound (unless no step was seen and the value may be anything), and the upper bound.
void RunMetrics::AddProgress(MetricText& text, const MetricLabels& labels, const std::string& part,
                             const Shares& shares, std::size_t kind, GpuNs of) {
  const GpuNs productive = shares.productive[kind];
  const GpuNs open = shares.at_risk[kind] + shares.unobserved[kind];
  const bool steps = productive + shares.at_risk[kind] + shares.lost[kind] > 0;
  if (steps || open == 0) AddRatio(text, labels, part, productive, of);
  AddRatio(text, labels, part + "_max", productive + open, of);
}

void RunMetrics::AddRatios(MetricText& text, const std::map<std::string, Shares>& by,
                           const std::string& label) {
  const auto bounded = Bounded(by, [](const Shares& shares) { return shares.wanted[0]; });
  for (const auto& [name, shares] : bounded) {
    const std::size_t kind = shares.wanted[0] > 0 ? 0 : 1;
    const MetricLabels labels = {{label, name}};
    AddRatio(text, labels, "scheduling", shares.up[kind], shares.wanted[kind]);
    AddProgress(text, labels, "runtime", shares, kind, shares.up[kind]);
    AddProgress(text, labels, "total", shares, kind, shares.wanted[kind]);
    AddRatio(text, labels, "unobserved", shares.unobserved[kind], shares.wanted[kind]);
  }
}

std::string RunMetrics::Text(const std::map<std::string, std::int64_t>& losses) const {
  const auto partitions = Bounded(partitions_, [](const Partition& partition) {
    GpuNs sum = 0;
    for (const GpuNs of_bucket : partition.gpu_ns) sum += of_bucket;
    return sum;
  });
  MetricText text;
  text.Family("slurm_goodput_partition_ratio", "gauge",
              "Goodput of a partition over the last 24 hours. total = scheduling x runtime, from kept steps "
              "only (lower bounds); runtime_max and total_max include at-risk steps and unobserved time; "
              "unobserved is the share of unobserved time.");
  AddRatios(text, shares_by_partition_, "partition");
  text.Family("slurm_goodput_account_ratio", "gauge", "The same per account.");
  AddRatios(text, shares_by_account_, "account");
  text.Family("slurm_goodput_qos_ratio", "gauge", "The same per QOS.");
  AddRatios(text, shares_by_qos_, "qos");
  text.Family("slurm_goodput_running_runs", "gauge", "Runs that hold nodes.");
  for (const auto& [name, of] : partitions)
    text.Gauge({{"partition", name}}, static_cast<double>(of.running));
  text.Family("slurm_goodput_stalled_runs", "gauge",
              "Running runs without progress for a minute or more, although their node is alive.");
  for (const auto& [name, of] : partitions)
    text.Gauge({{"partition", name}}, static_cast<double>(of.stalled));
  text.Family("slurm_goodput_wasted_gpus", "gauge",
              "GPUs that do nothing useful now, as `sgoodput now` lists them.");
  for (const auto& [name, of] : partitions) {
    for (std::size_t i = 0; i < kNowStates; ++i) {
      const auto state = static_cast<NowState>(i);
      if (WastesGpus(state))
        text.Gauge({{"partition", name}, {"state", std::string(NowStateName(state))}},
                   static_cast<double>(of.now.Of(state).gpus));
    }
  }
  text.Family("slurm_goodput_pending_runs", "gauge", "Runs that wait for nodes, including held ones.");
  for (const auto& [name, of] : partitions)
    text.Gauge({{"partition", name}}, static_cast<double>(of.pending));
  text.Family("slurm_goodput_at_risk_gpu_seconds", "gauge",
              "GPU time of running runs in steps that no checkpoint covers yet.");
  for (const auto& [name, of] : partitions) text.Gauge({{"partition", name}}, GpuSeconds(of.at_risk));
  text.Family("slurm_goodput_runs", "counter", "Finished runs.");
  for (const auto& [name, of] : partitions) text.Counter({{"partition", name}}, static_cast<double>(of.over));
  text.Family("slurm_goodput_bucket_gpu_seconds", "counter", "GPU time of finished runs, by bucket.");
  for (const auto& [name, of] : partitions) {
    for (const Bucket bucket : AllBuckets())
      text.Counter({{"partition", name}, {"bucket", std::string(BucketName(bucket))}},
                   GpuSeconds(of.gpu_ns[static_cast<std::size_t>(bucket)]));
  }
  text.Family("slurm_goodput_bucket_seconds", "counter", "Time of finished runs, by bucket.");
  for (const auto& [name, of] : partitions) {
    for (const Bucket bucket : AllBuckets())
      text.Counter({{"partition", name}, {"bucket", std::string(BucketName(bucket))}},
                   Seconds(of.ns[static_cast<std::size_t>(bucket)]));
  }
  AddGpuUse(text, partitions);
  text.Family("slurm_goodput_interruptions", "counter", "Interruptions of finished runs, by cause.");
  for (const auto& [name, of] : partitions) {
    for (const auto& [cause, count] : of.interruptions)
      text.Counter({{"partition", name}, {"cause", cause}}, static_cast<double>(count));
  }
  text.Family("slurm_goodput_queue_wait_seconds", "histogram",
              "Time from eligible to allocated, per attempt.");
  text.Histogram({}, queue_wait_);
  text.Family("slurm_goodput_provisioning_seconds", "histogram",
              "Time from allocated until the last node was ready, per attempt.");
  text.Histogram({}, provisioning_);
  text.Family("slurm_goodput_interruption_resources_seconds", "histogram",
              "Time from an interruption until resources were up again (t_re).");
  text.Histogram({}, resources_);
  text.Family("slurm_goodput_interruption_restart_seconds", "histogram",
              "Time from resources up again to the first step (t_rm).");
  text.Histogram({}, restart_);
  text.Family("slurm_goodput_checkpoint_seconds", "histogram",
              "Time from the begin of a checkpoint until it was complete.");
  text.Histogram({}, checkpoint_);
  text.Family("slurm_goodput_lost", "counter", "Records that nodes lost or refused, by kind.");
  for (const auto& [what, count] : losses) text.Counter({{"what", what}}, static_cast<double>(count));
  return std::move(text).Finish();
}

}  // namespace goodput
