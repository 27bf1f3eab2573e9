// The arithmetic of `sgoodput advise`: computes the best checkpoint interval and its gain from the failure
// rate and the costs of saving and restarting.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// In seconds; absent means unknown. Values are finite and not negative; `mttf_s` and `interval_s` are above
// 0.
struct Situation {
  std::optional<double> mttf_s;
  // The confidence interval of the MTTF (90 %); both absent if it was given instead of measured.
  std::optional<double> mttf_low_s;
  std::optional<double> mttf_high_s;
  std::optional<double> save_s;
  std::optional<double> restart_s;
  std::optional<double> interval_s;  // in use
  std::optional<double> gpus;
  std::optional<double> gpu_hour;  // price
};

// The best goodput (PoissonGoodput at PoissonInterval) for another duration of a save or a restart.
struct Alternative {
  double save_s = 0;
  double restart_s = 0;
  double goodput = 0;
  double interval_s = 0;
};

// A value is absent if the situation lacks what it needs.
struct Plan {
  std::optional<double> young_s;
  std::optional<double> daly_s;
  std::optional<double> poisson_s;  // the best interval
  std::optional<double> saxena_s;
  std::optional<double> ettr;  // at the interval in use
  std::optional<double> ettr_interval_s;
  std::optional<double> goodput_now;
  std::optional<double> goodput_best;
  // GPU-hours per day that the best interval gains over the one in use; and the same gain as a share of time
  // for the MTTF at either end of its confidence interval, with the interval that is best for the estimate.
  std::optional<double> gpu_hours_gained;
  std::optional<double> money_gained;
  std::optional<std::array<double, 2>> gain_range;
  // Rows: half, the same and twice the save; columns: likewise for the restart. Empty if any of them is
  // unknown.
  std::vector<std::array<Alternative, 3>> alternatives;
};

Plan MakePlan(const Situation& situation);

}  // namespace goodput
