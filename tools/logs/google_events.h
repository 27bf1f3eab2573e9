// Entries of Google's goodput log within a program's output, in the words of a line.
#ifndef GOODPUT_TOOLS_LOGS_GOOGLE_EVENTS_H_
#define GOODPUT_TOOLS_LOGS_GOOGLE_EVENTS_H_

#include <string_view>
#include <vector>

#include "tools/logs/log_event.h"

namespace goodput {

// Of a line that is such an entry, or ends in one behind a logger's prefix; each event has its own time.
std::vector<LogEvent> GoogleEvents(std::string_view line);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_LOGS_GOOGLE_EVENTS_H_
