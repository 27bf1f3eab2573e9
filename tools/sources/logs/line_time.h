// Parses the times in lines, and converts them to absolute times.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "tools/sources/logs/log_event.h"

namespace goodput {

// "2026-02-05 17:07:36.379347", "2026-02-05T17:07:36,379Z", "2026-02-05 17:07:36+01:00",
// "2026/02/05,17:07:36".
std::optional<LineTime> ParseDate(std::string_view text);
// "0706 16:50:26.257925": month, day, time of day; also with the year, "20260706 16:50:26".
std::optional<LineTime> ParseGlog(std::string_view text);
// The month first: "03/04 12:31:56", also with the year, "03/04/2026 12:31:56".
std::optional<LineTime> ParseUsDate(std::string_view text);
// "1771022134.925": seconds since the epoch.
std::optional<LineTime> ParseUnix(std::string_view text);

// A line without what forwarding programs put in front: a time (`kubectl logs --timestamps`, `docker logs
// -t`, journals), with or without brackets, and the name of the source (`node1 | `, `[pod/x] `).
struct Unwrapped {
  std::string_view line;
  std::optional<LineTime> time;
};
Unwrapped Unwrap(std::string_view line);

// The resolution of a log's clock. Fractional digits that are 0 in all of its lines do not count.
class StampUnit {
 public:
  void See(const LineTime& time);
  // Resolution of a line's time, from its digits and those of the lines seen so far.
  std::int64_t Of(const LineTime& time) const;

 private:
  // A single line may have been printed at exactly that time.
  static constexpr int kEnough = 2;
  std::int64_t unit_ = 1'000'000'000;
  std::int64_t seen_ = 0;
};

// For a log that is followed while it is written. A line was printed when it was read, or a while before,
// since programs buffer output. So a wall-clock time is in the zone, in quarters of an hour, that makes it
// the latest time not after the line was read.
std::int64_t LiveTime(const LineTime& time, std::int64_t read_ns);

// For a finished log: a wall-clock time is in `zone`; a line without a year belongs to the last time before
// `not_after_ns` (when the file was last written) with that date.
std::int64_t PastTime(const LineTime& time, absl::TimeZone zone, std::int64_t not_after_ns);

}  // namespace goodput
