// What a run's own timeline says about failing, saving and restarting, as plain numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct Measured {
  double wall_s = 0;  // without `hold`
  double up_s = 0;    // all resources up
  // Unplanned interruptions that nobody asked for: not planned ones, requeues and cancels.
  std::int64_t failures = 0;
  std::map<std::string, int> causes;  // of them

  std::optional<double> save_s;  // training blocked per checkpoint; absent where no save was seen to block it
  std::int64_t saves = 0;
  // Training between two complete checkpoints of one start of the program, without the save.
  std::optional<double> interval_s;
  std::int64_t intervals = 0;

  // After unplanned interruptions, means over those that were followed by a step: to resources, from there to
  // the first step, and both.
  std::optional<double> resources_s;
  std::optional<double> first_step_s;
  std::optional<double> restart_s;
  std::int64_t restarts = 0;

  // What a spare node could have saved: the wait for resources after node failures beyond what a launch
  // takes.
  std::int64_t node_failures = 0;
  double spare_saves_s = 0;

  int gpus = 0;  // of the last attempt; 0: none
  int nodes = 0;
};

Measured Measure(const Timeline& timeline, const Account& account);

// Whether the run itself failed: nobody planned the interruption or asked for it.
bool IsFailure(const Interruption& interruption);

}  // namespace goodput
