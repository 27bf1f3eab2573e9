// An event as the administrator's program and URL get it.
#pragma once

#include <string>

#include "tools/accounting/live/events.h"

namespace goodput {

// One line of JSON, see event.schema.json; at most about 32 KiB. Bytes that are not UTF-8 become U+FFFD.
std::string EventAsJson(const Event& event);

}  // namespace goodput
