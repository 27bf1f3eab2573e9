// Measures failures, saves and restarts in a run's timeline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/accounting/advise/spares.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct Measured {
  double wall_s = 0;  // without `hold`
  double up_s = 0;    // all resources up
  // Interruptions that were neither planned nor requested: no requeues and cancels.
  std::int64_t failures = 0;
  std::map<std::string, int> causes;  // of the failures

  std::optional<double> save_s;  // time a checkpoint blocks training; absent if no save was seen to do so
  std::int64_t saves = 0;
  // Training time between two complete checkpoints of one start of the program, without the save.
  std::optional<double> interval_s;
  std::int64_t intervals = 0;

  // After unplanned interruptions, means over those that were followed by a step: time until resources, from
  // there to the first step, and the sum of both.
  std::optional<double> resources_s;
  std::optional<double> first_step_s;
  std::optional<double> restart_s;
  std::int64_t restarts = 0;

  // Losses of nodes that a spare could have replaced: node failures, maintenance, and machines that the cloud
  // reclaimed.
  SpareEvidence spares;

  int gpus = 0;  // of the last attempt; 0: none
  int nodes = 0;
};

Measured Measure(const Timeline& timeline, const Account& account);

// Whether the run failed: the interruption was neither planned nor requested.
bool IsFailure(const Interruption& interruption);

}  // namespace goodput
