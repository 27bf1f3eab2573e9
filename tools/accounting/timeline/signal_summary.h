// What the signal ledger says to people: one line of sum, and what to do about what went wrong.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/signal_ledger.h"

namespace goodput {

// Both of a timeline that has everything but its signals, and of its deliveries by time.
std::string SummaryOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);
std::vector<std::string> WarningsOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);

}  // namespace goodput
