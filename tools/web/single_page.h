// The page with one run in it and everything it needs: a file to keep, mail or attach to a ticket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/web/assets.h"

namespace goodput {

// `json`: what `sgoodput show --json --timeline` prints. What it holds cannot become part of the page's code,
// whatever names users gave their jobs; and the page may load nothing.
std::string SinglePage(const std::vector<WebAsset>& assets, std::string_view json);

}  // namespace goodput
