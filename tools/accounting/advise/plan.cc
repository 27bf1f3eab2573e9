#include "tools/accounting/advise/plan.h"

#include <algorithm>
#include <cstddef>

#include "tools/accounting/advise/checkpoint_interval.h"

namespace goodput {
namespace {

constexpr double kHoursPerDay = 24;

std::vector<std::array<Alternative, 3>> Alternatives(double mttf_s, double save_s, double restart_s) {
  constexpr std::array<double, 3> kFactors = {0.5, 1, 2};
  std::vector<std::array<Alternative, 3>> rows;
  for (const double save_factor : kFactors) {
    std::array<Alternative, 3> row;
    for (std::size_t column = 0; column < row.size(); ++column) {
      Alternative& cell = row[column];
      cell.save_s = save_s * save_factor;
      cell.restart_s = restart_s * kFactors[column];
      cell.interval_s = PoissonInterval(mttf_s, cell.save_s).value_or(0);
      cell.goodput = PoissonGoodput(mttf_s, cell.save_s, cell.restart_s, cell.interval_s);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

Plan MakePlan(const Situation& situation) {
  Plan plan;
  if (!situation.mttf_s || !situation.save_s) return plan;
  const double mttf_s = *situation.mttf_s;
  const double save_s = *situation.save_s;
  plan.young_s = YoungInterval(mttf_s, save_s);
  plan.daly_s = DalyInterval(mttf_s, save_s);
  plan.poisson_s = PoissonInterval(mttf_s, save_s);
  plan.ettr_interval_s = EttrInterval(mttf_s, save_s);
  if (!situation.restart_s) return plan;
  const double restart_s = *situation.restart_s;
  plan.saxena_s = SaxenaInterval(mttf_s, save_s, restart_s);
  if (situation.interval_s) {
    plan.ettr = Ettr(mttf_s, save_s, restart_s, *situation.interval_s);
    plan.goodput_now = PoissonGoodput(mttf_s, save_s, restart_s, *situation.interval_s);
  }
  if (!plan.poisson_s) return plan;
  plan.goodput_best = PoissonGoodput(mttf_s, save_s, restart_s, *plan.poisson_s);
  plan.alternatives = Alternatives(mttf_s, save_s, restart_s);
  if (!plan.goodput_now) return plan;
  const double gain = std::max(0.0, *plan.goodput_best - *plan.goodput_now);
  if (situation.gpus) plan.gpu_hours_gained = gain * *situation.gpus * kHoursPerDay;
  if (plan.gpu_hours_gained && situation.gpu_hour)
    plan.money_gained = *plan.gpu_hours_gained * *situation.gpu_hour;
  if (situation.mttf_low_s && situation.mttf_high_s) {
    const auto gain_at = [&](double mttf) {
      return PoissonGoodput(mttf, save_s, restart_s, *plan.poisson_s) -
             PoissonGoodput(mttf, save_s, restart_s, *situation.interval_s);
    };
    const double low = gain_at(*situation.mttf_low_s);
    const double high = gain_at(*situation.mttf_high_s);
    plan.gain_range = {std::min(low, high), std::max(low, high)};
  }
  return plan;
}

}  // namespace goodput
