#include "tools/accounting/timeline/google_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace goodput {
namespace {

// Rounding error of two equal quotients.
constexpr double kQuotientRounding = 1e-13;

// Percentage points; less is shown as 0.00.
constexpr double kSmallestNamed = 0.005;

// Buckets whose GPU-seconds are the denominator of runtime goodput.
bool IsUp(Bucket bucket) {
  const Side side = BucketSide(bucket);
  return side != Side::kExcluded && side != Side::kScheduling;
}

double Points(double fraction) {
  return fraction * 100;
}

std::string Text(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string SecondsText(Ns ns) {
  return Text("%.1f s", static_cast<double>(ns) / static_cast<double>(kSecond));
}

// Percentage points, in brackets.
std::string Effect(double fraction) {
  return Text("%+.2f", Points(fraction));
}

}  // namespace

std::optional<GoogleDifference> ExplainGoogleDifference(const Timeline& timeline, const Account& account) {
  const std::optional<double>& google = account.definitions.google_api;
  const std::optional<double>& ours = account.definitions.rg;
  if (!google || !ours) return std::nullopt;
  const auto started =
      std::find_if(timeline.attempts.begin(), timeline.attempts.end(),
                   [](const AttemptSummary& attempt) { return attempt.facts->start.has_value(); });
  if (started == timeline.attempts.end()) return std::nullopt;
  const Ns first_start = std::max(*started->facts->start, timeline.begin);

  std::array<Ns, kBucketCount> waited{};
  Ns early = 0;
  Ns up = 0;
  for (const Interval& interval : timeline.intervals) {
    const Ns before = std::max<Ns>(0, std::min(interval.end, first_start) - interval.begin);
    const Ns whole = interval.end - interval.begin;
    if (IsUp(interval.bucket)) {
      up += whole;
      early += before;
    } else {
      waited[static_cast<std::size_t>(interval.bucket)] += whole - before;
    }
  }
  const Ns since_start = timeline.end - first_start;
  if (up <= 0 || since_start <= 0) return std::nullopt;
  const Ns productive = account.buckets[static_cast<std::size_t>(Bucket::kProductive)].ns;
  const auto of = [](Ns part, Ns all) { return static_cast<double>(part) / static_cast<double>(all); };

  GoogleDifference difference;
  difference.fraction = *google - *ours;
  if (const double weights = of(productive, up) - *ours; std::abs(weights) > kQuotientRounding)
    difference.parts.push_back({GoogleDifference::Kind::kGpuWeights, Bucket::kProductive, 0, weights});
  const double of_a_second = of(productive, up) / static_cast<double>(since_start);
  for (const Bucket bucket : AllBuckets()) {
    const Ns ns = waited[static_cast<std::size_t>(bucket)];
    if (ns == 0) continue;
    difference.parts.push_back(
        {GoogleDifference::Kind::kWaiting, bucket, ns, -of_a_second * static_cast<double>(ns)});
  }
  if (early > 0) {
    difference.parts.push_back({GoogleDifference::Kind::kEarly, Bucket::kProductive, early,
                                of_a_second * static_cast<double>(early)});
  }
  if (const Ns excess = std::min(timeline.steps.first_step_excess, productive); excess > 0) {
    difference.parts.push_back(
        {GoogleDifference::Kind::kFirstSteps, Bucket::kProductive, excess, -of(excess, since_start)});
  }
  std::stable_sort(difference.parts.begin(), difference.parts.end(),
                   [](const GoogleDifference::Part& a, const GoogleDifference::Part& b) {
                     return std::abs(a.fraction) > std::abs(b.fraction);
                   });
  return difference;
}

std::string InWords(const GoogleDifference& difference) {
  if (difference.parts.empty() || std::abs(Points(difference.fraction)) < kSmallestNamed) return "";
  using Kind = GoogleDifference::Kind;
  const auto all_of = [&](Kind kind, const auto& visit) {
    for (const GoogleDifference::Part& part : difference.parts) {
      if (part.kind == kind) visit(part);
    }
  };
  std::vector<std::string> reasons;
  Ns waited = 0;
  double waiting = 0;
  std::string buckets;
  all_of(Kind::kWaiting, [&](const GoogleDifference::Part& part) {
    waited += part.ns;
    waiting += part.fraction;
    buckets +=
        (buckets.empty() ? "" : ", ") + std::string(BucketName(part.bucket)) + " " + SecondsText(part.ns);
  });
  if (waited > 0) {
    reasons.push_back("counts " + SecondsText(waited) + " without resources after the first start (" +
                      buckets + ": " + Effect(waiting) + ")");
  }
  all_of(Kind::kFirstSteps, [&](const GoogleDifference::Part& part) {
    reasons.push_back("attributes " + SecondsText(part.ns) +
                      " by which first steps exceeded the mean to compilation (" + Effect(part.fraction) +
                      ")");
  });
  all_of(Kind::kGpuWeights, [&](const GoogleDifference::Part& part) {
    reasons.push_back("counts seconds, not GPU-seconds (" + Effect(part.fraction) + ")");
  });
  all_of(Kind::kEarly, [&](const GoogleDifference::Part& part) {
    reasons.push_back("omits " + SecondsText(part.ns) + " before the start (" + Effect(part.fraction) + ")");
  });
  std::string text = "google_api is " + Text("%.2f", std::abs(Points(difference.fraction))) + " points " +
                     (difference.fraction < 0 ? "lower" : "higher") + " than rg: it ";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i > 0) text += i + 1 == reasons.size() ? " and " : ", ";
    text += reasons[i];
  }
  return text;
}

}  // namespace goodput
