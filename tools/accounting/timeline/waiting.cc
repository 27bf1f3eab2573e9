#include "tools/accounting/timeline/waiting.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace goodput {
namespace {

// slurmctld evaluates new jobs and dependencies about once a second, and only then sets the eligible time.
constexpr Ns kEvaluation = 2 * kSecond;

bool Known(std::string_view reason) {
  return !reason.empty() && reason != "None";
}

bool IsHeld(std::string_view reason) {
  return reason == "JobHeldUser" || reason == "JobHeldAdmin";
}

// Slurm's pending reason -> bucket, for a job that is eligible unless the reason itself says it is not.
Bucket BucketOfReason(std::string_view reason, bool requeued, bool within_run) {
  if (reason == "JobHeldUser") return Bucket::kHold;
  if (reason == "Dependency" || reason == "DependencyNeverSatisfied" || reason == "JobArrayTaskLimit")
    return within_run ? Bucket::kQueueOther : Bucket::kHold;
  if (reason == "BeginTime") return requeued ? Bucket::kRequeueBackoff : Bucket::kHold;
  if (reason == "Resources") return Bucket::kQueueResources;
  if (reason == "Priority") return Bucket::kQueuePriority;
  return Bucket::kQueueOther;
}

// Reasons that make a job ineligible: they end when it becomes eligible, which the watch may see seconds
// late. (A released job gets a new eligible time.)
bool EndsWhenEligible(std::string_view reason) {
  return reason == "BeginTime" || reason == "Dependency" || reason == "JobArrayTaskLimit" || IsHeld(reason);
}

// The recorded reasons in order, without repetitions. slurmctld gives none until it looks at a job: that says
// nothing, except of a held job, which has been released.
std::vector<PendingReason> ToldReasons(std::vector<PendingReason> reasons) {
  std::sort(reasons.begin(), reasons.end(), [](const PendingReason& a, const PendingReason& b) {
    return std::tie(a.t, a.reason, a.ref.source, a.ref.offset) <
           std::tie(b.t, b.reason, b.ref.source, b.ref.offset);
  });
  std::vector<PendingReason> told;
  for (PendingReason& next : reasons) {
    if (!Known(next.reason) && (told.empty() || !IsHeld(told.back().reason))) continue;
    if (told.empty() || told.back().reason != next.reason) told.push_back(std::move(next));
  }
  return told;
}

}  // namespace

std::vector<Interval> WaitingClaims(const AttemptFacts& attempt, int index, Ns free_from, bool same_job,
                                    Ns now) {
  std::vector<Interval> claims;
  Ns until = attempt.start.value_or(attempt.end.value_or(now));
  if (attempt.allocated) until = std::min(until, *attempt.allocated);
  const auto claim = [&](Ns begin, Ns end, Bucket bucket, std::string part, Evidence evidence,
                         EvidenceRef ref, std::string why) {
    claims.push_back({begin, end, bucket, std::move(part), evidence, index, ref, {}, std::move(why)});
  };

  // In a federation, another cluster started the job, and its wait counts there.
  if (attempt.state == "REVOKED") {
    claim(std::min(free_from, attempt.submit), until, Bucket::kHold, "federation", attempt.evidence, {},
          "another cluster of the federation started the job, and its wait counts there");
    return claims;
  }
  const std::vector<PendingReason> reasons = ToldReasons(attempt.pending);

  // The recorded reasons, each until the next. Held time first: it takes precedence over everything else.
  for (const bool held : {true, false}) {
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (!Known(reasons[i].reason)) continue;
      const Bucket bucket = BucketOfReason(reasons[i].reason, same_job, reasons[i].within_run);
      if ((bucket == Bucket::kHold) != held) continue;
      Ns begin = std::max(reasons[i].t, attempt.submit);
      Ns end = i + 1 < reasons.size() ? reasons[i + 1].t : until;
      // The first recorded reason was valid since the job could have been seen, that is, since it was
      // eligible; but a job that was held later has a later eligible time than before.
      if (i == 0) {
        begin = attempt.submit;
        if (IsHeld(reasons[i].reason) && same_job) begin = free_from;
        if (!EndsWhenEligible(reasons[i].reason) && attempt.eligible && *attempt.eligible <= reasons[i].t)
          begin = *attempt.eligible;
      }
      if (attempt.eligible && EndsWhenEligible(reasons[i].reason) && *attempt.eligible > reasons[i].t)
        end = std::min(end, *attempt.eligible);
      // The reason after such a one was valid from that moment on.
      const std::size_t before = i > 1 && !Known(reasons[i - 1].reason) ? i - 2 : i - 1;
      if (i > 0 && attempt.eligible && EndsWhenEligible(reasons[before].reason) &&
          *attempt.eligible > reasons[before].t) {
        begin = std::min(begin, *attempt.eligible);
      }
      claim(begin, std::min(end, until), bucket, reasons[i].reason, Evidence::kScheduler, reasons[i].ref, "");
    }
    // For a held job, accounting's eligible time is its release.
    if (held && same_job && reasons.empty() && IsHeld(attempt.reason)) {
      claim(free_from, attempt.eligible.value_or(until), BucketOfReason(attempt.reason, true, false),
            attempt.reason, attempt.evidence, {}, "");
    }
    // Slurm sets the eligible time of a requeued job to the end of its back-off.
    const bool told_otherwise = !reasons.empty() || (Known(attempt.reason) && attempt.reason != "BeginTime");
    if (held && same_job && (attempt.eligible || !told_otherwise)) {
      const Ns end = attempt.eligible.value_or(until);
      claim(free_from, std::min(end, until), Bucket::kRequeueBackoff, "", attempt.evidence, {}, "");
    }
  }

  if (!same_job) {
    const bool never_eligible = !attempt.eligible && !attempt.start;
    const Ns eligible = attempt.eligible.value_or(never_eligible ? until : attempt.submit);
    // Eligible as soon as the run's previous job was over: it waited for that one. So did a task of an array,
    // however long slurmctld took to see that.
    const bool of_the_array =
        attempt.array_of_run && !IsHeld(attempt.reason) && attempt.reason != "BeginTime";
    const bool for_the_run =
        free_from > attempt.submit && (of_the_array || eligible - free_from <= kEvaluation);
    const bool looked_at =
        !EndsWhenEligible(attempt.reason) && attempt.eligible && eligible - attempt.submit <= kEvaluation;
    const Bucket bucket =
        attempt.reason == "JobHeldAdmin" || for_the_run ? Bucket::kQueueOther : Bucket::kHold;
    if (for_the_run || !looked_at) {
      claim(attempt.submit, std::min(eligible, until), bucket, Known(attempt.reason) ? attempt.reason : "",
            attempt.evidence, {}, "submitted, not yet eligible");
    }
    claims.push_back(ResubmitGapClaim(attempt, index, free_from));
  }

  // Accounting keeps only the last reason, and BeginTime is over once the job is eligible.
  const bool usable = Known(attempt.reason) && !EndsWhenEligible(attempt.reason);
  const Bucket bucket = usable ? BucketOfReason(attempt.reason, same_job, false) : Bucket::kQueueOther;
  claim(std::min(free_from, attempt.submit), until, bucket == Bucket::kHold ? Bucket::kQueueOther : bucket,
        usable ? attempt.reason : "reason not recorded", attempt.evidence, {}, "");
  return claims;
}

Interval ResubmitGapClaim(const AttemptFacts& attempt, int index, Ns begin) {
  Interval claim;
  claim.begin = begin;
  claim.end = attempt.submit;
  claim.bucket = Bucket::kResubmitGap;
  claim.evidence = attempt.evidence;
  claim.attempt = index;
  return claim;
}

Interval RanElsewhereClaim(const AttemptFacts& attempt, int index, Ns begin, Ns requeued) {
  Interval claim;
  claim.begin = begin;
  claim.end = requeued;
  claim.bucket = Bucket::kHold;
  claim.part = "federation";
  claim.evidence = attempt.evidence;
  claim.attempt = index;
  claim.why = "another cluster of the federation ran the job";
  return claim;
}

}  // namespace goodput
