#include "tools/accounting/advise/advice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

// Losses below this share of the run's time are not mentioned.
constexpr double kWorthSaying = 0.01;
// Fewer failures than this are called few.
constexpr std::int64_t kFew = 3;
// An interval that gains less than this is as good as the one in use.
constexpr double kSameInterval = 0.001;

// The loss that the checkpoint interval determines; WhatToDo() adds after what.
constexpr const char* kLostSteps = "in steps that no checkpoint covered";

std::string Percent(double share) {
  return absl::StrFormat("%.1f%%", share * 100);
}

std::string Times(std::int64_t n, const char* one, const char* many) {
  return Cat(n, " ", n == 1 ? one : many);
}

// Sums over interruptions may include `hold`, which is not wanted time.
double ShareOfTime(double seconds, const Measured& measured) {
  return measured.wall_s > 0 ? std::min(1.0, seconds / measured.wall_s) : 0;
}

// The shares of the wanted GPU time per bucket and part.
class Shares {
 public:
  explicit Shares(const Account& account) : account_(account) {
    for (const BucketTotal& total : account.buckets) {
      if (BucketSide(total.bucket) != Side::kExcluded) wanted_ += static_cast<double>(total.gpu_ns);
    }
  }
  double Of(Bucket bucket) const { return Share(Total(bucket)); }
  double OfPart(Bucket bucket, const std::string& name) const {
    for (const BucketTotal& part : Total(bucket).parts) {
      if (part.part == name) return Share(part);
    }
    return 0;
  }
  double SecondsOf(Bucket bucket) const { return Seconds(Total(bucket).ns); }
  double SecondsOfPart(Bucket bucket, const std::string& name) const {
    for (const BucketTotal& part : Total(bucket).parts) {
      if (part.part == name) return Seconds(part.ns);
    }
    return 0;
  }

 private:
  const BucketTotal& Total(Bucket bucket) const { return account_.buckets[static_cast<std::size_t>(bucket)]; }
  double Share(const BucketTotal& total) const {
    return wanted_ > 0 ? static_cast<double>(total.gpu_ns) / wanted_ : 0;
  }
  const Account& account_;
  double wanted_ = 0;
};

void AdviseWaiting(const Shares& shares, const Timeline& timeline, std::vector<Advice>& advice) {
  double waiting_s = 0;
  for (const Bucket bucket : AllBuckets()) {
    if (BucketSide(bucket) == Side::kScheduling) waiting_s += shares.SecondsOf(bucket);
  }
  const auto say = [&](Bucket bucket, const char* action, const char* what, const char* loss) {
    const double share = shares.Of(bucket);
    if (share < kWorthSaying) return;
    advice.push_back({action,
                      Cat(Percent(shares.SecondsOf(bucket) / waiting_s), " of waiting is ", what, ", ",
                          SecondsInWords(shares.SecondsOf(bucket)), " in total"),
                      share, true, loss});
  };
  say(Bucket::kRequeueBackoff,
      "use expedited requeue (sbatch --requeue=expedite, Slurm 25.11 and newer), or have the operator lower "
      "AuthInfo=cred_expire, which the back-off follows",
      "Slurm's back-off after a requeue", "in Slurm's back-off after requeues");
  say(Bucket::kResubmitGap,
      "submit the next job before this one ends: --requeue, or a job submitted beforehand with "
      "--dependency=singleton",
      "time in which no job of the run was submitted", "while no job of the run was submitted");
  say(Bucket::kQueueResources,
      "wait less for nodes: a reservation, fewer nodes, or another partition; a shorter time limit helps "
      "Slurm's backfill",
      "for nodes to be free", "waiting for nodes to be free");
  say(Bucket::kQueuePriority, "ask for a QOS or an account with more priority, or for a reservation",
      "behind jobs of higher priority", "waiting behind jobs of higher priority");
  say(Bucket::kSuspended, "run where jobs are not suspended: another partition or QOS", "suspension",
      "while it was suspended");
  if (shares.Of(Bucket::kProvisioning) >= kWorthSaying) {
    std::int64_t allocations = 0;
    for (const AttemptSummary& attempt : timeline.attempts) allocations += attempt.facts->start ? 1 : 0;
    advice.push_back(
        {"have nodes ready before they are needed: keep them powered up (SuspendTime) or in a reservation, "
         "and "
         "shorten the prolog",
         Cat("nodes took ",
             SecondsInWords(shares.SecondsOf(Bucket::kProvisioning) / static_cast<double>(allocations)),
             " to be ready, the mean of ", Times(allocations, "allocation", "allocations")),
         shares.Of(Bucket::kProvisioning), true, "until nodes were ready"});
  }
}

// Compile time in starts after the first one that compiled, which a cache could have avoided.
double CompiledAgainSeconds(const Timeline& timeline, int& again) {
  double sum_s = 0;
  again = 0;
  const Incarnation* first = nullptr;
  std::set<const Incarnation*> seen;
  for (const Interval& interval : timeline.intervals) {
    if (interval.bucket != Bucket::kStartup || interval.part != "compile") continue;
    const auto in = std::find_if(
        timeline.incarnations.begin(), timeline.incarnations.end(), [&](const Incarnation& incarnation) {
          return interval.begin >= incarnation.begin && interval.begin < incarnation.end;
        });
    if (in == timeline.incarnations.end()) continue;
    if (seen.empty()) first = &*in;
    seen.insert(&*in);
    if (&*in != first) sum_s += Seconds(interval.end - interval.begin);
  }
  again = static_cast<int>(seen.size()) - 1;
  return sum_s;
}

void AdviseRuntime(const Shares& shares, const Timeline& timeline, const Measured& measured,
                   std::vector<Advice>& advice) {
  const auto starts = static_cast<std::int64_t>(timeline.incarnations.size());
  const std::string per_start = Cat(", the mean of ", Times(starts, "start", "starts"));
  const auto mean = [&](double seconds) {
    return SecondsInWords(seconds / static_cast<double>(std::max<std::int64_t>(1, starts)));
  };
  if (shares.Of(Bucket::kLaunch) >= kWorthSaying) {
    advice.push_back(
        {"have images and software on the nodes before the job starts (preloaded container images, "
         "node-local copies)",
         Cat("nodes were ready ", mean(shares.SecondsOf(Bucket::kLaunch)), " before the program ran",
             per_start),
         shares.Of(Bucket::kLaunch), true, "until the program ran"});
  }
  int again = 0;
  const double compiled_again_s = CompiledAgainSeconds(timeline, again);
  if (const double share = ShareOfTime(compiled_again_s, measured); share >= kWorthSaying) {
    advice.push_back(
        {"keep compiled code between starts: a persistent compilation cache on a shared file system",
         Cat(Times(again, "later start", "later starts"), " compiled again, for ",
             SecondsInWords(compiled_again_s)),
         share, true, "compiling again"});
  }
  if (shares.OfPart(Bucket::kStartup, "restore") >= kWorthSaying) {
    advice.push_back(
        {"load checkpoints faster: from node-local copies or memory, read by all ranks in parallel",
         Cat("loading took ", mean(shares.SecondsOfPart(Bucket::kStartup, "restore")), per_start),
         shares.OfPart(Bucket::kStartup, "restore"), true, "loading checkpoints"});
  }
  if (shares.OfPart(Bucket::kStartup, "data_loading") >= kWorthSaying) {
    advice.push_back({"prepare data before the program starts (a saved index or position of the data set)",
                      Cat("loading data before the first step took ",
                          mean(shares.SecondsOfPart(Bucket::kStartup, "data_loading")), per_start),
                      shares.OfPart(Bucket::kStartup, "data_loading"), true,
                      "loading data before first steps"});
  }
  if (measured.save_s && shares.Of(Bucket::kCheckpointSave) >= kWorthSaying) {
    advice.push_back({"save asynchronously, so that training waits only for the copy to host memory",
                      Cat("training waited ", SecondsInWords(*measured.save_s), " per save, the mean of ",
                          Times(measured.saves, "save", "saves")),
                      shares.Of(Bucket::kCheckpointSave), true, "waiting for saves"});
  }
  if (shares.Of(Bucket::kStall) >= kWorthSaying) {
    advice.push_back(
        {"find out what training waited for (sgoodput show JOB --explain stall shows when): storage, "
         "network, a slow node",
         Cat("steps that took much longer than usual stalled for ",
             SecondsInWords(shares.SecondsOf(Bucket::kStall)), " in total"),
         shares.Of(Bucket::kStall), true, "in stalls"});
  }
  const std::string failed(kFailedStep);
  if (shares.OfPart(Bucket::kLostWork, failed) >= kWorthSaying) {
    advice.push_back(
        {"find out why steps fail, in the program's output (sgoodput show JOB --explain lost_work shows "
         "when)",
         Cat(Times(timeline.steps.failed, "try", "tries"), " failed, of ",
             SecondsInWords(shares.SecondsOfPart(Bucket::kLostWork, failed)), " in total"),
         shares.OfPart(Bucket::kLostWork, failed), true, "in steps that failed and were tried again"});
  }
  if (shares.OfPart(Bucket::kOverhead, "evaluation") >= kWorthSaying) {
    advice.push_back(
        {"evaluate less often, or in a job of its own on saved checkpoints",
         Cat("evaluation took ", SecondsInWords(shares.SecondsOfPart(Bucket::kOverhead, "evaluation"))),
         shares.OfPart(Bucket::kOverhead, "evaluation"), true, "evaluating"});
  }
  if (shares.Of(Bucket::kUnobserved) >= kWorthSaying && shares.OfPart(Bucket::kUnobserved, "allocated") > 0) {
    advice.push_back({"have the program send marks (sgoodput mark step N), so that this time is known",
                      Cat(Percent(shares.OfPart(Bucket::kUnobserved, "allocated")),
                          " of the time is unobserved and may contain steps"),
                      std::nullopt});
  }
}

double CostSeconds(const Interruption& interruption) {
  return Seconds(interruption.t_ch.value_or(0) + interruption.t_detect.value_or(0) +
                 interruption.t_re.value_or(0) + interruption.t_rm.value_or(0));
}

bool SavedBetween(const Timeline& timeline, Ns begin, Ns end) {
  return std::any_of(timeline.checkpoints.begin(), timeline.checkpoints.end(),
                     [&](const Checkpoint& checkpoint) {
                       return checkpoint.complete && *checkpoint.complete >= begin && checkpoint.begin <= end;
                     });
}

void AdviseInterruptions(const Timeline& timeline, const Measured& measured, std::vector<Advice>& advice) {
  double unsaved_timeout_s = 0;
  int timeouts = 0;
  double unsaved_preempted_s = 0;
  int preemptions = 0;
  Ns least_grace = 0;
  std::map<std::string, std::pair<int, double>> by_node;
  int out_of_memory = 0;
  double out_of_memory_s = 0;
  for (const Interruption& interruption : timeline.interruptions) {
    const double lost_s = Seconds(interruption.t_ch.value_or(0));
    const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interruption.attempt)].facts;
    if (interruption.cause == "timeout" && lost_s > 0) {
      ++timeouts;
      unsaved_timeout_s += lost_s;
    }
    // Grace time in which a save would have fitted.
    if (interruption.cause == "preempted" && facts.preempt_time && lost_s > 0 && measured.save_s) {
      const Ns grace = interruption.time - *facts.preempt_time;
      if (Seconds(grace) > *measured.save_s &&
          !SavedBetween(timeline, *facts.preempt_time, interruption.time)) {
        least_grace = preemptions == 0 ? grace : std::min(least_grace, grace);
        ++preemptions;
        unsaved_preempted_s += lost_s;
      }
    }
    if (!interruption.node.empty() && IsFailure(interruption)) {
      auto& [count, cost_s] = by_node[interruption.node];
      if (++count > 1) cost_s += CostSeconds(interruption);
    }
    if (interruption.cause == "oom" && ++out_of_memory > 1) out_of_memory_s += CostSeconds(interruption);
  }
  const auto share = [&](double seconds) { return ShareOfTime(seconds, measured); };
  if (share(unsaved_timeout_s) >= kWorthSaying) {
    advice.push_back(
        {"have Slurm send a signal before the time limit and save on it: sbatch --signal=USR1@SECONDS, "
         "more than 30 s longer than a save takes",
         Cat(Times(timeouts, "time limit", "time limits"), " cost ", SecondsInWords(unsaved_timeout_s),
             " of steps that no checkpoint covered"),
         share(unsaved_timeout_s), false, Cat("after ", Times(timeouts, "time limit", "time limits"))});
  }
  if (share(unsaved_preempted_s) >= kWorthSaying) {
    advice.push_back(
        {"save on SIGTERM: the program saved nothing after the preemption notice",
         Cat(Times(preemptions, "preemption", "preemptions"), " left ", SecondsInWords(Seconds(least_grace)),
             " or more, and a save takes ", SecondsInWords(*measured.save_s)),
         share(unsaved_preempted_s), false, Cat("after ", Times(preemptions, "preemption", "preemptions"))});
  }
  for (const auto& [node, failures] : by_node) {
    if (failures.first < 2) continue;
    advice.push_back({Cat("have node ", node, " drained and checked, or exclude it (--exclude=", node, ")"),
                      Cat("it failed the run ", failures.first, " times"), share(failures.second), true,
                      Cat("after node ", node, " first failed")});
  }
  if (out_of_memory > 1) {
    advice.push_back({"request more memory, or use less",
                      Cat("it ran out of memory ", out_of_memory, " times"), share(out_of_memory_s), true,
                      "after it first ran out of memory"});
  }
}

// If a run failed before it trained, only that matters.
std::optional<Advice> AdviseFailure(const Timeline& timeline) {
  const AttemptFacts& last = *timeline.attempts.back().facts;
  const bool failed = last.state == "FAILED" || last.state == "OUT_OF_MEMORY";
  if (timeline.running || timeline.steps.executed > 0 || !failed || !last.start || !last.end)
    return std::nullopt;
  std::string how = last.state == "FAILED" ? "it failed" : "it ran out of memory";
  if (last.exit_signal.value_or(0) > 0) {
    how += Cat(" by signal ", *last.exit_signal);
  } else if (last.exit_code.value_or(0) > 0) {
    how += Cat(" with exit code ", *last.exit_code);
  }
  how +=
      Cat(", ", SecondsInWords(Seconds(*last.end - *last.start)), " after its start, and no step was seen");
  return Advice{"find out why it failed from its output", how, std::nullopt};
}

}  // namespace

std::vector<Advice> AdviseInterval(const Situation& situation, const Plan& plan, const Measured* measured) {
  if (!plan.poisson_s) return {};
  const std::string every = SecondsInWords(*plan.poisson_s);
  const bool counted = measured != nullptr && situation.mttf_low_s.has_value();
  std::string evidence = Cat("an MTTF of ", SecondsInWords(*situation.mttf_s), " and saves of ",
                             SecondsInWords(*situation.save_s));
  if (counted) {
    evidence = Cat(Times(measured->failures, "failure", "failures"), " in ", SecondsInWords(measured->up_s),
                   " up, saves of ", SecondsInWords(*situation.save_s));
  }
  if (!situation.interval_s) {
    if (counted && measured->failures < kFew) return {};
    return {{Cat("checkpoint every ", every), Cat(evidence, "; its current interval is not known"),
             std::nullopt}};
  }
  if (!plan.goodput_now || !plan.goodput_best) return {};
  const double gain = *plan.goodput_best - *plan.goodput_now;
  if (gain < kSameInterval) return {};
  // It must be a gain for every MTTF in the confidence interval.
  if (plan.gain_range && plan.gain_range->front() <= 0) return {};
  evidence += Cat(", every ", SecondsInWords(*situation.interval_s), " now");
  if (plan.gain_range) {
    evidence += Cat("; gain between ", Percent(plan.gain_range->front()), " and ",
                    Percent(plan.gain_range->back()), " (90% confidence)");
  }
  return {{Cat("checkpoint every ", every), evidence, gain, false, kLostSteps}};
}

std::vector<Advice> AdviseFromTimeline(const Timeline& timeline, const Account& account,
                                       const Measured& measured) {
  std::vector<Advice> advice;
  if (account.buckets.empty() || timeline.attempts.empty()) return advice;
  if (std::optional<Advice> failed = AdviseFailure(timeline)) return {*std::move(failed)};
  const Shares shares(account);
  AdviseWaiting(shares, timeline, advice);
  AdviseRuntime(shares, timeline, measured, advice);
  AdviseInterruptions(timeline, measured, advice);
  const bool any_complete =
      std::any_of(timeline.checkpoints.begin(), timeline.checkpoints.end(),
                  [](const Checkpoint& checkpoint) { return checkpoint.complete.has_value(); });
  const std::string failed(kFailedStep);
  const double uncovered = shares.Of(Bucket::kLostWork) - shares.OfPart(Bucket::kLostWork, failed);
  if (!any_complete && uncovered >= kWorthSaying) {
    advice.push_back(
        {"save checkpoints, or mark those that are saved (sgoodput mark checkpoint begin N, end N)",
         Cat("steps of ",
             SecondsInWords(shares.SecondsOf(Bucket::kLostWork) -
                            shares.SecondsOfPart(Bucket::kLostWork, failed)),
             " were lost and no checkpoint was seen complete"),
         uncovered, true, "in steps that no checkpoint covered"});
  }
  return advice;
}

std::vector<Advice> AdviseSpares(const SparePlan& plan, const Measured& measured) {
  if (!plan.pays() || plan.gain < kWorthSaying) return {};
  const SpareEvidence& evidence = measured.spares;
  const auto between = [](double low, double high) {
    return Cat(" (90%: ", SecondsInWords(low), " to ", SecondsInWords(high), ")");
  };
  Advice one;
  one.action = Cat("hold ", Times(plan.best, "spare node", "spare nodes"),
                   " in the allocation to take over (srun --no-kill, or in-process restart)");
  one.evidence =
      Cat("it lost nodes ", evidence.losses, " times, every ", SecondsInWords(1 / plan.model.rate),
          between(1 / plan.rate_range[1], 1 / plan.rate_range[0]), ", and waited ",
          SecondsInWords(plan.model.replace_s), between(plan.replace_range[0], plan.replace_range[1]),
          " for new ones; ",
          plan.range[0] == plan.range[1] ? Cat(plan.range[0]) : Cat(plan.range[0], " to ", plan.range[1]),
          " cost least, their own time included");
  one.gain = plan.gain;
  // Its parts may be losses of other lines, too: a back-off, waiting for resources.
  one.loss = "until a node replaced a failed one, which other lines may count, too";
  one.lost = ShareOfTime(evidence.replace_s, measured);
  return {one};
}

std::vector<Advice> AdviseReservation(const ReservationEffect& effect) {
  if (!effect.known() || effect.wanted == 0) return {};
  const auto share = [&](GpuNs time) {
    return static_cast<double>(time) / static_cast<double>(effect.wanted);
  };
  if (share(effect.stockouts) < kWorthSaying) return {};
  Advice one;
  one.action = Cat("reserve the machines instead of ", effect.instead_of,
                   ", if the price allows it (sgoodput statement --as reserved)");
  one.evidence = Cat(Percent(share(effect.stockouts)),
                     " of the time it wanted went by after the cloud had no machines, and ",
                     Percent(share(effect.waits)), " with all waits for machines: Scheduling Goodput of ",
                     Percent(effect.scheduling), " would have been ", Percent(effect.with_reservation[0]),
                     " to ", Percent(effect.with_reservation[1]));
  one.gain = share(effect.waits);
  one.loss = "waiting for machines that the cloud did not have";
  one.lost = share(effect.stockouts);
  return {one};
}

void Rank(std::vector<Advice>& advice) {
  std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) {
    return a.gain.value_or(-1) > b.gain.value_or(-1);
  });
}

std::vector<std::string> Caveats(const Situation& situation, const Plan& plan, const Measured* measured) {
  std::vector<std::string> caveats;
  const auto say = [&](std::string text) { caveats.push_back(std::move(text)); };
  if (!situation.mttf_s) {
    if (measured == nullptr || measured->up_s <= 0) {
      say("the job has not run yet, so its failure rate is not known");
    } else {
      say(Cat("no unplanned interruption in ", SecondsInWords(measured->up_s),
              " up: too few to recommend a checkpoint interval; the MTTF is at least ",
              SecondsInWords(situation.mttf_low_s.value_or(0)), " (90%); use --mttf to try a value"));
    }
    return caveats;  // everything else needs the MTTF
  }
  if (measured != nullptr && situation.mttf_low_s && measured->failures < kFew) {
    say(Cat("only ", Times(measured->failures, "interruption", "interruptions"),
            ": the MTTF may be anything from ", SecondsInWords(*situation.mttf_low_s), " to ",
            SecondsInWords(situation.mttf_high_s.value_or(0)), " (90%)"));
  }
  if (!situation.save_s) {
    say(measured == nullptr ? "the best interval requires --save DURATION"
                            : "no save made training wait, so the cost of a save is not known; specify it "
                              "with --save DURATION");
  } else if (*situation.save_s <= 0) {
    say("saves cost nothing, so there is no best interval: the shorter the better");
  }
  if (!situation.restart_s) {
    say(measured == nullptr ? "goodput requires --restart DURATION"
                            : "no restart after an unplanned interruption was seen; specify its duration "
                              "with --restart DURATION");
  }
  if (!situation.interval_s && measured != nullptr) {
    say("no start completed two checkpoints, so the current interval is not known; specify it with "
        "--interval DURATION");
  }
  const std::size_t before = caveats.size();
  if (situation.restart_s && *situation.restart_s >= *situation.mttf_s) {
    say(Cat("a restart takes ", SecondsInWords(*situation.restart_s), ", as long as the MTTF (",
            SecondsInWords(*situation.mttf_s), ") or longer: no interval can help"));
  }
  if (situation.save_s && *situation.save_s >= *situation.mttf_s) {
    say(Cat("a save takes ", SecondsInWords(*situation.save_s), ", as long as the MTTF (",
            SecondsInWords(*situation.mttf_s),
            ") or longer: save faster or fail less often; no interval can help"));
  }
  const bool hopeless = caveats.size() > before;
  if (!hopeless && plan.goodput_best && plan.goodput_now) {
    if (*plan.goodput_best - *plan.goodput_now < kSameInterval) {
      say("the current interval is as good as the best one");
    } else if (plan.gain_range && plan.gain_range->front() <= 0) {
      say("too few interruptions to tell whether another interval is better");
    }
  }
  return caveats;
}

std::string SecondsInWords(double seconds) {
  constexpr double kCentury = 100 * 365.25 * 86400;
  if (!(seconds < 2 * kCentury)) return ">200 years";
  return FormatDuration(static_cast<Ns>(std::llround(seconds * static_cast<double>(kSecond))));
}

}  // namespace goodput
