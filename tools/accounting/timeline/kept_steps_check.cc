#include "tools/accounting/timeline/kept_steps_check.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

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
  std::int64_t numbers = 0;
  for (const StepRange& range : kept_in) numbers += range.last - range.first + 1;
  return missing.empty() && twice.empty() && kept == numbers;
}

Ledger ReadLedger(const Timeline& timeline) {
  Ledger ledger;
  ledger.kept = timeline.steps.kept;
  std::vector<std::pair<int, StepRange>> ranges;  // with the training
  for (const Incarnation& incarnation : timeline.incarnations) {
    if (incarnation.first_step && incarnation.kept_step)
      ranges.push_back({incarnation.training, {*incarnation.first_step, *incarnation.kept_step}});
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.first, a.second.last) <
           std::tie(b.first, b.second.first, b.second.last);
  });
  std::optional<int> of;
  for (const auto& [training, range] : ranges) {
    if (of != training) {
      of = training;
      ledger.kept_in.push_back(range);
      continue;
    }
    std::int64_t& last = ledger.kept_in.back().last;
    if (range.first > last + 1) ledger.missing.push_back({last + 1, range.first - 1});
    if (range.first <= last) ledger.twice.push_back({range.first, std::min(range.last, last)});
    last = std::max(last, range.last);
  }
  return ledger;
}

std::string InWords(const Ledger& ledger) {
  const std::size_t trainings = ledger.kept_in.size();
  if (trainings == 0)
    return ledger.holds() ? "no step kept" : std::to_string(ledger.kept) + " kept, without step numbers";
  const StepRange& range = ledger.kept_in.front();
  const bool one_step = trainings == 1 && range.first == range.last;
  std::string text = std::to_string(ledger.kept) + " kept " + (ledger.holds() ? "= " : "of ") +
                     (one_step ? "step " : "steps ") + Named(ledger.kept_in);
  if (trainings > 1) text += " of " + std::to_string(trainings) + " trainings";
  if (ledger.holds()) return text + (one_step ? ", once" : ", each once");
  if (!ledger.missing.empty()) text += "; no record that " + Named(ledger.missing) + " began";
  if (!ledger.twice.empty()) text += "; kept twice: " + Named(ledger.twice);
  if (trainings == 1 && ledger.missing.empty() && ledger.twice.empty())
    text += ", a range of " + std::to_string(range.last - range.first + 1);
  return text;
}

}  // namespace goodput
