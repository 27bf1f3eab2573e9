// goodputd's log: one line per event on stderr, which systemd sends to the journal.
#pragma once

#include <cstdio>
#include <string>

#include "tools/base/format.h"

namespace goodput {

// Paths and names in it may be those that a user chose.
inline void Log(const std::string& line) {
  constexpr std::size_t kMost = 2000;
  std::fprintf(stderr, "goodputd: %s\n", Printable(line, kMost).c_str());
}

// Logs a lasting problem once, until it changes or ends.
class Complaint {
 public:
  void Say(const std::string& line) {
    if (line == last_) return;
    if (!line.empty()) Log(line);
    if (line.empty() && !last_.empty()) Log("over: " + last_);
    last_ = line;
  }

 private:
  std::string last_;
};

}  // namespace goodput
