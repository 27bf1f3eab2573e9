// How the machines of a run were obtained (see rollup/provision.h), for its report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/report/report.h"
#include "tools/accounting/rollup/provision.h"

namespace goodput {

// By attempt of the timeline; absent: it was allocated no machines. `features`: by node.
std::vector<std::optional<Provision>> ProvisionsOf(const Report& report,
                                                   const std::map<std::string, std::string>& features);

// "spot (by the nodes' names)", or "spot in 2 of 3 attempts (by the nodes' names); unobserved in 1" if they
// differ; most attempts first. Empty: nothing says it of any attempt, none has machines, or
// Report::provisions was not filled.
std::string MachinesInWords(const Report& report);

}  // namespace goodput
