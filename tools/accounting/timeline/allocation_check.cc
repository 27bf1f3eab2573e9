#include "tools/accounting/timeline/allocation_check.h"

#include <algorithm>
#include <cstddef>

#include "tools/accounting/timeline/exclude.h"

namespace goodput {
namespace {

bool IsAllocated(const Interval& interval) {
  const Side side = BucketSide(interval.bucket);
  if (side == Side::kUnknown) return interval.part != "gap";
  return side == Side::kRuntime || side == Side::kProductive || side == Side::kOpen ||
         interval.bucket == Bucket::kProvisioning || interval.bucket == Bucket::kSuspended;
}

// Whole seconds if exact, as in accounting; otherwise to the millisecond.
std::string GpuSecondsText(GpuNs gpu_ns) {
  const bool negative = gpu_ns < 0;
  const GpuNs milliseconds = ((negative ? -gpu_ns : gpu_ns) + 500'000) / 1'000'000;
  std::string text = std::to_string(static_cast<long long>(milliseconds / 1000));
  if (const int rest = static_cast<int>(milliseconds % 1000); rest != 0)
    text += "." + std::to_string(1000 + rest).substr(1);
  return (negative ? "-" : "") + text;
}

}  // namespace

AllocatedTime ReadAllocatedTime(const Timeline& timeline) {
  AllocatedTime allocated;
  const GpuWeights weights(timeline);
  allocated.has_gpus = weights.has_gpus();
  GpuNs early = 0;
  GpuNs late = 0;
  for (const Interval& interval : timeline.intervals) {
    if (!IsAllocated(interval) || interval.attempt < 0) continue;
    const GpuNs weight = weights(interval.attempt, interval.begin, interval.end);
    if (interval.bucket == Bucket::kProvisioning) {
      allocated.provisioning += weight;
    } else if (interval.bucket == Bucket::kSuspended) {
      allocated.suspended += weight;
    } else {
      allocated.up += weight;
    }
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts;
    const Ns start = facts.start.value_or(interval.end);
    early += weights(interval.attempt, interval.begin, std::min(interval.end, start));
    late +=
        weights(interval.attempt, std::max(interval.begin, facts.end.value_or(timeline.now)), interval.end);
  }

  GpuNs& outside = allocated.outside;
  const std::vector<TimeSpan> excluded = ExcludedSpans(timeline);
  GpuNs shared = 0;
  bool any = false;
  for (std::size_t a = 0; a < timeline.attempts.size(); ++a) {
    const AttemptFacts& facts = *timeline.attempts[a].facts;
    if (!facts.start) continue;
    const int index = static_cast<int>(a);
    const Ns begin = *facts.start;
    const Ns end = std::max(begin, facts.end.value_or(timeline.now));
    allocated.told += weights(index, begin, end);
    allocated.evidence = any ? Weaker(allocated.evidence, facts.evidence) : facts.evidence;
    any = true;
    outside += weights(index, begin, std::min(end, timeline.begin));
    outside += weights(index, std::max(begin, timeline.end), end);
    for (const TimeSpan& hole : excluded)
      outside += weights(index, std::max(begin, hole.begin), std::min(end, hole.end));
    // Intervals are in order and disjoint.
    if (timeline.attempts.size() == 1) continue;
    const auto last = timeline.intervals.end();
    for (auto interval = timeline.intervals.FirstAfter(begin); interval != last && interval->begin < end;
         ++interval) {
      if (interval->attempt == index || !IsAllocated(*interval)) continue;
      shared += weights(index, std::max(begin, interval->begin), std::min(end, interval->end));
    }
  }

  const auto differ = [&](GpuNs gpu_ns, const char* why) {
    if (gpu_ns != 0) allocated.differences.push_back({gpu_ns, why});
  };
  differ(-outside, "outside the selected time");
  differ(-shared, "another attempt held resources at the same time; counted once");
  differ(early, "allocated before the start that the scheduler reports, while nodes booted");
  differ(late, "counted after the end that the scheduler reports");
  differ(allocated.counted() - allocated.told + outside + shared - early - late, "not explained");
  return allocated;
}

std::string InWords(const AllocatedTime& allocated) {
  std::string text = GpuSecondsText(allocated.told);
  text += allocated.has_gpus ? " GPU-s" : " s";
  text += allocated.evidence == Evidence::kAccounting ? " according to sacct"
          : allocated.evidence == Evidence::kScheduler
              ? " according to the controller"
              : " according to " + std::string(EvidenceName(allocated.evidence));
  text += allocated.agrees() ? " = " : "; the buckets have " + GpuSecondsText(allocated.counted()) + " = ";
  text += GpuSecondsText(allocated.provisioning) + " provisioning";
  if (allocated.suspended > 0) text += " + " + GpuSecondsText(allocated.suspended) + " suspended";
  text += " + " + GpuSecondsText(allocated.up) + " up";
  for (const AllocatedTime::Difference& difference : allocated.differences) {
    text += "; " + std::string(difference.gpu_ns > 0 ? "+" : "") + GpuSecondsText(difference.gpu_ns) + ": " +
            difference.why;
  }
  return text;
}

}  // namespace goodput
