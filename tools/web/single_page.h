// Builds a self-contained page of one run: a file to keep, mail or attach to a ticket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/web/assets.h"

namespace goodput {

// `json`: the output of `sgoodput show --json --timeline`. It cannot become part of the page's code, whatever
// names users gave their jobs, and the page may not load anything.
std::string SinglePage(const std::vector<WebAsset>& assets, std::string_view json);

}  // namespace goodput
