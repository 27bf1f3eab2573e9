// One line on a terminal about what takes long, gone when it is done. Without a terminal nothing is said.
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

  // What there is to say, fit for a terminal. It is shown from two seconds after the beginning on, five times
  // a second at most.
  void Say(std::string_view words);

 private:
  bool shown_;
  bool said_ = false;
  absl::Time began_ = absl::Now();
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace goodput
