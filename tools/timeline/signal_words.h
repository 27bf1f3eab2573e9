// What the signal ledger says to people: one line of sum, and what to do about what went wrong.
#ifndef GOODPUT_TOOLS_TIMELINE_SIGNAL_WORDS_H_
#define GOODPUT_TOOLS_TIMELINE_SIGNAL_WORDS_H_

#include <string>
#include <vector>

#include "tools/timeline/signal_ledger.h"

namespace goodput {

// Both of a timeline that has everything but its signals, and of its deliveries by time.
std::string SummaryOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);
std::vector<std::string> WarningsOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_TIMELINE_SIGNAL_WORDS_H_
