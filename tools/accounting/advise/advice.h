// What to change about a run, in plain sentences: each names what it rests on and what it would gain at most.
//
// Nothing is advised without evidence in the run's own timeline, and nothing that might cost more than it
// gains: with so few failures that the best interval may as well be longer as shorter, none is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/advise/measure.h"
#include "tools/accounting/advise/plan.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct Advice {
  std::string action;
  std::string evidence;
  std::optional<double> gain;  // share of the time the run wanted; absent: only knowledge is gained
  bool at_most = true;         // the gain is a bound: what is lost to it today
  // What was lost, as it goes on after "Lost 3 GPU-h": "waiting for nodes"; empty where nothing is known
  // lost.
  std::string loss = {};
  std::optional<double> lost = {};  // its share of that time; absent: the gain's
};

// About the interval between checkpoints. `measured` is null where everything was given.
std::vector<Advice> AdviseInterval(const Situation& situation, const Plan& plan, const Measured* measured);

// About everything else the timeline shows. A run that failed before a step gets one advice, to look at that.
std::vector<Advice> AdviseFromTimeline(const Timeline& timeline, const Account& account,
                                       const Measured& measured);

// Most gain first; knowledge last.
void Rank(std::vector<Advice>& advice);

// What keeps the numbers from being better, or how far to trust them: one sentence each.
std::vector<std::string> Caveats(const Situation& situation, const Plan& plan, const Measured* measured);

// As FormatDuration has it; longer than two centuries ">200 years".
std::string SecondsInWords(double seconds);

}  // namespace goodput
