#include "tools/accounting/advise/measure.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace goodput {
namespace {

double SecondsIn(const Account& account, Bucket bucket) {
  return Seconds(account.buckets[static_cast<std::size_t>(bucket)].ns);
}

void MeasureTimes(const Account& account, Measured& measured) {
  for (const BucketTotal& total : account.buckets) {
    const Side side = BucketSide(total.bucket);
    if (side == Side::kExcluded) continue;
    measured.wall_s += Seconds(total.ns);
    if (side == Side::kScheduling) continue;
    measured.up_s += Seconds(total.ns);
    for (const BucketTotal& part : total.parts) {
      if (total.bucket == Bucket::kUnobserved && part.part == "gap") measured.up_s -= Seconds(part.ns);
    }
  }
}

void MeasureSaves(const Timeline& timeline, const Account& account, Measured& measured) {
  const double blocked_s = SecondsIn(account, Bucket::kCheckpointSave);
  measured.saves = static_cast<std::int64_t>(timeline.checkpoints.size());
  // If checkpoints are known only from files or logs, it is unknown how long training waited for them.
  if (measured.saves > 0 && blocked_s > 0) measured.save_s = blocked_s / static_cast<double>(measured.saves);

  std::map<int, std::vector<Ns>> completions;
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    if (checkpoint.complete) completions[checkpoint.incarnation].push_back(*checkpoint.complete);
  }
  double between_s = 0;
  for (const auto& [incarnation, times] : completions) {
    const auto [first, last] = std::minmax_element(times.begin(), times.end());
    between_s += Seconds(*last - *first);
    measured.intervals += static_cast<std::int64_t>(times.size()) - 1;
  }
  if (measured.intervals == 0) return;
  const double interval_s = between_s / static_cast<double>(measured.intervals) - measured.save_s.value_or(0);
  if (interval_s > 0) measured.interval_s = interval_s;
}

// A job that preempts another leaves its nodes alive.
bool LostNode(const Interruption& interruption) {
  return interruption.cause == "node_fail" || interruption.cause == "maintenance" ||
         (interruption.cause == "preempted" && !interruption.node.empty());
}

void MeasureLoss(const Timeline& timeline, const Interruption& interruption, SpareEvidence& spares) {
  ++spares.losses;
  const AttemptFacts& facts = *timeline.attempts[static_cast<std::size_t>(interruption.attempt)].facts;
  constexpr std::string_view kOne = " went down: ";
  const std::size_t first = facts.down_nodes.find(kOne);
  if (first != std::string::npos && facts.down_nodes.find(kOne, first + 1) != std::string::npos)
    ++spares.of_several;
  if (!interruption.t_re) return;
  ++spares.replacements;
  spares.replace_s += Seconds(*interruption.t_re);
}

void MeasureSpares(const Timeline& timeline, Measured& measured) {
  SpareEvidence& spares = measured.spares;
  spares.up_s = measured.up_s;
  spares.nodes = measured.nodes;
  if (measured.nodes > 0) spares.gpus_of_node = static_cast<double>(measured.gpus) / measured.nodes;
  for (const AttemptSummary& attempt : timeline.attempts) {
    spares.declared = std::max(spares.declared, attempt.facts->spares.value_or(0));
    for (const WorldMark& world : attempt.facts->worlds)
      spares.declared = std::max(spares.declared, world.spares.value_or(0));
  }
}

void MeasureInterruptions(const Timeline& timeline, const Account& account, Measured& measured) {
  const double launch_s =
      timeline.incarnations.empty()
          ? 0
          : SecondsIn(account, Bucket::kLaunch) / static_cast<double>(timeline.incarnations.size());
  measured.spares.promote_s = launch_s;
  double resources_s = 0;
  double first_step_s = 0;
  for (const Interruption& interruption : timeline.interruptions) {
    if (IsFailure(interruption)) {
      ++measured.failures;
      ++measured.causes[interruption.cause];
    }
    if (interruption.planned) continue;
    if (LostNode(interruption)) MeasureLoss(timeline, interruption, measured.spares);
    if (!interruption.t_re || !interruption.t_rm) continue;
    ++measured.restarts;
    resources_s += Seconds(*interruption.t_re);
    first_step_s += Seconds(*interruption.t_rm);
  }
  if (measured.restarts == 0) return;
  const auto n = static_cast<double>(measured.restarts);
  measured.resources_s = resources_s / n;
  measured.first_step_s = first_step_s / n;
  measured.restart_s = (resources_s + first_step_s) / n;
}

}  // namespace

bool IsFailure(const Interruption& interruption) {
  return !interruption.planned && interruption.cause != "user_requeue" &&
         interruption.cause != "admin_requeue" && interruption.cause != "cancelled";
}

Measured Measure(const Timeline& timeline, const Account& account) {
  Measured measured;
  MeasureTimes(account, measured);
  MeasureSaves(timeline, account, measured);
  MeasureInterruptions(timeline, account, measured);
  measured.gpus = account.gpus;
  if (!timeline.attempts.empty()) measured.nodes = timeline.attempts.back().facts->nodes;
  MeasureSpares(timeline, measured);
  return measured;
}

}  // namespace goodput
