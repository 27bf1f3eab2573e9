// Finds the training's progress bar among several in one output, since data preparation and evaluation draw
// similar ones. They are distinguished by their total and duration: the training's is shown longest, with
// more states than any other shown as long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/sources/logs/log_event.h"

namespace goodput {

class Counters {
 public:
  // In the order of the file.
  void See(const LogEvent& event);
  // False: the event belongs to another bar than the training's. Every bar is, if none was seen.
  bool IsTrainings(const LogEvent& event) const;
  // Which bar was chosen and why, if there were several; otherwise empty.
  std::string Why() const;

 private:
  struct Course {
    std::int64_t states = 0;
    std::int64_t seconds = 0;  // longest time it was shown without restarting
  };
  // The total of the training's bar.
  std::optional<std::int64_t> Chosen() const;

  std::map<std::int64_t, Course> bars_;  // by total
};

}  // namespace goodput
