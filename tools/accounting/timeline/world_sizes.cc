#include "tools/accounting/timeline/world_sizes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
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
  const auto last = timeline.intervals.end();
  for (const WorldSpan& world : timeline.worlds) {
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(world.attempt)].facts;
    for (auto interval = timeline.intervals.FirstAfter(world.begin);
         interval != last && interval->begin < world.end; ++interval) {
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

std::optional<double> ShareOfDeclaredTokens(const Timeline& timeline, double tokens_per_step) {
  const StepCounts& steps = timeline.steps;
  if (!steps.kept_tokens || steps.kept == 0 || tokens_per_step <= 0) return std::nullopt;
  bool differ = false;
  bool declared = false;
  for (const WorldSpan& world : timeline.worlds) {
    if (!world.tokens) return std::nullopt;
    const auto tokens = static_cast<double>(*world.tokens);
    differ = differ || *world.tokens != *timeline.worlds.front().tokens;
    declared = declared || tokens == tokens_per_step;
  }
  if (!differ || !declared) return std::nullopt;
  return *steps.kept_tokens / (static_cast<double>(steps.kept) * tokens_per_step);
}

std::string WhyStepsMayDiffer(const Timeline& timeline) {
  std::set<std::int64_t> numbers;
  Ns unmarked = 0;
  for (const WorldSize& size : ReadWorldSizes(timeline)) {
    numbers.insert(size.stepping);
    unmarked -= size.ns;
  }
  if (numbers.empty()) return "";
  std::set<std::int64_t> allocated;
  for (const Interval& interval : timeline.intervals) {
    if (interval.attempt < 0 || !IsTraining(interval.bucket)) continue;
    unmarked += interval.end - interval.begin;
    allocated.insert(timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts->gpus);
  }
  if (unmarked > 0) numbers.merge(allocated);
  std::set<std::optional<std::int64_t>> tokens;
  for (const AttemptSummary& attempt : timeline.attempts) {
    for (const WorldMark& mark : attempt.facts->worlds) tokens.insert(mark.tokens);
  }
  const bool told = tokens.count(std::nullopt) == 0;
  if (told && tokens.size() > 1) return "the tokens of a step changed while it ran";
  if (told || numbers.size() < 2) return "";
  return "the number of GPUs that train changed, and marks of the world do not tell the tokens of a step";
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
