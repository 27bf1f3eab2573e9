// What to change about a run, in plain sentences, each with its evidence and an upper bound of the gain.
//
// Every advice has evidence in the run's own timeline. Nothing is advised that might cost more than it gains:
// if there are so few failures that the best interval may be longer as well as shorter, none is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/advise/measure.h"
#include "tools/accounting/advise/plan.h"
#include "tools/accounting/advise/reservation.h"
#include "tools/accounting/advise/spares.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct Advice {
  std::string action;
  std::string evidence;
  std::optional<double> gain;  // share of the time that the run wanted; absent: it yields only information
  bool at_most = true;         // the gain is an upper bound: what this loses today
  // What was lost, to follow "Lost 3 GPU-h": "waiting for nodes"; empty if no loss is known.
  std::string loss = {};
  std::optional<double> lost = {};  // the loss's share of that time; absent: equal to the gain
};

// On the interval between checkpoints. `measured` is null if all values were given.
std::vector<Advice> AdviseInterval(const Situation& situation, const Plan& plan, const Measured* measured);

// On everything else in the timeline. A run that failed before its first step gets one advice: to find out
// why.
std::vector<Advice> AdviseFromTimeline(const Timeline& timeline, const Account& account,
                                       const Measured& measured);

// On hot spares; none unless at least one pays even at the low end of what is known.
std::vector<Advice> AdviseSpares(const SparePlan& plan, const Measured& measured);

// On reserving instead of spot or flex-start; none unless stockouts were seen that cost something.
std::vector<Advice> AdviseReservation(const ReservationEffect& effect);

// Sorts by gain, largest first; advice without a gain comes last.
void Rank(std::vector<Advice>& advice);

// What limits the results, or how far to trust them: one sentence each.
std::vector<std::string> Caveats(const Situation& situation, const Plan& plan, const Measured* measured);

// Like FormatDuration; more than two centuries is ">200 years".
std::string SecondsInWords(double seconds);

}  // namespace goodput
