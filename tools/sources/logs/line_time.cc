#include "tools/sources/logs/line_time.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/time/civil_time.h"
#include "spank/clock.h"
#include "sql/text.h"
#include "tools/base/decimal.h"

namespace goodput {
namespace {

constexpr std::int64_t kQuarterNs = 900 * kSecondNs;
// Tolerance for clocks of two machines and rounding of a line's time.
constexpr std::int64_t kAheadNs = 2 * kSecondNs;
// A leap year.
constexpr int kNoYear = 1972;

// Reads digits and separators from the front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool Number(int digits, int& into) {
    if (text_.size() < static_cast<std::size_t>(digits)) return false;
    into = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = text_[static_cast<std::size_t>(i)];
      if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
      into = into * 10 + (c - '0');
    }
    text_.remove_prefix(static_cast<std::size_t>(digits));
    return true;
  }
  bool Any(std::string_view of) {
    if (text_.empty() || of.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Decimals of a second, as nanoseconds. `unit`: resolution of the last digit.
  std::int64_t Fraction(std::int64_t& unit) {
    std::int64_t ns = 0;
    while (!text_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text_.front()))) {
      unit /= 10;
      ns += unit * (text_.front() - '0');
      text_.remove_prefix(1);
    }
    return ns;
  }
  char front() const { return text_.empty() ? '\0' : text_.front(); }
  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct WallTime {
  int year = kNoYear;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

std::optional<std::int64_t> AsUtc(const WallTime& wall) {
  const absl::CivilSecond civil(wall.year, wall.month, wall.day, wall.hour, wall.minute, wall.second);
  // An invalid date is normalized into the next month; a leap second is not handled.
  const bool real = civil.month() == wall.month && civil.day() == wall.day && civil.hour() == wall.hour &&
                    civil.minute() == wall.minute;
  if (!real || wall.year < 1971 || wall.year > 2200) return std::nullopt;
  return absl::ToUnixNanos(absl::FromCivil(civil, absl::UTCTimeZone()));
}

bool TimeOfDay(Scanner& scan, WallTime& wall) {
  return scan.Number(2, wall.hour) && scan.Any(":") && scan.Number(2, wall.minute) && scan.Any(":") &&
         scan.Number(2, wall.second);
}

}  // namespace

std::optional<LineTime> ParseDate(std::string_view text) {
  Scanner scan(text);
  WallTime wall;
  if (!scan.Number(4, wall.year) || !scan.Any("-/") || !scan.Number(2, wall.month) || !scan.Any("-/") ||
      !scan.Number(2, wall.day) || !scan.Any("T _,") || !TimeOfDay(scan, wall))
    return std::nullopt;
  std::optional<std::int64_t> ns = AsUtc(wall);
  if (!ns) return std::nullopt;
  std::int64_t unit = kSecondNs;
  if (scan.Any(".,")) *ns += scan.Fraction(unit);
  if (scan.done()) return LineTime{LineTime::Kind::kWall, *ns, unit};
  if (scan.Any("Z")) return LineTime{LineTime::Kind::kAbsolute, *ns, unit};
  const bool west = scan.front() == '-';
  int hours = 0;
  int minutes = 0;
  if (!scan.Any("+-") || !scan.Number(2, hours)) return std::nullopt;
  scan.Any(":");
  if (!scan.done() && !scan.Number(2, minutes)) return std::nullopt;
  const std::int64_t offset = (hours * 3600 + minutes * 60) * kSecondNs;
  return LineTime{LineTime::Kind::kAbsolute, *ns + (west ? offset : -offset), unit};
}

std::optional<LineTime> ParseGlog(std::string_view text) {
  Scanner scan(text);
  WallTime wall;
  constexpr std::size_t kDateWithYear = 8;
  const bool year = text.find(' ') == kDateWithYear;
  if ((year && !scan.Number(4, wall.year)) || !scan.Number(2, wall.month) || !scan.Number(2, wall.day) ||
      !scan.Any(" ") || !TimeOfDay(scan, wall))
    return std::nullopt;
  std::optional<std::int64_t> ns = AsUtc(wall);
  if (!ns) return std::nullopt;
  std::int64_t unit = kSecondNs;
  if (scan.Any(".")) *ns += scan.Fraction(unit);
  return LineTime{year ? LineTime::Kind::kWall : LineTime::Kind::kYearless, *ns, unit};
}

std::optional<LineTime> ParseUsDate(std::string_view text) {
  Scanner scan(text);
  WallTime wall;
  if (!scan.Number(2, wall.month) || !scan.Any("/") || !scan.Number(2, wall.day)) return std::nullopt;
  const bool year = scan.Any("/");
  if ((year && !scan.Number(4, wall.year)) || !scan.Any(" ") || !TimeOfDay(scan, wall)) return std::nullopt;
  std::optional<std::int64_t> ns = AsUtc(wall);
  if (!ns) return std::nullopt;
  std::int64_t unit = kSecondNs;
  if (scan.Any(".,")) *ns += scan.Fraction(unit);
  return LineTime{year ? LineTime::Kind::kWall : LineTime::Kind::kYearless, *ns, unit};
}

std::optional<LineTime> ParseUnix(std::string_view text) {
  const std::optional<std::int64_t> ns = ParseDecimal(text, 9);
  if (!ns) return std::nullopt;
  std::int64_t unit = kSecondNs;
  const std::size_t point = text.find('.');
  for (std::size_t i = point; point != std::string_view::npos && i + 1 < text.size(); ++i) unit /= 10;
  return LineTime{LineTime::Kind::kAbsolute, *ns, unit};
}

namespace {

// From the text before the first blank: date and time joined by a T.
std::optional<LineTime> JoinedTime(std::string_view word) {
  constexpr std::size_t kJoint = 10;
  return word.size() > kJoint && word[kJoint] == 'T' ? ParseDate(word) : std::nullopt;
}

// Removes one prefix from the line.
bool UnwrapOne(Unwrapped& from) {
  constexpr std::size_t kLongestName = 64;
  const std::size_t blank = from.line.find(' ');
  if (blank == std::string_view::npos || blank == 0) return false;
  std::string_view word = from.line.substr(0, blank);
  const bool bracketed = word.size() > 2 && word.front() == '[' && word.back() == ']';
  if (bracketed) word = word.substr(1, word.size() - 2);
  if (const std::optional<LineTime> time = JoinedTime(word)) {
    from.time = time;
    from.line.remove_prefix(blank + 1);
    return true;
  }
  if (bracketed) {
    if (word.substr(0, 4) != "pod/") return false;
    from.line.remove_prefix(blank + 1);
    return true;
  }
  const std::size_t bar = from.line.find_first_not_of(' ', blank);
  if (bar > kLongestName || from.line.substr(bar, 2) != "| ") return false;
  from.line.remove_prefix(bar + 2);
  return true;
}

}  // namespace

Unwrapped Unwrap(std::string_view line) {
  Unwrapped inner{line, std::nullopt};
  for (int i = 0; i < 3 && UnwrapOne(inner); ++i) {
  }
  return inner;
}

void StampUnit::See(const LineTime& time) {
  ++seen_;
  while (unit_ > 1 && time.ns % unit_ != 0) unit_ /= 10;
}

std::int64_t StampUnit::Of(const LineTime& time) const {
  return std::max(time.resolution_ns, seen_ < kEnough ? 0 : unit_);
}

std::int64_t LiveTime(const LineTime& time, std::int64_t read_ns) {
  if (time.kind == LineTime::Kind::kAbsolute) return time.ns <= read_ns + kAheadNs ? time.ns : read_ns;
  // A year is a whole number of quarters of an hour, and so is any zone.
  const std::int64_t behind = read_ns + kAheadNs - time.ns;
  const std::int64_t quarters =
      behind >= 0 ? behind / kQuarterNs : -((-behind + kQuarterNs - 1) / kQuarterNs);
  return time.ns + quarters * kQuarterNs;
}

std::int64_t PastTime(const LineTime& time, absl::TimeZone zone, std::int64_t not_after_ns) {
  if (time.kind == LineTime::Kind::kAbsolute) return time.ns;
  const std::int64_t fraction = time.ns - time.ns / kSecondNs * kSecondNs;
  const auto in_year = [&](absl::CivilSecond civil) {
    return absl::ToUnixNanos(absl::FromCivil(civil, zone)) + fraction;
  };
  const absl::CivilSecond wall = absl::ToCivilSecond(absl::FromUnixNanos(time.ns), absl::UTCTimeZone());
  if (time.kind == LineTime::Kind::kWall) return in_year(wall);
  const std::int64_t day_after = not_after_ns + 86'400 * kSecondNs;
  for (absl::civil_year_t year = absl::ToCivilYear(absl::FromUnixNanos(day_after), zone).year();; --year) {
    const absl::CivilSecond civil(year, wall.month(), wall.day(), wall.hour(), wall.minute(), wall.second());
    // Not every year has a 29th of February.
    if (civil.day() == wall.day() && in_year(civil) <= day_after) return in_year(civil);
  }
}

}  // namespace goodput
