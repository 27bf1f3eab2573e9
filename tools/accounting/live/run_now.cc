#include "tools/accounting/live/run_now.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/accounting/advise/checkpoint_interval.h"
#include "tools/accounting/advise/measure.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/accounting/timeline/hang_evidence.h"
#include "tools/accounting/timeline/last_step.h"
#include "tools/base/format.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

struct StateNames {
  std::string_view name;
  std::string_view text;
  bool wastes;
  bool holds;
};
constexpr std::array<StateNames, kNowStates> kNames{{
    {"no_progress", "no progress", true, true},
    {"idle", "idle", true, true},
    {"slow_start", "slow start", true, true},
    {"rarely_saved", "rarely saved", false, true},
    {"suspended", "suspended", false, false},
    {"starting", "starting", false, true},
    {"unobserved", "unobserved", false, true},
    {"training", "training", false, true},
    {"queued", "queued", false, false},
}};

const StateNames& NamesOf(NowState state) {
  return kNames[static_cast<std::size_t>(state)];
}

bool IsAnyOf(Bucket bucket, std::initializer_list<Bucket> of) {
  return std::find(of.begin(), of.end(), bucket) != of.end();
}

// Since when the timeline ends with nothing but these buckets; its end: it does not.
Ns Since(const Timeline& timeline, std::initializer_list<Bucket> buckets) {
  std::optional<Ns> since;
  for (const Interval& interval : timeline.intervals) {
    const bool so = IsAnyOf(interval.bucket, buckets) &&
                    interval.attempt + 1 >= static_cast<int>(timeline.attempts.size());
    if (!so) since.reset();
    if (so && !since) since = interval.begin;
  }
  return since.value_or(timeline.end);
}

std::string Ago(const Timeline& timeline, Ns t) {
  return Cat(FormatDuration(timeline.now - t), " ago");
}

std::string LastStepInWords(const Timeline& timeline) {
  const std::optional<LastStep> last = FindLastStep(timeline);
  if (!last) return "no step has begun";
  return Cat("step ", last->step, " began ", Ago(timeline, last->begin),
             timeline.steps.median ? Cat(", and a step takes ", FormatDuration(timeline.steps.median)) : "");
}

// The last signal since then, if there was one: "; USR1 3m00s ago".
std::string LastSignalText(const Timeline& timeline, Ns since) {
  if (timeline.signals.deliveries.empty() || timeline.signals.deliveries.back().t < since) return "";
  const SignalDelivery& last = timeline.signals.deliveries.back();
  return Cat("; ", SignalName(last.signo), " ", Ago(timeline, last.t));
}

RunNow Waiting(const Timeline& timeline, const AttemptFacts& attempt) {
  RunNow now;
  now.state = NowState::kQueued;
  now.since = std::min(timeline.end, attempt.eligible.value_or(attempt.submit));
  const PendingReason* last = nullptr;
  for (const PendingReason& reason : attempt.pending) {
    if (last == nullptr || reason.t >= last->t) last = &reason;
  }
  const std::string& reason = last == nullptr ? attempt.reason : last->reason;
  now.evidence = Cat("waits for ", FormatDuration(timeline.now - now.since),
                     reason.empty() || reason == "None" ? "" : Cat(", reason ", reason));
  return now;
}

// The longest of its starts before then, until the first step.
std::optional<Ns> LongestStart(const Timeline& timeline, Ns before) {
  std::optional<Ns> longest;
  for (const Incarnation& one : timeline.incarnations) {
    if (one.first_step_begin && *one.first_step_begin < before)
      longest = std::max(longest.value_or(0), *one.first_step_begin - one.begin);
  }
  return longest;
}

RunNow Starting(const Timeline& timeline, Ns since, const NowLimits& limits) {
  RunNow now;
  now.state = NowState::kStarting;
  now.since = since;
  const Ns takes = timeline.now - since;
  const std::optional<Ns> longest = LongestStart(timeline, since);
  const Ns limit = longest ? std::max(limits.least_slow,
                                      static_cast<Ns>(limits.slow_factor * static_cast<double>(*longest)))
                           : limits.slow_start;
  if (takes > limit) now.state = NowState::kSlowStart;
  now.evidence = Cat("no step ", FormatDuration(takes), " after its program began",
                     longest ? Cat("; at most ", FormatDuration(*longest), " in its earlier starts") : "");
  return now;
}

// The time without a complete save, if that is rare for the failures that it has.
std::optional<RunNow> RarelySaved(const Timeline& timeline, const NowLimits& limits) {
  // Most runs have not failed so often, and their account need not be taken.
  if (std::count_if(timeline.interruptions.begin(), timeline.interruptions.end(), IsFailure) <
      limits.failures)
    return std::nullopt;
  const Account account = TakeAccount(timeline);
  const Measured measured = Measure(timeline, account);
  if (measured.up_s <= 0) return std::nullopt;
  const double mttf_s = measured.up_s / static_cast<double>(measured.failures);
  const std::optional<double> best_s = DalyInterval(mttf_s, measured.save_s.value_or(0));
  if (!best_s || *best_s <= 0) return std::nullopt;
  const BucketTotal& at_risk = account.buckets[static_cast<std::size_t>(Bucket::kAtRisk)];
  const Ns best = static_cast<Ns>(*best_s * 1e9);
  if (at_risk.ns < std::max(limits.least_rare, static_cast<Ns>(limits.rare_factor * *best_s * 1e9)))
    return std::nullopt;
  RunNow now;
  now.state = NowState::kRarelySaved;
  now.since = timeline.now - at_risk.ns;
  now.lost = at_risk.gpu_ns;
  now.evidence = Cat(FormatDuration(at_risk.ns), " of training would be lost; with a failure every ",
                     FormatDuration(static_cast<Ns>(mttf_s * 1e9)), ", save every ", FormatDuration(best));
  return now;
}

RunNow Holding(const Timeline& timeline, const NowLimits& limits) {
  RunNow now;
  if (const std::optional<Ns> since = NoProgressSince(timeline)) {
    now.state = NowState::kNoProgress;
    now.since = *since;
    now.evidence = LastStepInWords(timeline) + LastSignalText(timeline, *since);
    now.told = MostTelling(timeline, timeline.stalls.back());
    return now;
  }
  const Bucket last = timeline.intervals.back().bucket;
  if (IsAnyOf(last, {Bucket::kLaunch, Bucket::kTeardown})) {
    now.since = Since(timeline, {Bucket::kLaunch, Bucket::kTeardown});
    now.state = timeline.now - now.since > limits.idle ? NowState::kIdle : NowState::kStarting;
    now.evidence = Cat("no task has been alive for ", FormatDuration(timeline.now - now.since));
    return now;
  }
  if (last == Bucket::kProvisioning) {
    now.state = NowState::kStarting;
    now.since = Since(timeline, {Bucket::kProvisioning});
    now.evidence = Cat("its nodes boot since ", FormatDuration(timeline.now - now.since));
    return now;
  }
  if (last == Bucket::kStartup) return Starting(timeline, Since(timeline, {Bucket::kStartup}), limits);
  const bool trained = !timeline.incarnations.empty() && !timeline.incarnations.back().ended &&
                       timeline.incarnations.back().first_step_begin;
  const Ns unobserved = Since(timeline, {Bucket::kUnobserved});
  // Of a program that trains, the newest steps may not have arrived yet.
  if (last == Bucket::kUnobserved && (!trained || timeline.now - unobserved >= kHang)) {
    now.state = NowState::kUnobserved;
    now.since = unobserved;
    if (trained) return now;
    // A program that told its steps in an earlier start tells them in this one, too.
    if (LongestStart(timeline, now.since)) return Starting(timeline, now.since, limits);
    now.evidence = "no record says what it does; add a log profile or a checkpoint directory";
    return now;
  }
  if (const std::optional<RunNow> rarely = RarelySaved(timeline, limits)) return *rarely;
  now.since = timeline.incarnations.empty() ? timeline.end : timeline.incarnations.back().begin;
  return now;
}

// 12345 as "12,345".
std::string Grouped(std::int64_t number) {
  std::string text = Cat(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

std::string_view NowStateName(NowState state) {
  return NamesOf(state).name;
}
std::string_view NowStateText(NowState state) {
  return NamesOf(state).text;
}
bool WastesGpus(NowState state) {
  return NamesOf(state).wastes;
}

std::string EvidenceInWords(const Timeline& timeline, const RunNow& now) {
  if (!now.evidence.empty()) return now.evidence;
  if (now.state != NowState::kUnobserved) return LastStepInWords(timeline);
  return Cat("nothing was heard for ", FormatDuration(timeline.now - now.since), "; ",
             LastStepInWords(timeline));
}

std::optional<RunNow> LookAtNow(const Timeline& timeline, const NowLimits& limits) {
  if (!timeline.running || timeline.attempts.empty() || timeline.intervals.empty()) return std::nullopt;
  const AttemptFacts& attempt = *timeline.attempts.back().facts;
  // Of an import, nothing tells whether it still runs.
  if (attempt.end || attempt.heard_until) return std::nullopt;
  RunNow now;
  if (!attempt.start) {
    now = Waiting(timeline, attempt);
  } else if (timeline.intervals.back().bucket == Bucket::kSuspended) {
    now.state = NowState::kSuspended;
    now.since = Since(timeline, {Bucket::kSuspended});
    now.evidence = Cat("for ", FormatDuration(timeline.now - now.since));
  } else {
    now = Holding(timeline, limits);
  }
  now.gpus = attempt.gpus;
  if (WastesGpus(now.state)) {
    now.lost =
        static_cast<GpuNs>(timeline.now - now.since) * (GpuWeights(timeline).has_gpus() ? attempt.gpus : 1);
  }
  return now;
}

void NowTotals::Add(const RunNow& run) {
  OfState& of = states[static_cast<std::size_t>(run.state)];
  ++of.runs;
  of.gpus += run.gpus;
  of.lost += run.lost;
}

void NowTotals::Add(const NowTotals& other) {
  for (std::size_t i = 0; i < kNowStates; ++i) {
    states[i].runs += other.states[i].runs;
    states[i].gpus += other.states[i].gpus;
    states[i].lost += other.states[i].lost;
  }
}

namespace {

NowTotals::OfState SumOf(const NowTotals& totals, bool StateNames::*which) {
  NowTotals::OfState sum;
  for (std::size_t i = 0; i < kNowStates; ++i) {
    if (!(kNames[i].*which)) continue;
    sum.runs += totals.states[i].runs;
    sum.gpus += totals.states[i].gpus;
    sum.lost += totals.states[i].lost;
  }
  return sum;
}

std::string Runs(std::int64_t runs) {
  return Cat(Grouped(runs), runs == 1 ? " run" : " runs");
}

}  // namespace

NowTotals::OfState NowTotals::Held() const {
  return SumOf(*this, &StateNames::holds);
}
NowTotals::OfState NowTotals::Wasted() const {
  return SumOf(*this, &StateNames::wastes);
}

std::string NowSummary(const NowTotals& totals) {
  const NowTotals::OfState held = totals.Held();
  const NowTotals::OfState wasted = totals.Wasted();
  const NowTotals::OfState queued = totals.Of(NowState::kQueued);
  const auto hold = [](const NowTotals::OfState& of, const char* verb) {
    return Cat(Runs(of.runs), " ", verb, of.runs == 1 ? "s " : " ", Grouped(of.gpus),
               of.gpus == 1 ? " GPU" : " GPUs");
  };
  std::string text = held.runs == 0 ? "No run holds nodes" : hold(held, "hold");
  if (wasted.runs > 0) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < kNowStates; ++i) {
      if (kNames[i].wastes && totals.states[i].runs > 0)
        parts.push_back(Cat(kNames[i].text, " ", Grouped(totals.states[i].gpus)));
    }
    text += Cat("; ", Grouped(wasted.gpus), " of them in ", Runs(wasted.runs), " do nothing useful (",
                absl::StrJoin(parts, ", "), ")");
  } else if (held.runs > 0) {
    text += "; none is known to do nothing";
  }
  const NowTotals::OfState unobserved = totals.Of(NowState::kUnobserved);
  if (unobserved.gpus > 0) text += Cat("; what ", Grouped(unobserved.gpus), " of them do is not known");
  text += ".";
  if (queued.runs > 0)
    text += Cat(" ", Runs(queued.runs), queued.runs == 1 ? " waits for " : " wait for ", Grouped(queued.gpus),
                queued.gpus == 1 ? " GPU." : " GPUs.");
  return text;
}

}  // namespace goodput
