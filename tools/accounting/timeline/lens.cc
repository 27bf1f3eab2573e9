#include "tools/accounting/timeline/lens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace goodput {
namespace {

// Percentage points; less is shown as 0.00.
constexpr double kSmallestTold = 0.005;

double Share(GpuNs part, GpuNs whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string Formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string InPoints(double fraction) {
  return Formatted("%+.2f", fraction * 100);
}

GpuNs PartOf(const BucketTotal& total, const std::string& name) {
  for (const BucketTotal& part : total.parts) {
    if (part.part == name) return part.gpu_ns;
  }
  return 0;
}

bool IsWaiting(Bucket bucket) {
  const Side side = BucketSide(bucket);
  return side == Side::kScheduling || side == Side::kExcluded;
}

}  // namespace

std::optional<Lens> TakeLens(const Timeline& timeline, const std::vector<BucketTotal>& buckets,
                             const GpuWeights& weights) {
  const auto started =
      std::find_if(timeline.attempts.begin(), timeline.attempts.end(),
                   [](const AttemptSummary& attempt) { return attempt.facts->start.has_value(); });
  if (!timeline.pace || started == timeline.attempts.end()) return std::nullopt;
  const Pace& pace = *timeline.pace;
  Lens lens;
  lens.best = pace.best;
  lens.p05 = pace.p05;
  const Ns first_start = *started->facts->start;
  for (const Interval& interval : timeline.intervals) {
    if (interval.begin >= first_start) break;
    if (!IsWaiting(interval.bucket)) continue;
    const GpuNs gpu_ns = weights(interval.attempt, interval.begin, std::min(interval.end, first_start));
    (interval.bucket == Bucket::kHold ? lens.hold_before : lens.wait_before) += gpu_ns;
  }
  const auto of = [&](Bucket bucket) -> const BucketTotal& {
    return buckets[static_cast<std::size_t>(bucket)];
  };
  for (const BucketTotal& total : buckets) {
    lens.total += total.gpu_ns;
    if (IsWaiting(total.bucket)) lens.scheduling += total.gpu_ns;
  }
  const GpuNs before = lens.hold_before + lens.wait_before;
  lens.total -= before;
  lens.scheduling -= before;
  lens.scheduling += of(Bucket::kLaunch).gpu_ns - PartOf(of(Bucket::kLaunch), "step_setup");
  lens.scheduling += of(Bucket::kTeardown).gpu_ns - PartOf(of(Bucket::kTeardown), "step");
  bool all_seen = true;
  GpuNs after_checkpoint = 0;
  for (std::size_t i = 0; i < pace.starts.size() && i < timeline.incarnations.size(); ++i) {
    const Incarnation& incarnation = timeline.incarnations[i];
    if (!incarnation.first_step_begin) continue;
    const Pace::Start& start = pace.starts[i];
    const double gpus = weights.MeanStepping(incarnation);
    const auto weigh = [&](double ns) { return static_cast<GpuNs>(ns * gpus); };
    lens.good += weigh(static_cast<double>(start.kept) * static_cast<double>(pace.best));
    lens.good_p05 += weigh(static_cast<double>(start.kept) * static_cast<double>(pace.p05));
    lens.first_step += weigh(static_cast<double>(start.first_step));
    after_checkpoint += weigh(static_cast<double>(start.after_checkpoint));
    all_seen &= !start.steps_are_packed;
  }
  if (all_seen) lens.after_checkpoint = after_checkpoint;
  lens.productive = of(Bucket::kProductive).gpu_ns;
  lens.other_app = PartOf(of(Bucket::kStartup), "compile") + of(Bucket::kOverhead).gpu_ns;
  if (lens.total <= 0 || lens.good > lens.total) return std::nullopt;
  return lens;
}

void DefineLens(const Lens& lens, bool allocation_known, Definitions& definitions) {
  definitions.lens = Share(lens.good, lens.total);
  if (!allocation_known) return;
  const GpuNs allocated = lens.total - lens.scheduling;
  const GpuNs useful = lens.productive + lens.other_app;  // GOOD + app
  if (allocated <= 0 || useful <= 0) return;
  definitions.lens_scheduling = Share(allocated, lens.total);
  definitions.lens_runtime = Share(useful, allocated);
  definitions.lens_app = Share(lens.good, useful);
  definitions.app_p05 = std::min(1.0, Share(lens.good_p05, useful));
}

std::string WhyLensDiffers(const Account& account) {
  const std::optional<double>& ours = account.goodput.sg_rg;
  const std::optional<double>& theirs = account.definitions.lens;
  if (!ours || !theirs || !account.lens || std::abs(*theirs - *ours) * 100 < kSmallestTold) return "";
  const Lens& lens = *account.lens;
  // T leaves out every hold, TOTAL every wait before the first start.
  const BucketTotal& hold = account.buckets[static_cast<std::size_t>(Bucket::kHold)];
  const GpuNs held_after = hold.gpu_ns - lens.hold_before;
  const GpuNs wanted = lens.total + lens.wait_before - held_after;
  if (wanted <= 0) return "";
  const double of_a_gpu_ns =
      static_cast<double>(lens.productive) / static_cast<double>(wanted) / static_cast<double>(lens.total);
  const double waits = of_a_gpu_ns * static_cast<double>(lens.wait_before);
  const double holds = -of_a_gpu_ns * static_cast<double>(held_after);
  const double steps = Share(lens.good - lens.productive, lens.total);
  std::string reasons;
  const auto because = [&](double fraction, const std::string& reason) {
    if (std::abs(fraction) * 100 < kSmallestTold) return;
    reasons += (reasons.empty() ? "" : "; ") + reason + " (" + InPoints(fraction) + ")";
  };
  because(waits, "leaves out the wait before the first start");
  because(holds, "counts holds after it");
  because(steps, "counts each kept step as long as the shortest one, " +
                     Formatted("%.3f s", static_cast<double>(lens.best) / static_cast<double>(kSecond)));
  return "lens is " + Formatted("%.2f", std::abs(*theirs - *ours) * 100) + " points " +
         (*theirs < *ours ? "lower" : "higher") + " than scheduling x runtime goodput: it " + reasons;
}

std::string PaceInWords(const Account& account) {
  if (!account.lens || account.lens->productive <= 0) return "";
  const Lens& lens = *account.lens;
  if (Share(lens.productive - lens.good, lens.productive) < kLeastSlower) return "";
  const auto share = [&](GpuNs part) { return Formatted("%.1f%%", Share(part, lens.productive) * 100); };
  std::string text = share(lens.at_best()) + " of productive time at the pace of the best step (" +
                     Formatted("%.3f s", static_cast<double>(lens.best) / static_cast<double>(kSecond)) +
                     "), " + share(lens.slower()) + " lost to slower steps";
  if (lens.first_step > 0) text += ", " + share(lens.first_step) + " to first steps";
  if (lens.after_checkpoint && *lens.after_checkpoint > 0)
    text += ", " + share(*lens.after_checkpoint) + " to steps after a save";
  return text;
}

}  // namespace goodput
