// The arithmetic of `sgoodput advise`: from how often a run fails and what saving and restarting cost to how
// often it should save, and what that gains.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// Seconds; absent is not known. What is there is finite and not negative, `mttf_s` and `interval_s` above 0.
struct Situation {
  std::optional<double> mttf_s;
  // What counting leaves open of it (90 %); both absent where it was given and not counted.
  std::optional<double> mttf_low_s;
  std::optional<double> mttf_high_s;
  std::optional<double> save_s;
  std::optional<double> restart_s;
  std::optional<double> interval_s;  // in use
  std::optional<double> gpus;
  std::optional<double> gpu_hour;  // price
};

// The best goodput (PoissonGoodput at PoissonInterval) if a save or a restart took another time.
struct Alternative {
  double save_s = 0;
  double restart_s = 0;
  double goodput = 0;
  double interval_s = 0;
};

// Absent: the situation lacks what it takes.
struct Plan {
  std::optional<double> young_s;
  std::optional<double> daly_s;
  std::optional<double> poisson_s;  // the best interval
  std::optional<double> saxena_s;
  std::optional<double> ettr;  // at the interval in use
  std::optional<double> ettr_interval_s;
  std::optional<double> goodput_now;
  std::optional<double> goodput_best;
  // The best instead of the interval in use, a day; and the same gain as a share of time with the MTTF at
  // either end of what counting leaves open, both at the interval that is best for the estimate.
  std::optional<double> gpu_hours_gained;
  std::optional<double> money_gained;
  std::optional<std::array<double, 2>> gain_range;
  // Rows: half, the same, twice the save; columns: the restart. Empty where any of it is unknown.
  std::vector<std::array<Alternative, 3>> alternatives;
};

Plan MakePlan(const Situation& situation);

}  // namespace goodput
