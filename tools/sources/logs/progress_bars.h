// Which of several progress bars in one output is the training's: data is prepared and models are evaluated
// under bars that look the same. They are told apart by what they count to and by their course: the
// training's is shown longest, and with more states than any other that is shown as long.
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
  // False: the event is of a bar, and that is not the training's.
  bool IsTrainings(const LogEvent& event) const;
  // What was chosen and why, where there was a choice; else empty.
  std::string Why() const;

 private:
  struct Course {
    std::int64_t states = 0;
    std::int64_t seconds = 0;  // the longest it was shown without being begun anew
  };
  // What the training's counts to.
  std::optional<std::int64_t> Chosen() const;

  std::map<std::int64_t, Course> bars_;  // by what they count to
};

}  // namespace goodput
