// The result of `sgoodput advise`, for text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/advise/advice.h"
#include "tools/accounting/advise/measure.h"
#include "tools/accounting/advise/plan.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct AdviseReport {
  std::string title;
  std::optional<Measured> measured;  // absent: all values were given
  // Which values of the situation the command line gave.
  std::string mttf_given;  // in words; empty: measured
  bool save_given = false;
  bool restart_given = false;
  bool interval_given = false;
  std::optional<double> nodes;
  Situation situation;
  Plan plan;
  std::optional<SparePlan> spares;               // absent without a job
  std::optional<ReservationEffect> reservation;  // likewise
  std::vector<Advice> advice;                    // largest gain first
  std::vector<std::string> caveats;
};

// The object that `--json` prints; see advise.schema.json.
std::string AdviseAsJson(const AdviseReport& report);

}  // namespace goodput
