#include "tools/accounting/advise/spares.h"

#include <algorithm>

#include "sql/text.h"
#include "tools/accounting/advise/mttf.h"

namespace goodput {
namespace {

constexpr double kHoursOfADay = 24;

std::string WhyUnknown(const SpareEvidence& evidence) {
  if (evidence.declared > 0)
    return Cat("the run holds ", evidence.declared,
               " spare GPUs already, and losses that they absorbed are not counted");
  if (evidence.nodes < 1 || evidence.gpus_of_node <= 0)
    return "it is not known on how many GPU nodes it runs";
  if (evidence.losses < kEnoughLosses)
    return Cat("it lost nodes ", evidence.losses, " times, and fewer than ", kEnoughLosses,
               " times say too little");
  if (evidence.replacements < kEnoughReplacements)
    return Cat("it got new resources after ", evidence.replacements, " of its losses, and fewer than ",
               kEnoughReplacements, " times say too little");
  if (evidence.up_s <= 0 || evidence.replace_s <= 0) return "no time passed between its losses";
  return "";
}

}  // namespace

double ErlangLoss(int lines, double load) {
  double loss = 1;
  for (int n = 1; n <= lines; ++n) loss = load * loss / (n + load * loss);
  return loss;
}

double GpuTimePerTraining(const SpareModel& model, int spares) {
  const double load = model.rate * model.replace_s;
  const double waiting = 1 / (1 - ErlangLoss(spares + 1, load));
  const double promoting = model.rate * model.promote_s * (1 - ErlangLoss(spares, load));
  return (1 + static_cast<double>(spares) / model.nodes) * (waiting + promoting);
}

int BestSpares(const SpareModel& model) {
  int best = 0;
  double least = GpuTimePerTraining(model, 0);
  for (int spares = 1; spares <= std::min(kMostSpares, model.nodes); ++spares) {
    const double cost = GpuTimePerTraining(model, spares);
    if (cost >= least) continue;
    best = spares;
    least = cost;
  }
  return best;
}

SparePlan PlanSpares(const SpareEvidence& evidence) {
  SparePlan plan;
  plan.unknown = WhyUnknown(evidence);
  if (!plan.unknown.empty()) return plan;
  const auto losses = static_cast<double>(evidence.losses);
  const MttfEstimate between = EstimateMttf(evidence.up_s, evidence.losses);
  const MttfEstimate replace = EstimateMttf(evidence.replace_s, evidence.replacements);
  plan.model = {evidence.nodes, losses / evidence.up_s, *replace.mttf_s, evidence.promote_s};
  plan.rate_range = {1 / *between.high_s, 1 / between.low_s};
  plan.replace_range = {replace.low_s, *replace.high_s};
  plan.best = BestSpares(plan.model);
  for (std::size_t end = 0; end < 2; ++end) {
    SpareModel at = plan.model;
    at.rate = plan.rate_range[end];
    at.replace_s = plan.replace_range[end];
    plan.range[end] = BestSpares(at);
  }
  for (int spares = 0; spares <= plan.best + 2; ++spares)
    plan.cost.push_back(GpuTimePerTraining(plan.model, spares));
  const double none = plan.cost.front();
  const double saved = none - plan.cost[static_cast<std::size_t>(plan.best)];
  plan.gpu_hours_saved = saved * kHoursOfADay * evidence.nodes * evidence.gpus_of_node;
  plan.gain = saved / none;
  return plan;
}

}  // namespace goodput
