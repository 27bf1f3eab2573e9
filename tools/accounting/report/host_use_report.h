// What a run used of its nodes (see timeline/host_use.h), in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/report/report.h"
#include "tools/accounting/timeline/host_use.h"

namespace goodput {

// Of the whole run; absent if nothing was measured, and for a part of a run.
std::optional<HostUseTotal> HostUseOf(const Report& report);

// Label and text of each row, e.g. {"CPU", "3.21 of 16 CPU-h given (20.1%)"}.
std::vector<std::pair<std::string, std::string>> InWords(const HostUseTotal& total);

}  // namespace goodput
