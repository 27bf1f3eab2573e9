#include "tools/base/parse_time.h"

#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {

namespace {

// MM/DD and MMDD without a year: the last such day, as in sacct. InfiniteFuture for anything else.
absl::Time ParseDayOfYear(const std::string& text, absl::Time now, absl::TimeZone zone) {
  const std::int64_t year = absl::ToCivilYear(now, zone).year();
  for (const char* day : {"%m/%d", "%m.%d", "%m%d"}) {
    for (const char* clock : {"", "-%H:%M", "-%H:%M:%S"}) {
      const std::string format = Cat("%Y ", day, clock);
      absl::Time time;
      // The previous year has the day too, unless it is the 29th of February.
      if (!absl::ParseTime(format, Cat(year, " ", text), zone, &time, nullptr)) continue;
      if (absl::ToCivilDay(time, zone) <= absl::ToCivilDay(now, zone)) return time;
      if (absl::ParseTime(format, Cat(year - 1, " ", text), zone, &time, nullptr)) return time;
    }
  }
  return absl::InfiniteFuture();
}

// InfiniteFuture if it is not a time.
absl::Time Parse(const std::string& text, absl::Time now) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  if (text == "now") return now;
  if (text == "midnight" || text == "today") return absl::FromCivil(today, zone);
  if (text == "noon") return absl::FromCivil(absl::CivilHour(today) + 12, zone);
  std::int64_t seconds = 0;
  if (absl::StartsWith(text, "@") && absl::SimpleAtoi(text.substr(1), &seconds))
    return absl::FromUnixSeconds(seconds);
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y", "%m/%d/%y-%H:%M",
                             "%m/%d/%y-%H:%M:%S"}) {
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
  return ParseDayOfYear(text, now, zone);
}

}  // namespace

namespace {

// Times may contain slashes, as 01/31 does: the separator is the one with valid times on both sides.
absl::StatusOr<TimeSpan> ParseWindow(const std::string& text, absl::Time now) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const absl::StatusOr<Ns> from = ParseTimeOption(text.substr(0, at), now);
    const absl::StatusOr<Ns> to = ParseTimeOption(text.substr(at + 1), now);
    if (!from.ok() || !to.ok()) continue;
    if (*from >= *to) return absl::InvalidArgumentError(Cat("--exclude: '", text, "' ends before it begins"));
    return TimeSpan{*from, *to};
  }
  return absl::InvalidArgumentError(
      Cat("--exclude: '", text,
          "' is not a time window; use FROM/TO, such as 2026-01-31T12:00/2026-01-31T14:00"));
}

}  // namespace

absl::StatusOr<std::vector<TimeSpan>> ParseWindows(const std::vector<std::string>& texts, absl::Time now) {
  std::vector<TimeSpan> windows;
  for (const std::string& list : texts) {
    for (absl::string_view text : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      ASSIGN_OR_RETURN(const TimeSpan window, ParseWindow(std::string(text), now));
      windows.push_back(window);
    }
  }
  return windows;
}

absl::StatusOr<Ns> ParseTimeOption(const std::string& text, absl::Time now) {
  const absl::Time time = Parse(text, now);
  // Times outside 64-bit nanoseconds, such as infinite-future, are not times of jobs.
  if (time > absl::FromUnixNanos(INT64_MIN) && time < absl::FromUnixNanos(INT64_MAX)) {
    return absl::ToUnixNanos(time);
  }
  return absl::InvalidArgumentError(Cat(
      "'", text, "' is not a time; use 2026-01-31, 2026-01-31T12:00:00, 01/31, 12:00, now or now-2hours"));
}

}  // namespace goodput
