// An event that a look at a job's output found.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/sources/logs/log_event.h"

namespace goodput {

// LogEvent::task is absent if the line's own time is not fine enough to compare tasks.
struct FoundEvent {
  LogEvent event;
  std::int64_t t_ns = 0;  // the line's time, or when it was read
  std::optional<std::int64_t> began_ns;
  std::int64_t offset = 0;
  std::int64_t late_ns = 0;  // it may have been printed up to this much before t_ns
};

}  // namespace goodput
