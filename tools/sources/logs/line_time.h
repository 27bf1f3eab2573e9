// The times that lines carry, and what moment they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

// "2026-02-05 17:07:36.379347", "2026-02-05T17:07:36,379Z", "2026-02-05 17:07:36+01:00".
std::optional<LineTime> ParseDate(std::string_view text);
// "0706 16:50:26.257925": month, day, time of day.
std::optional<LineTime> ParseGlog(std::string_view text);
// "1771022134.925": seconds since the epoch.
std::optional<LineTime> ParseUnix(std::string_view text);

// A line behind what programs that pass it on put in front of it: a time (`kubectl logs --timestamps`,
// `docker logs -t`, journals), in brackets or not, and the name of who printed it (`node1 | `, `[pod/x] `).
struct Unwrapped {
  std::string_view line;
  std::optional<LineTime> time;
};
Unwrapped Unwrap(std::string_view line);

// How finely a log's clock ticks. Digits behind the point that are 0 in all of its lines tell nothing.
class StampUnit {
 public:
  void See(const LineTime& time);
  // Of a line's time, by its digits and by those of the lines seen.
  std::int64_t Of(const LineTime& time) const;

 private:
  // One line alone may have been printed at just that moment.
  static constexpr int kEnough = 2;
  std::int64_t unit_ = 1'000'000'000;
  std::int64_t seen_ = 0;
};

// Of a log that is followed while it is written. A line was printed when it was read, or a while before: a
// program that writes to a file keeps some lines back. So a time on a wall is of the zone, in quarters of an
// hour, that makes it the nearest one not after the line was read.
std::int64_t LiveTime(const LineTime& time, std::int64_t read_ns);

// Of a log that is read afterwards: a wall is that of `zone`; a line without a year is of the last time
// before `not_after_ns` (when the file was last written to) that had such a date.
std::int64_t PastTime(const LineTime& time, absl::TimeZone zone, std::int64_t not_after_ns);

}  // namespace goodput
