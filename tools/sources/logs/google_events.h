// Entries of Google's goodput log in a program's output, as log events.
#pragma once

#include <string_view>
#include <vector>

#include "tools/sources/logs/log_event.h"

namespace goodput {

// The events of a line that is such an entry, or ends in one after a logger's prefix; each event has its own
// time.
std::vector<LogEvent> GoogleEvents(std::string_view line);

}  // namespace goodput
