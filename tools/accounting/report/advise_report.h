// What `sgoodput advise` answers, before it becomes sentences or JSON.
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
  std::optional<Measured> measured;  // absent: everything was given
  // Of the situation's values, which the command line gave.
  std::string mttf_given;  // in words; empty: measured
  bool save_given = false;
  bool restart_given = false;
  bool interval_given = false;
  std::optional<double> nodes;
  Situation situation;
  Plan plan;
  std::vector<Advice> advice;  // most gain first
  std::vector<std::string> caveats;
};

// The object `--json` prints, see advise.schema.json.
std::string AdviseAsJson(const AdviseReport& report);

}  // namespace goodput
