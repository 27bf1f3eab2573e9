// What `sgoodput advise` answers, before it is put into words or JSON.
#ifndef GOODPUT_TOOLS_SGOODPUT_ADVISE_H_
#define GOODPUT_TOOLS_SGOODPUT_ADVISE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/advise/advice.h"
#include "tools/advise/measure.h"
#include "tools/advise/plan.h"
#include "tools/timeline/goodput.h"
#include "tools/timeline/timeline.h"

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

// Of a run as it was measured. `busbw`: what is expected of the network, Config::busbw.
AdviseReport AdviseOn(const Timeline& timeline, const Account& account, double busbw);

// The object `--json` prints, see advise.schema.json.
std::string AdviseAsJson(const AdviseReport& report);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_ADVISE_H_
