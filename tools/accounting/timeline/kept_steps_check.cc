#include "tools/accounting/timeline/kept_steps_check.h"

#include <algorithm>
#include <tuple>

namespace goodput {
namespace {

// A message with more ranges would be too long.
constexpr std::size_t kMostRangesNamed = 4;

std::string Named(const std::vector<StepRange>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < ranges.size() && i < kMostRangesNamed; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(ranges[i].first);
    if (ranges[i].last > ranges[i].first) text += " to " + std::to_string(ranges[i].last);
  }
  if (ranges.size() > kMostRangesNamed)
    text += " and " + std::to_string(ranges.size() - kMostRangesNamed) + " more ranges";
  return text;
}

}  // namespace

bool Ledger::holds() const {
  if (!kept_in) return kept == 0;
  return missing.empty() && twice.empty() && kept == kept_in->last - kept_in->first + 1;
}

Ledger ReadLedger(const Timeline& timeline) {
  Ledger ledger;
  ledger.kept = timeline.steps.kept;
  std::vector<StepRange> ranges;
  for (const Incarnation& incarnation : timeline.incarnations) {
    if (incarnation.first_step && incarnation.kept_step)
      ranges.push_back({*incarnation.first_step, *incarnation.kept_step});
  }
  std::sort(ranges.begin(), ranges.end(), [](const StepRange& a, const StepRange& b) {
    return std::tie(a.first, a.last) < std::tie(b.first, b.last);
  });
  for (const StepRange& range : ranges) {
    if (!ledger.kept_in) {
      ledger.kept_in = range;
      continue;
    }
    std::int64_t& last = ledger.kept_in->last;
    if (range.first > last + 1) ledger.missing.push_back({last + 1, range.first - 1});
    if (range.first <= last) ledger.twice.push_back({range.first, std::min(range.last, last)});
    last = std::max(last, range.last);
  }
  return ledger;
}

std::string InWords(const Ledger& ledger) {
  if (!ledger.kept_in)
    return ledger.holds() ? "no step kept" : std::to_string(ledger.kept) + " kept, without step numbers";
  const StepRange& range = *ledger.kept_in;
  std::string text = std::to_string(ledger.kept) + " kept " + (ledger.holds() ? "= " : "of ");
  text += range.first == range.last
              ? "step " + std::to_string(range.first)
              : "steps " + std::to_string(range.first) + " to " + std::to_string(range.last);
  if (ledger.holds()) return text + (range.first == range.last ? ", once" : ", each once");
  if (!ledger.missing.empty()) text += "; no record that " + Named(ledger.missing) + " began";
  if (!ledger.twice.empty()) text += "; kept twice: " + Named(ledger.twice);
  if (ledger.missing.empty() && ledger.twice.empty())
    text += ", a range of " + std::to_string(range.last - range.first + 1);
  return text;
}

}  // namespace goodput
