#include "tools/accounting/metrics/workload_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "spank/json_text.h"
#include "sql/text.h"
#include "tools/accounting/rollup/rollup.h"

namespace goodput {
namespace {

constexpr const char* kPrefix = "compute.googleapis.com/workload/";
constexpr const char* kRecovery = "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION";
constexpr std::array kWindowsS{86'400, 259'200, 432'000};

std::string CustomSource(Bucket bucket) {
  return Cat("CUSTOM_BADPUT_EVENTS.", absl::AsciiStrToUpper(ToAbsl(BucketName(bucket))));
}

std::string StartupSource(std::string_view part) {
  if (part == "init") return "TPU_INITIALIZATION";
  if (part == "restore") return "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME";
  if (part == "compile") return "PROGRAM_STARTUP";
  if (part == "data_loading" || part == "dataloader") return "DATA_LOADING_SYNC";
  return part == kElasticReinitPhase ? "ELASTIC_REINITIALIZATION" : "TRAINING_PREP";
}

enum class Use { kExcluded, kGoodput, kStartup, kSave, kLost, kUnknown, kRecovery, kMayBeRecovery, kCustom };

Use UseOf(Bucket bucket) {
  switch (bucket) {
    case Bucket::kHold:
    // These have GPU time, but no seconds.
    case Bucket::kMissing:
    case Bucket::kStandby:
    case Bucket::kIdleMember:
      return Use::kExcluded;
    case Bucket::kProductive:
      return Use::kGoodput;
    case Bucket::kStartup:
      return Use::kStartup;
    case Bucket::kCheckpointSave:
      return Use::kSave;
    case Bucket::kLostWork:
      return Use::kLost;
    case Bucket::kUnobserved:
      return Use::kUnknown;
    case Bucket::kRequeueBackoff:
    case Bucket::kResubmitGap:
      return Use::kRecovery;
    case Bucket::kQueueResources:
    case Bucket::kQueuePriority:
    case Bucket::kQueueOther:
    case Bucket::kProvisioning:
    case Bucket::kStall:
    case Bucket::kDrain:
    case Bucket::kTeardown:
      return Use::kMayBeRecovery;
    case Bucket::kSuspended:
    case Bucket::kLaunch:
    case Bucket::kAtRisk:
    case Bucket::kOverhead:
      return Use::kCustom;
  }
  return Use::kCustom;
}

std::string SourceOf(const Timeline& timeline, const Interval& interval) {
  switch (UseOf(interval.bucket)) {
    case Use::kStartup:
      return StartupSource(interval.part);
    case Use::kSave:
      return "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME";
    case Use::kLost:
      return "WASTED_PROGRESS_FROM_DISRUPTION";
    case Use::kUnknown:
      return "OTHER";
    case Use::kRecovery:
      return kRecovery;
    case Use::kMayBeRecovery:
      return InterruptionOf(timeline, interval) == nullptr ? CustomSource(interval.bucket) : kRecovery;
    case Use::kExcluded:
    case Use::kGoodput:
    case Use::kCustom:
      break;
  }
  return CustomSource(interval.bucket);
}

std::map<std::string, Ns> NoBadput() {
  std::map<std::string, Ns> badput;
  for (const char* source :
       {"TPU_INITIALIZATION", "TRAINING_PREP", "PROGRAM_STARTUP", "DATA_LOADING_SYNC",
        "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME", "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME",
        "WASTED_PROGRESS_FROM_DISRUPTION", kRecovery, "ELASTIC_REINITIALIZATION", "OTHER"})
    badput[source] = 0;
  for (const Bucket bucket : AllBuckets()) {
    const Use use = UseOf(bucket);
    if (use == Use::kCustom || use == Use::kMayBeRecovery) badput[CustomSource(bucket)] = 0;
  }
  return badput;
}

double Seconds(Ns ns) {
  return static_cast<double>(ns) / static_cast<double>(kSecond);
}

class SeriesMaker {
 public:
  SeriesMaker(const Workload& workload, const Timeline& timeline)
      : workload_(workload), timeline_(timeline) {}
  std::vector<WorkloadSeries> Make() &&;

 private:
  MetricLabels Labels(MetricLabels own, bool accelerator = true) const;
  void Add(const char* name, MetricLabels own, std::variant<double, std::int64_t> value) {
    series_.push_back({Cat(kPrefix, name), Labels(std::move(own)), value});
  }
  void AddSteps(Ns productive);
  void AddWindow(int seconds);
  void AddEfficiency(Ns begin, Ns end, const char* window_type, int seconds);

  const Workload& workload_;
  const Timeline& timeline_;
  std::vector<WorkloadSeries> series_;
};

MetricLabels SeriesMaker::Labels(MetricLabels own, bool accelerator) const {
  if (accelerator) own.emplace_back("accelerator_type", workload_.accelerator);
  if (!workload_.cluster.empty()) own.emplace_back("cluster_name", workload_.cluster);
  return own;
}

void SeriesMaker::AddSteps(Ns productive) {
  std::optional<std::int64_t> kept;
  for (const AttemptSummary& attempt : timeline_.attempts) {
    if (attempt.kept_step) kept = std::max(kept.value_or(*attempt.kept_step), *attempt.kept_step);
  }
  if (kept) Add("max_productive_steps", {}, *kept);
  const std::optional<Ns>& median = timeline_.steps.median;
  if (!median) return;
  series_.push_back({Cat(kPrefix, "performance"), Labels({}, false), Seconds(*median)});
  if (timeline_.steps.kept > 0) {
    const double mean = Seconds(productive) / static_cast<double>(timeline_.steps.kept);
    Add("step_time_deviation", {}, std::abs(mean - Seconds(*median)));
  }
}

void SeriesMaker::AddWindow(int seconds) {
  const WorkloadTimes times =
      TimesOfWorkload(timeline_, timeline_.now - Ns{seconds} * kSecond, timeline_.now);
  if (times.elapsed == 0) return;
  const auto percent = [&](Ns ns) {
    return 100 * static_cast<double>(ns) / static_cast<double>(times.elapsed);
  };
  const std::pair<std::string, std::string> window{"rolling_window_size", Cat(seconds)};
  Add("interval_goodput", {{"goodput_source", "TOTAL"}, window}, percent(times.goodput));
  for (const auto& [source, ns] : times.badput)
    Add("interval_badput", {{"badput_source", source}, window}, percent(ns));
}

void SeriesMaker::AddEfficiency(Ns begin, Ns end, const char* window_type, int seconds) {
  const std::optional<SliceEfficiency> slices = EfficiencyOfSlices(timeline_, begin, end);
  if (!slices) return;
  const MetricLabels window{{"window_type", window_type}, {"rolling_window_size", Cat(seconds)}};
  Add("stepping_slice_efficiency", window, slices->stepping);
  Add("available_slice_efficiency", window, slices->available);
}

std::vector<WorkloadSeries> SeriesMaker::Make() && {
  const WorkloadTimes times = TimesOfWorkload(timeline_, timeline_.begin, timeline_.end);
  if (times.elapsed == 0) return {};
  const std::pair<std::string, std::string> whole{"window_type", "cumulative"};
  Add("goodput_time", {{"goodput_source", "TOTAL"}}, Seconds(times.goodput));
  for (const auto& [source, ns] : times.badput) Add("badput_time", {{"badput_source", source}}, Seconds(ns));
  Add("total_elapsed_time", {whole}, Seconds(times.elapsed));
  Add("disruptions", {whole}, static_cast<std::int64_t>(timeline_.interruptions.size()));
  AddSteps(times.goodput);
  AddEfficiency(timeline_.begin, timeline_.end, "CUMULATIVE", 0);
  for (const int seconds : kWindowsS) {
    AddWindow(seconds);
    AddEfficiency(timeline_.now - Ns{seconds} * kSecond, timeline_.now, "INTERVAL", seconds);
  }
  return std::move(series_);
}

}  // namespace

std::string WorkloadId(std::string_view cluster, std::string_view user, std::string_view run,
                       std::string_view job) {
  std::string id(cluster);
  if (!id.empty()) id += '/';
  return run.empty() ? Cat(id, job) : Cat(id, user, "/", run);
}

std::string AcceleratorType(std::string_view gpu_type, bool has_gpus) {
  const std::string type = absl::AsciiStrToUpper(ToAbsl(gpu_type));
  for (const char* known : {"H100", "H200", "A100"}) {
    if (absl::StrContains(type, known)) return Cat("NVIDIA-", known);
  }
  return has_gpus || !type.empty() ? "GPU" : "UNKNOWN";
}

WorkloadTimes TimesOfWorkload(const Timeline& timeline, Ns begin, Ns end) {
  WorkloadTimes times;
  times.badput = NoBadput();
  for (const Interval& interval : timeline.intervals) {
    const Ns within = std::min(interval.end, end) - std::max(interval.begin, begin);
    const Use use = UseOf(interval.bucket);
    if (within <= 0 || use == Use::kExcluded) continue;
    times.elapsed += within;
    (use == Use::kGoodput ? times.goodput : times.badput[SourceOf(timeline, interval)]) += within;
  }
  return times;
}

std::optional<SliceEfficiency> EfficiencyOfSlices(const Timeline& timeline, Ns begin, Ns end) {
  SliceEfficiency sums;
  double time = 0;
  const auto add = [&](const WorldSpan& world, std::int64_t allocated, Ns from, Ns to) {
    if (from >= to || allocated <= 0 || !world.stepping) return;
    const WorldShares shares = SharesOf(world, allocated);
    const double wanted =
        static_cast<double>(std::max(shares.stepping, world.wanted.value_or(allocated - shares.standby)));
    const auto ns = static_cast<double>(to - from);
    sums.stepping += ns * static_cast<double>(shares.stepping) / wanted;
    sums.available += ns * std::min(1.0, static_cast<double>(allocated) / wanted);
    time += ns;
  };
  for (const WorldSpan& world : timeline.worlds) {
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(world.attempt)].facts;
    Ns from = std::max(begin, world.begin);
    const Ns to = std::min(end, world.end);
    if (from >= to) continue;
    for (const Resize& resize : facts.resizes) {
      const Ns until = std::clamp(resize.t, from, to);
      add(world, resize.gpus_before, from, until);
      from = until;
    }
    add(world, facts.gpus, from, to);
  }
  if (time <= 0) return std::nullopt;
  return SliceEfficiency{sums.stepping / time, sums.available / time};
}

std::vector<WorkloadSeries> SeriesOfWorkload(const Workload& workload, const Timeline& timeline) {
  return SeriesMaker(workload, timeline).Make();
}

std::string SeriesLine(const Workload& workload, const WorkloadSeries& series) {
  std::string labels;
  for (const auto& [name, value] : series.labels)
    labels += Cat(labels.empty() ? "" : ",", QuotedJson(name), ":", QuotedJson(value));
  const auto* const whole = std::get_if<std::int64_t>(&series.value);
  const std::string value = whole != nullptr
                                ? Cat("\"INT64\",\"value\":{\"int64Value\":\"", *whole, "\"}")
                                : Cat("\"DOUBLE\",\"value\":{\"doubleValue\":",
                                      absl::StrFormat("%.17g", std::get<double>(series.value)), "}");
  return Cat("{\"workload_id\":", QuotedJson(workload.id), ",\"metric\":{\"type\":", QuotedJson(series.type),
             ",\"labels\":{", labels, "}},\"valueType\":", value, "}");
}

}  // namespace goodput
