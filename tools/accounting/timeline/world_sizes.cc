#include "tools/accounting/timeline/world_sizes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "tools/base/format.h"

namespace goodput {
namespace {

// Further ones are counted.
constexpr std::size_t kMostSizes = 3;

bool IsTraining(Bucket bucket) {
  return bucket == Bucket::kProductive || bucket == Bucket::kAtRisk || bucket == Bucket::kLostWork;
}

using Sizes = std::map<std::pair<std::int64_t, std::int64_t>, Ns>;

// [begin, end) of one world and one number of allocated GPUs.
void AddStretch(const WorldSpan& world, std::int64_t allocated, Ns begin, Ns end, Sizes& sizes) {
  if (begin >= end || allocated <= 0) return;
  const WorldShares shares = SharesOf(world, allocated);
  const std::int64_t wanted = world.wanted.value_or(allocated - shares.standby);
  sizes[{shares.stepping, std::max(shares.stepping, wanted)}] += end - begin;
}

}  // namespace

std::vector<WorldSize> ReadWorldSizes(const Timeline& timeline) {
  Sizes sums;
  auto interval = timeline.intervals.begin();
  for (const WorldSpan& world : timeline.worlds) {
    interval = std::partition_point(timeline.intervals.begin(), timeline.intervals.end(),
                                    [&](const Interval& one) { return one.end <= world.begin; });
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(world.attempt)].facts;
    for (; interval != timeline.intervals.end() && interval->begin < world.end; ++interval) {
      if (interval->attempt != world.attempt || !IsTraining(interval->bucket)) continue;
      Ns at = std::max(interval->begin, world.begin);
      const Ns end = std::min(interval->end, world.end);
      for (const Resize& resize : facts.resizes) {
        const Ns until = std::clamp(resize.t, at, end);
        AddStretch(world, resize.gpus_before, at, until, sums);
        at = until;
      }
      AddStretch(world, facts.gpus, at, end, sums);
    }
  }
  std::vector<WorldSize> sizes;
  for (const auto& [size, ns] : sums) sizes.push_back({size.first, size.second, ns});
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const WorldSize& a, const WorldSize& b) { return a.ns > b.ns; });
  return sizes;
}

std::string InWords(const std::vector<WorldSize>& sizes) {
  std::vector<WorldSize> small;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(small),
               [](const WorldSize& size) { return size.stepping < size.wanted; });
  std::string text;
  Ns others = 0;
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (i >= kMostSizes) {
      others += small[i].ns;
      continue;
    }
    text += i == 0 ? "trained with " : i + 1 == small.size() ? " and " : ", ";
    text += std::to_string(small[i].stepping) + " of " + std::to_string(small[i].wanted) +
            (i == 0 ? " GPUs for " : " for ") + FormatDuration(small[i].ns);
  }
  if (others > 0) text += " and with other numbers for " + FormatDuration(others);
  return text;
}

}  // namespace goodput
