// Entries of Google's goodput log within a program's output, in the words of a line.
#pragma once

#include <string_view>
#include <vector>

#include "tools/sources/logs/log_event.h"

namespace goodput {

// Of a line that is such an entry, or ends in one behind a logger's prefix; each event has its own time.
std::vector<LogEvent> GoogleEvents(std::string_view line);

}  // namespace goodput
