#include "tools/sgoodput/time_option.h"

#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {

namespace {

// InfiniteFuture for what is no time.
absl::Time Parse(const std::string& text, absl::Time now) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  if (text == "now") return now;
  if (text == "midnight" || text == "today") return absl::FromCivil(today, zone);
  if (text == "noon") return absl::FromCivil(absl::CivilHour(today) + 12, zone);
  for (const char* format :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y", "%m/%d/%y-%H:%M:%S"}) {
    absl::Time time;
    if (absl::ParseTime(format, text, zone, &time, nullptr)) return time;
  }
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"}) {
    absl::Time time;
    const std::string on_today = Cat(absl::FormatCivilTime(today), "T", text);
    if (absl::ParseTime(format, on_today, zone, &time, nullptr)) return time;
  }
  if (absl::StartsWith(text, "now-") || absl::StartsWith(text, "now+")) {
    const std::size_t unit_at = text.find_first_not_of("0123456789", 4);
    std::int64_t count = 0;
    if (absl::SimpleAtoi(text.substr(4, unit_at == std::string::npos ? unit_at : unit_at - 4), &count)) {
      const std::string unit = unit_at == std::string::npos ? "seconds" : text.substr(unit_at);
      static const std::map<std::string, absl::Duration> kUnits{{"second", absl::Seconds(1)},
                                                                {"minute", absl::Minutes(1)},
                                                                {"hour", absl::Hours(1)},
                                                                {"day", absl::Hours(24)},
                                                                {"week", absl::Hours(168)}};
      for (const auto& [name, length] : kUnits) {
        if (unit == name || unit == name + "s")
          return text[3] == '-' ? now - count * length : now + count * length;
      }
    }
  }
  return absl::InfiniteFuture();
}

}  // namespace

absl::StatusOr<Ns> ParseTimeOption(const std::string& text, absl::Time now) {
  const absl::Time time = Parse(text, now);
  // What nanoseconds in 64 bits cannot hold, such as infinite-future, is no time of a job.
  if (time > absl::FromUnixNanos(INT64_MIN) && time < absl::FromUnixNanos(INT64_MAX)) {
    return absl::ToUnixNanos(time);
  }
  return absl::InvalidArgumentError(
      Cat("'", text, "' is not a time; write 2026-01-31, 2026-01-31T12:00:00, 12:00, now or now-2hours"));
}

}  // namespace goodput
