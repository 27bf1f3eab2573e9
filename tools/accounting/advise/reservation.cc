#include "tools/accounting/advise/reservation.h"

#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

bool ByChance(const std::string& consumption) {
  return consumption == "spot" || consumption == "flex-start";
}

// What a reservation saves of a row by consumption, lack of machines and cause.
void AddSavings(const RollupRow& row, ReservationEffect& effect) {
  const std::vector<std::string> parts = GroupParts(row.group);
  const auto of = [&](Bucket bucket) { return row.gpu_ns[static_cast<std::size_t>(bucket)]; };
  const std::string& lack = parts[1];
  if (!ByChance(parts[0]) || lack == "quota" || lack == "reservation" || lack == "error") return;
  if (lack != "-") {
    effect.stockouts += row.waited() - of(Bucket::kProvisioning);
    effect.waits += row.waited();
    return;
  }
  effect.waits += of(Bucket::kQueueResources) + of(Bucket::kProvisioning);
  if (parts[2] == "preempted") effect.waits += of(Bucket::kRequeueBackoff);
}

void CountAllocations(const RollupSubject& subject, const Timeline& timeline, ReservationEffect& effect) {
  std::set<std::string> kinds;
  for (const AttemptSummary& attempt : timeline.attempts) {
    if (!attempt.facts->start) continue;
    const Provision provision = ProvisionOfFacts(*attempt.facts, ExpandHostList(attempt.facts->node_list),
                                                 subject.partition, subject.cluster, subject.node_features);
    if (!ByChance(provision.kind)) continue;
    ++effect.allocations;
    kinds.insert(provision.kind);
  }
  effect.instead_of = absl::StrJoin(kinds.rbegin(), kinds.rend(), " and ");
}

}  // namespace

ReservationEffect EffectOfReservation(const RollupSubject& subject, const Timeline& timeline) {
  ReservationEffect effect;
  CountAllocations(subject, timeline, effect);
  if (effect.instead_of.empty()) return effect;
  if (effect.allocations < kEnoughAllocations) {
    effect.unknown = Cat("it had ", effect.allocations, " allocations on ", effect.instead_of,
                         " machines, and fewer than ", kEnoughAllocations, " say too little");
    return effect;
  }
  Rollup rollup({{RollupBy::kConsumption, ""}, {RollupBy::kStockout, ""}, {RollupBy::kCause, ""}}, {});
  rollup.Add(subject, timeline);
  for (const RollupRow& row : rollup.Rows()) AddSavings(row, effect);
  const RollupRow total = rollup.Total();
  effect.wanted = total.wanted();
  if (!total.scheduling() || effect.wanted == 0) {
    effect.unknown = "its Scheduling Goodput is not known";
    return effect;
  }
  effect.scheduling = *total.scheduling();
  const double up = effect.scheduling * static_cast<double>(effect.wanted);
  effect.with_reservation = {up / static_cast<double>(effect.wanted - effect.stockouts),
                             up / static_cast<double>(effect.wanted - effect.waits)};
  return effect;
}

}  // namespace goodput
