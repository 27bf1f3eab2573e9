// Tells the lines of steps of one rank from those of others in the same output, which may come much later:
// each rank has a buffer of its own. Labels tell (lines.h), or the lines' own times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

class OneRank {
 public:
  // A line that this many steps are done; `time`: its own. True: another rank has said so, or more. False for
  // what is new, and for a rank that goes back, since the program was restarted.
  bool HasSaid(const std::optional<RankLabel>& label, std::int64_t done, const std::optional<LineTime>& time);

  // More lines of steps than that in a row are from no rank that lags: the others are gone.
  static constexpr int kMostLines = 1000;
  static constexpr std::size_t kMostRanks = 4096;
  static constexpr std::size_t kMostSteps = 4096;

 private:
  bool Lags(const std::optional<RankLabel>& label, std::int64_t done) const;
  bool IsDoneAgain(std::int64_t done, const std::optional<LineTime>& time) const;
  bool WasAtThatTime(std::int64_t done, const std::optional<LineTime>& time) const;
  void Know(const std::optional<RankLabel>& label, std::int64_t done);

  std::map<std::string, std::int64_t, std::less<>> done_;  // steps, by label
  std::map<std::int64_t, LineTime> times_;                 // of the latest numbers of steps
  std::int64_t newest_ = -1;
  std::optional<LineTime> newest_time_;
  int behind_ = 0;  // lines in a row of ranks that lag
};

}  // namespace goodput
