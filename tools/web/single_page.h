// Builds a self-contained page of one run, or of a fleet of clusters, to keep, mail or attach to a ticket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/web/assets.h"

namespace goodput {

// `json`: the output of `sgoodput show --json --timeline`, or that of the fleet database (an object `fleet`).
// It is escaped, so that names chosen by users cannot become code, and the page may not load anything.
std::string SinglePage(const std::vector<WebAsset>& assets, std::string_view json);

}  // namespace goodput
