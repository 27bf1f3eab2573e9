// Texts about the signal ledger: a one-line summary, and warnings that say what to do.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/timeline/signal_ledger.h"

namespace goodput {

// For a timeline that is complete except for its signals, and its deliveries by time.
std::string SummaryOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);
std::vector<std::string> WarningsOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries);

}  // namespace goodput
