#include "tools/accounting/timeline/goodput.h"

#include <algorithm>
#include <cstddef>

#include "tools/accounting/timeline/exclude.h"
#include "tools/accounting/timeline/lens.h"

namespace goodput {
namespace {

constexpr Ns kHour = 3600 * kSecond;

double Ratio(GpuNs part, GpuNs whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

void Add(BucketTotal& total, const Interval& interval, Ns ns, GpuNs gpu_ns) {
  const bool first = total.ns == 0 && total.gpu_ns == 0;
  total.evidence = first ? interval.evidence : Weaker(total.evidence, interval.evidence);
  total.ns += ns;
  total.gpu_ns += gpu_ns;
}

std::vector<BucketTotal> SumBuckets(const Timeline& timeline, const GpuWeights& weights) {
  std::vector<BucketTotal> totals(kBucketCount);
  for (const Bucket bucket : AllBuckets()) totals[static_cast<std::size_t>(bucket)].bucket = bucket;
  for (const Interval& interval : timeline.intervals) {
    BucketTotal& total = totals[static_cast<std::size_t>(interval.bucket)];
    const Ns ns = interval.end - interval.begin;
    const GpuWeights::Shares shares = weights.Split(interval, interval.begin, interval.end);
    for (const GpuWeights::Share& share : shares) {
      Add(totals[static_cast<std::size_t>(share.bucket)], interval, &share == &shares.own() ? ns : 0,
          share.gpu_ns);
    }
    if (interval.part.empty()) continue;
    auto part = std::find_if(total.parts.begin(), total.parts.end(),
                             [&](const BucketTotal& candidate) { return candidate.part == interval.part; });
    if (part == total.parts.end()) {
      part = total.parts.insert(part, BucketTotal{interval.bucket, interval.part, 0, 0, Evidence::kMark, {}});
    }
    Add(*part, interval, ns, shares.own().gpu_ns);
  }
  return totals;
}

Goodput Fractions(const Timeline& timeline, const std::vector<BucketTotal>& totals,
                  const GpuWeights& weights) {
  Goodput goodput;
  GpuNs wanted = 0;
  GpuNs up = 0;
  for (const BucketTotal& total : totals) {
    const Side side = BucketSide(total.bucket);
    if (side != Side::kExcluded) wanted += total.gpu_ns;
    if (side != Side::kExcluded && side != Side::kScheduling) up += total.gpu_ns;
  }
  const auto of = [&](Bucket bucket) -> const BucketTotal& {
    return totals[static_cast<std::size_t>(bucket)];
  };
  GpuNs gap = 0;
  for (const BucketTotal& part : of(Bucket::kUnobserved).parts) {
    if (part.part == "gap") gap += part.gpu_ns;
  }
  if (wanted == 0) return goodput;

  const bool steps_seen = timeline.steps.executed > 0;
  const GpuNs productive = of(Bucket::kProductive).gpu_ns;
  if (gap > 0) {
    goodput.scheduling_range = Range{Ratio(up - gap, wanted), Ratio(up, wanted)};
  } else {
    goodput.scheduling = Ratio(up, wanted);
    if (up > 0 && steps_seen) goodput.runtime = Ratio(productive, up);
  }
  if (steps_seen) goodput.sg_rg = Ratio(productive, wanted);
  const GpuNs open = of(Bucket::kAtRisk).gpu_ns + of(Bucket::kUnobserved).gpu_ns;
  if (goodput.runtime && open > 0)
    goodput.runtime_range = Range{*goodput.runtime, Ratio(productive + open, up)};

  GpuNs before_start = 0;
  const auto started =
      std::find_if(timeline.attempts.begin(), timeline.attempts.end(),
                   [](const AttemptSummary& attempt) { return attempt.facts->start.has_value(); });
  if (started != timeline.attempts.end() && gap == 0) {
    for (const Interval& interval : timeline.intervals) {
      if (interval.begin >= *started->facts->start) break;
      if (BucketSide(interval.bucket) == Side::kExcluded) continue;
      before_start +=
          weights(interval.attempt, interval.begin, std::min(interval.end, *started->facts->start));
    }
    if (wanted > before_start) goodput.scheduling_after_start = Ratio(up, wanted - before_start);
  }
  return goodput;
}

std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> GoogleInterval(const Timeline& timeline) {
  if (timeline.interruptions.empty()) return std::nullopt;
  std::vector<Ns> complete;
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    if (checkpoint.complete) complete.push_back(*checkpoint.complete);
  }
  std::sort(complete.begin(), complete.end());
  if (complete.size() < 2) return std::nullopt;
  const double interval =
      Seconds(complete.back() - complete.front()) / static_cast<double>(complete.size() - 1);
  std::vector<double> t_ch;
  std::vector<double> t_re;
  std::vector<double> t_rm;
  for (const Interruption& interruption : timeline.interruptions) {
    if (interruption.t_ch) t_ch.push_back(Seconds(*interruption.t_ch));
    if (interruption.t_re) t_re.push_back(Seconds(*interruption.t_re));
    if (interruption.t_rm) t_rm.push_back(Seconds(*interruption.t_rm));
  }
  const double whole = interval + Mean(t_re).value_or(0) + Mean(t_rm).value_or(0);
  if (whole <= 0) return std::nullopt;
  return std::max(0.0, (interval - Mean(t_ch).value_or(0)) / whole);
}

Definitions Define(const Timeline& timeline, const Goodput& goodput, const std::vector<BucketTotal>& totals) {
  Definitions definitions;
  definitions.rg = goodput.runtime;
  const auto started =
      std::find_if(timeline.attempts.begin(), timeline.attempts.end(),
                   [](const AttemptSummary& attempt) { return attempt.facts->start.has_value(); });
  if (timeline.steps.executed == 0 || started == timeline.attempts.end()) return definitions;
  const auto ns = [&](Bucket bucket) { return totals[static_cast<std::size_t>(bucket)].ns; };
  // A clipped timeline may begin later.
  const Ns first_start = std::max(*started->facts->start, timeline.begin);
  const Ns since_start = Included(timeline, first_start, timeline.end);
  const Ns productive = ns(Bucket::kProductive);
  const Ns wanted = Included(timeline, timeline.begin, timeline.end) - ns(Bucket::kHold);
  if (wanted > 0) definitions.ettr = Seconds(productive) / Seconds(wanted);
  if (since_start > 0) {
    definitions.google_api =
        Seconds(std::max<Ns>(0, productive - timeline.steps.first_step_excess)) / Seconds(since_start);
  }
  definitions.google_interval = GoogleInterval(timeline);

  NvcreTimes times;
  times.t_w = Seconds(since_start);
  times.t_ch = Seconds(ns(Bucket::kLostWork));
  times.t_save = Seconds(ns(Bucket::kCheckpointSave));
  Ns last_hour_productive = 0;
  const Ns hour_begin = std::max(timeline.begin, timeline.end - kHour);
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket == Bucket::kProductive && interval.end > hour_begin) {
      last_hour_productive += interval.end - std::max(interval.begin, hour_begin);
    }
    if (interval.end <= first_start) continue;
    if (BucketSide(interval.bucket) == Side::kScheduling)
      times.t_re += Seconds(interval.end - std::max(interval.begin, first_start));
    const bool restarting = interval.bucket == Bucket::kLaunch || interval.bucket == Bucket::kStartup;
    const bool first_incarnation =
        !timeline.incarnations.empty() && interval.begin < timeline.incarnations.front().end;
    if (restarting && !first_incarnation) times.t_rm += Seconds(interval.end - interval.begin);
  }
  definitions.nvcre = NvcreGoodput(times);
  if (const Ns last_hour = Included(timeline, hour_begin, timeline.end); last_hour > 0)
    definitions.ettr_1h = Seconds(last_hour_productive) / Seconds(last_hour);
  return definitions;
}

}  // namespace

GpuWeights::GpuWeights(const Timeline& timeline) {
  for (const AttemptSummary& attempt : timeline.attempts) facts_.push_back(attempt.facts);
  worlds_.resize(facts_.size());
  for (const WorldSpan& span : timeline.worlds)
    worlds_[static_cast<std::size_t>(span.attempt)].push_back(span);
  has_gpus_ = std::any_of(facts_.begin(), facts_.end(), [](const AttemptFacts* facts) {
    return facts->gpus > 0 || !facts->resizes.empty();
  });
}

GpuNs GpuWeights::operator()(int attempt, Ns begin, Ns end) const {
  if (begin >= end) return 0;
  if (!has_gpus_) return end - begin;
  const AttemptFacts& facts = *facts_[static_cast<std::size_t>(std::max(attempt, 0))];
  GpuNs sum = 0;
  for (const Resize& resize : facts.resizes) {
    const Ns until = std::clamp(resize.t, begin, end);
    sum += static_cast<GpuNs>(resize.gpus_before) * (until - begin);
    begin = until;
  }
  return sum + static_cast<GpuNs>(facts.gpus) * (end - begin);
}

GpuWeights::Sums GpuWeights::SumShares(int attempt, Ns begin, Ns end) const {
  Sums sums;
  const AttemptFacts& facts = *facts_[static_cast<std::size_t>(attempt)];
  const auto add = [&](const WorldSpan& span, Ns from, Ns to, int allocated) {
    if (from >= to) return;
    const WorldShares shares = SharesOf(span, allocated);
    sums.stepping += static_cast<GpuNs>(shares.stepping) * (to - from);
    sums.standby += static_cast<GpuNs>(shares.standby) * (to - from);
    sums.idle_member += static_cast<GpuNs>(shares.idle_member) * (to - from);
    sums.missing += static_cast<GpuNs>(shares.missing) * (to - from);
  };
  const std::vector<WorldSpan>& worlds = worlds_[static_cast<std::size_t>(attempt)];
  auto world = std::upper_bound(worlds.begin(), worlds.end(), begin,
                                [](Ns t, const WorldSpan& span) { return t < span.end; });
  for (; world != worlds.end() && world->begin < end; ++world) {
    sums.stepping += (*this)(attempt, begin, std::max(begin, world->begin));
    Ns from = std::max(begin, world->begin);
    const Ns to = std::min(end, world->end);
    for (const Resize& resize : facts.resizes) {
      const Ns until = std::clamp(resize.t, from, to);
      add(*world, from, until, resize.gpus_before);
      from = until;
    }
    add(*world, from, to, facts.gpus);
    begin = to;
  }
  sums.stepping += (*this)(attempt, begin, end);
  return sums;
}

GpuWeights::Shares GpuWeights::Split(const Interval& interval, Ns begin, Ns end) const {
  const Side side = BucketSide(interval.bucket);
  const bool up = side != Side::kExcluded && side != Side::kScheduling;
  const bool whole = !has_gpus_ || !up || interval.attempt < 0 || begin >= end ||
                     worlds_[static_cast<std::size_t>(interval.attempt)].empty();
  Shares shares;
  if (whole) {
    shares.Add(interval.bucket, (*this)(interval.attempt, begin, end));
    return shares;
  }
  const Sums sums = SumShares(interval.attempt, begin, end);
  shares.Add(interval.bucket, sums.stepping);
  const auto add = [&](Bucket bucket, GpuNs gpu_ns) {
    if (gpu_ns > 0) shares.Add(bucket, gpu_ns);
  };
  add(Bucket::kStandby, sums.standby);
  add(Bucket::kIdleMember, sums.idle_member);
  add(Bucket::kMissing, sums.missing);
  return shares;
}

GpuNs GpuWeights::Stepping(int attempt, Ns begin, Ns end) const {
  if (!has_gpus_ || attempt < 0 || begin >= end) return (*this)(attempt, begin, end);
  return SumShares(attempt, begin, end).stepping;
}

double GpuWeights::MeanStepping(const Incarnation& start) const {
  if (!start.first_step_begin) return 0;
  const Ns begin = *start.first_step_begin;
  const Ns end = std::max(begin + 1, start.last_progress.value_or(begin));
  return static_cast<double>(Stepping(start.attempt, begin, end)) / static_cast<double>(end - begin);
}

std::optional<double> NvcreGoodput(const NvcreTimes& times) {
  const double whole = times.t_w - times.t_re;
  if (whole <= 0) return std::nullopt;
  return std::max(0.0, (times.t_w - times.t_ch - times.t_rm - times.t_re - times.t_save) / whole);
}

std::vector<GpuWait> WaitsOfGpus(const Timeline& timeline, const GpuWeights& weights) {
  std::vector<GpuWait> waits;
  if (!timeline.rank_wait) return waits;
  std::vector<double> gpus;
  gpus.reserve(timeline.incarnations.size());
  for (const Incarnation& start : timeline.incarnations) gpus.push_back(weights.MeanStepping(start));
  const auto weigh = [&](Ns ns, std::size_t start) {
    return static_cast<GpuNs>(static_cast<double>(ns) * gpus[start]);
  };
  waits.reserve(timeline.rank_wait->steps.size());
  for (const LateStep& step : timeline.rank_wait->steps)
    waits.push_back({weigh(step.wait, step.start), weigh(step.most, step.start)});
  return waits;
}

Account TakeAccount(const Timeline& timeline) {
  Account account;
  const GpuWeights weights(timeline);
  account.has_gpus = weights.has_gpus();
  if (!timeline.attempts.empty()) account.gpus = timeline.attempts.back().facts->gpus;
  account.buckets = SumBuckets(timeline, weights);
  account.goodput = Fractions(timeline, account.buckets, weights);
  account.definitions = Define(timeline, account.goodput, account.buckets);
  if (timeline.rank_wait) {
    account.rank_wait.emplace();
    for (const GpuWait& wait : WaitsOfGpus(timeline, weights)) account.rank_wait->Add(wait);
  }
  account.gpu_use = SumGpuUse(timeline);
  account.lens = TakeLens(timeline, account.buckets, weights);
  if (account.lens) DefineLens(*account.lens, account.goodput.scheduling.has_value(), account.definitions);
  return account;
}

std::string TakeProgramGoodput(const StepCounts& steps, double flops_per_step, double peak_flops,
                               Account& account) {
  const BucketTotal& productive = account.buckets[static_cast<std::size_t>(Bucket::kProductive)];
  if (!account.has_gpus) return "the run had no GPUs";
  if (steps.executed == 0) return "no steps were seen";
  if (productive.gpu_ns <= 0) return "no step is known to be kept";
  const double gpu_seconds = static_cast<double>(productive.gpu_ns) / static_cast<double>(kSecond);
  const double program = static_cast<double>(steps.kept) * flops_per_step / (gpu_seconds * peak_flops);
  if (program > 1) {
    return "the kept steps exceed the peak of the GPUs: the FLOPs per step, the precision or the peak is "
           "wrong";
  }
  account.goodput.program = program;
  if (account.goodput.sg_rg) account.goodput.mpg = *account.goodput.sg_rg * program;
  return "";
}

}  // namespace goodput
