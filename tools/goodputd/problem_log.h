// Logs a lasting problem of a file or folder once, when it first occurs.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/goodputd/log.h"

namespace goodput {

class Problems {
 public:
  explicit Problems(std::string what) : what_(std::move(what)) {}
  // `problems`: all that exist now. Of thousands at once, logs a few and their number.
  void Say(const std::vector<std::string>& problems) {
    constexpr std::size_t kMost = 10;
    std::set<std::string> now(problems.begin(), problems.end());
    std::size_t fresh = 0;
    for (const std::string& problem : now) {
      if (known_.count(problem) == 0 && ++fresh <= kMost) Log(what_ + ": " + problem);
    }
    if (fresh > kMost) Log(what_ + ": and " + std::to_string(fresh - kMost) + " more");
    known_ = std::move(now);
  }

 private:
  std::string what_;
  std::set<std::string> known_;
};

}  // namespace goodput
