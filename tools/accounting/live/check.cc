#include "tools/accounting/live/check.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

Check AtLeast(const char* name, const char* text, const std::optional<double>& value,
              const std::optional<Range>& range, double limit) {
  Check check;
  const Range known = value ? Range{*value, *value} : range.value_or(Range{0, 1});
  // A value may have a range of its own, if steps are at risk.
  const double low = range ? std::min(known.first, range->first) : known.first;
  const double high = range ? std::max(known.second, range->second) : known.second;
  check.state = low >= limit ? CheckState::kOk : high < limit ? CheckState::kCritical : CheckState::kUnknown;
  check.text = Cat(text, " ", FormatPercent(value, range), " (at least ", FormatPercent(limit), ")");
  if (value) check.perf = absl::StrFormat("%s=%.4f;;%g:;0;1", name, *value, limit);
  return check;
}

Check AtMost(const char* name, const std::string& text, Ns value, Ns limit) {
  Check check;
  if (value > limit) check.state = CheckState::kCritical;
  check.text = Cat(text, " (at most ", FormatDuration(limit), ")");
  check.perf = Cat(name, "=", value / kSecond, "s;;", limit / kSecond, ";0");
  return check;
}

Check Progress(const Timeline& timeline, const std::optional<RunNow>& now, Ns limit) {
  const std::optional<Ns> since = NoProgressSince(timeline);
  if (since) {
    const Ns passed = timeline.now - *since;
    return AtMost("no_progress", Cat("no progress for ", FormatDuration(passed)), passed, limit);
  }
  Check check = AtMost("no_progress", "makes progress", 0, limit);
  if (!now) {
    check.text = "not running";
  } else if (now->state == NowState::kUnobserved) {
    check.state = CheckState::kUnknown;
    check.text = "whether it makes progress is not known";
    check.perf.clear();
  } else if (now->state != NowState::kTraining && now->state != NowState::kRarelySaved) {
    check.text = std::string(NowStateText(now->state));
  }
  return check;
}

Check Idle(const Timeline& timeline, const std::optional<RunNow>& now, Ns limit) {
  const bool idle = now && now->state == NowState::kIdle;
  const Ns passed = idle ? timeline.now - now->since : 0;
  return AtMost("idle", idle ? Cat("idle for ", FormatDuration(passed)) : "not idle", passed, limit);
}

}  // namespace

bool CheckLimits::any() const {
  return scheduling || runtime || sg_rg || mpg || no_progress || idle || at_risk;
}

std::vector<Check> CheckRun(const Timeline& whole, const Account& whole_account, const Account& account,
                            const CheckLimits& limits) {
  std::vector<Check> checks;
  const Goodput& goodput = account.goodput;
  if (limits.scheduling)
    checks.push_back(AtLeast("scheduling", "scheduling goodput", goodput.scheduling, goodput.scheduling_range,
                             *limits.scheduling));
  if (limits.runtime)
    checks.push_back(
        AtLeast("runtime", "runtime goodput", goodput.runtime, goodput.runtime_range, *limits.runtime));
  if (limits.sg_rg)
    checks.push_back(AtLeast("goodput", "goodput", goodput.sg_rg, std::nullopt, *limits.sg_rg));
  if (limits.mpg) checks.push_back(AtLeast("mpg", "MPG", goodput.mpg, std::nullopt, *limits.mpg));
  NowLimits now_limits;
  if (limits.idle) now_limits.idle = *limits.idle;
  const std::optional<RunNow> now = LookAtNow(whole, now_limits);
  if (limits.no_progress) checks.push_back(Progress(whole, now, *limits.no_progress));
  if (limits.idle) checks.push_back(Idle(whole, now, *limits.idle));
  if (limits.at_risk) {
    const Ns at_risk = now ? whole_account.buckets[static_cast<std::size_t>(Bucket::kAtRisk)].ns : 0;
    checks.push_back(AtMost("at_risk", Cat(FormatDuration(at_risk), " at risk"), at_risk, *limits.at_risk));
  }
  return checks;
}

CheckState WorstOf(const std::vector<Check>& checks) {
  CheckState worst = CheckState::kOk;
  for (const Check& check : checks) {
    if (check.state == CheckState::kCritical) return CheckState::kCritical;
    if (check.state == CheckState::kUnknown) worst = CheckState::kUnknown;
  }
  return worst;
}

std::string CheckLine(const std::string& what, const std::vector<Check>& checks) {
  const CheckState worst = WorstOf(checks);
  std::vector<std::string> texts;
  std::vector<std::string> perfs;
  for (const bool wrong : {true, false}) {
    for (const Check& check : checks) {
      if ((check.state == worst && worst != CheckState::kOk) != wrong) continue;
      texts.push_back(check.text);
      if (!check.perf.empty()) perfs.push_back(check.perf);
    }
  }
  const char* const name = worst == CheckState::kOk         ? "OK"
                           : worst == CheckState::kCritical ? "CRITICAL"
                                                            : "UNKNOWN";
  std::string line = Cat(name, " - ", what, ": ", absl::StrJoin(texts, "; "));
  // The bar separates performance data.
  std::replace(line.begin(), line.end(), '|', '/');
  return perfs.empty() ? line : Cat(line, " | ", absl::StrJoin(perfs, " "));
}

}  // namespace goodput
