// goodputd's log: one line per event on stderr, which systemd sends to the journal.
#pragma once

#include <cstdio>
#include <string>

namespace goodput {

inline void Log(const std::string& line) {
  std::fprintf(stderr, "goodputd: %s\n", line.c_str());
}

// Says something once until it changes: trouble that lasts fills no log, and its end is said too.
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
