// A progress line on a terminal, removed when the work is done. Prints nothing without a terminal.
#pragma once

#include <string_view>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace goodput {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `words` must be safe to print. Shown after two seconds at the earliest, at most five times a second.
  void Say(std::string_view words);

 private:
  bool shown_;
  bool said_ = false;
  absl::Time began_ = absl::Now();
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace goodput
