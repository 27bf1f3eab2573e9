#include "tools/sources/logs/line_numbers.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "absl/strings/ascii.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxDigits = 15;

bool IsNamePart(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '-' || c == '.';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLetter(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c));
}
// What may be between a name and its number.
bool IsSeparator(char c) {
  return c == ' ' || c == '\t' || c == ':' || c == '=' || c == '"' || c == '\'' || c == '#' || c == '[' ||
         c == '(' || c == '@';
}

std::size_t SkipDigits(std::string_view line, std::size_t at) {
  while (at < line.size() && IsDigit(line[at])) ++at;
  return at;
}

// The end of a number that begins here, with fraction and exponent.
std::size_t EndOfNumber(std::string_view line, std::size_t at, bool& is_fraction) {
  at = SkipDigits(line, at);
  if (at + 1 < line.size() && line[at] == '.' && IsDigit(line[at + 1])) {
    is_fraction = true;
    at = SkipDigits(line, at + 1);
  }
  if (at + 1 < line.size() && (line[at] == 'e' || line[at] == 'E')) {
    const std::size_t sign = at + 1 < line.size() && (line[at + 1] == '-' || line[at + 1] == '+') ? 1 : 0;
    if (at + 1 + sign < line.size() && IsDigit(line[at + 1 + sign])) {
      is_fraction = true;
      at = SkipDigits(line, at + 1 + sign);
    }
  }
  return at;
}

// The end of a date or time that begins with this number: digits joined by ':', '-', '/' twice. 0: none.
std::size_t EndOfJoined(std::string_view line, std::size_t end, char joint, int least) {
  int joints = 0;
  while (end + 1 < line.size() && line[end] == joint && IsDigit(line[end + 1])) {
    end = SkipDigits(line, end + 1);
    ++joints;
  }
  return joints >= least ? end : 0;
}

// The end of the groups of three digits that continue a number of at most three: 107,200. `begin`: of the
// number. Its own end if none do.
std::size_t EndOfThousands(std::string_view line, std::size_t begin, std::size_t end) {
  if (end - begin > 3 || line[begin] == '0') return end;
  std::size_t at = end;
  while (at < line.size() && line[at] == ',' && SkipDigits(line, at + 1) == at + 4) at += 4;
  const bool goes_on = at + 1 < line.size() && (line[at] == '.' || line[at] == ',') && IsDigit(line[at + 1]);
  return goes_on ? end : at;
}

// At most 15 digits, perhaps with a comma before each three.
std::optional<std::int64_t> Integer(std::string_view text) {
  std::int64_t value = 0;
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Where "(train)" behind a name begins; `at` itself if there is none.
std::size_t SkipQualifierBack(std::string_view line, std::size_t at) {
  if (at < 3 || line[at - 1] != ')') return at;
  std::size_t open = at - 1;
  while (open > 0 && IsLetter(line[open - 1])) --open;
  const bool qualifies = open >= 2 && open < at - 1 && line[open - 1] == '(' && IsLetter(line[open - 2]);
  return qualifies ? open - 1 : at;
}

void FindPhrase(std::string_view line, LineNumber& number) {
  constexpr int kWords = 3;
  std::size_t end = number.name_begin;
  while (end > 0 && line[end - 1] == ' ') --end;
  number.follows_colon = end > 0 && line[end - 1] == ':';
  if (number.follows_colon) --end;
  while (number.follows_colon && end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  for (int words = 0; words < kWords; ++words) {
    std::size_t at = begin;
    if (words > 0 && at > 0 && line[at - 1] == ' ') --at;
    const std::size_t word_end = at;
    while (at > 0 && IsNamePart(line[at - 1])) --at;
    if (at == word_end || IsDigit(line[at]) || (words > 0 && word_end == begin)) break;
    begin = at;
  }
  number.phrase = line.substr(begin, end - begin);
}

void FindName(std::string_view line, std::size_t at, LineNumber& number) {
  while (at > 0 && IsSeparator(line[at - 1])) --at;
  const std::size_t end = at;
  at = SkipQualifierBack(line, at);
  while (at > 0 && IsNamePart(line[at - 1])) --at;
  // A word, not another number.
  while (at < end && !IsLetter(line[at])) ++at;
  number.name = line.substr(at, end - at);
  number.name_begin = at;
  FindPhrase(line, number);
  if (at == 0 || line[at - 1] != ' ') return;
  const std::size_t before_end = at - 1;
  std::size_t before = before_end;
  while (before > 0 && IsNamePart(line[before - 1])) --before;
  number.before = line.substr(before, before_end - before);
  if (number.before.empty() || std::none_of(number.before.begin(), number.before.end(), IsLetter) ||
      IsDigit(number.before.front()))
    number.before = {};
}

void FindTotal(std::string_view line, LineNumber& number) {
  std::size_t at = number.end;
  while (at < line.size() && line[at] == ' ') ++at;
  if (at >= line.size() || line[at] != '/') return;
  for (++at; at < line.size() && line[at] == ' ';) ++at;
  std::size_t end = SkipDigits(line, at);
  if (end > at && !number.name.empty()) end = EndOfThousands(line, at, end);
  // `7/20k` has no total that is a whole number.
  if (end >= line.size() || !IsLetter(line[end])) number.of = Integer(line.substr(at, end - at));
  if (!number.of) return;
  number.of_end = end;
}

// Of a number without a name.
void FindWordAfter(std::string_view line, LineNumber& number) {
  if (!number.unit.empty() || number.of || line.substr(number.end, 1) != " ") return;
  const std::size_t begin = number.end + 1;
  std::size_t end = begin;
  while (end < line.size() && IsLetter(line[end])) ++end;
  const bool last = end == line.size() || line[end] == ',' || line[end] == ';' || line[end] == ')' ||
                    line.substr(end, 2) == " |";
  if (last) number.after = line.substr(begin, end - begin);
}

// What a name has instead of a number at this place: nan, inf.
std::optional<LineNumber> FindNoNumber(std::string_view line, std::size_t at) {
  std::string word;
  LineNumber number;
  number.begin = number.end = at;
  while (number.end < line.size() && IsNamePart(line[number.end])) {
    word += absl::ascii_tolower(static_cast<unsigned char>(line[number.end++]));
    if (word.size() > 3) return std::nullopt;
  }
  if (word != "nan" && word != "inf") return std::nullopt;
  const bool negative = at > 0 && line[at - 1] == '-';
  FindName(line, negative ? at - 1 : at, number);
  if (number.name.empty() || number.name_begin + number.name.size() >= at) return std::nullopt;
  return number;
}

}  // namespace

std::vector<LineNumber> FindNumbers(std::string_view line) {
  std::vector<LineNumber> numbers;
  for (std::size_t at = 0; at < line.size();) {
    if (!IsDigit(line[at])) {
      const char c = line[at];
      const bool word = (c == 'n' || c == 'N' || c == 'i' || c == 'I') &&
                        (at == 0 || IsSeparator(line[at - 1]) || line[at - 1] == '-');
      const std::optional<LineNumber> none = word ? FindNoNumber(line, at) : std::nullopt;
      if (none) numbers.push_back(*none);
      at = none ? none->end : at + 1;
      continue;
    }
    // Within a word: skips the rest of it.
    const char last = at == 0 ? ' ' : line[at - 1];
    const bool negative = last == '-' && (at == 1 || IsSeparator(line[at - 2]));
    if (!negative && (IsNamePart(last) || last == '+')) {
      bool ignored = false;
      at = EndOfNumber(line, at, ignored);
      while (at < line.size() && (IsLetter(line[at]) || IsDigit(line[at]) || line[at] == '_')) ++at;
      continue;
    }
    LineNumber number;
    number.begin = at;
    bool is_fraction = false;
    number.end = EndOfNumber(line, at, is_fraction);
    std::size_t skip = 0;
    for (const char joint : {'-', '/'}) {
      if (skip == 0) skip = EndOfJoined(line, number.end, joint, 2);
    }
    const std::size_t clock = EndOfJoined(line, number.end, ':', 1);
    at = std::max({number.end, skip, clock});
    if (skip != 0) continue;
    FindName(line, negative ? number.begin - 1 : number.begin, number);
    if (clock != 0) {
      number.end = clock;
      number.is_clock = true;
      if (!number.name.empty()) numbers.push_back(number);
      continue;
    }
    if (!negative && !is_fraction && !number.name.empty())
      number.end = EndOfThousands(line, number.begin, number.end);
    at = std::max(at, number.end);
    FindTotal(line, number);
    if (!negative && !is_fraction)
      number.integer = Integer(line.substr(number.begin, number.end - number.begin));
    std::size_t unit = number.end;
    while (unit < line.size() && IsLetter(line[unit])) ++unit;
    number.unit = line.substr(number.end, unit - number.end);
    at = std::max({unit, number.of_end, at});
    if (number.name.empty()) FindWordAfter(line, number);
    // Such as 0x7f.
    if (!number.unit.empty() && unit < line.size() && IsDigit(line[unit])) continue;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::string> NameParts(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (IsLetter(c)) {
      parts.back() += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace goodput
