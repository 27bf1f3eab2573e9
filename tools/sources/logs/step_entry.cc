#include "tools/sources/logs/step_entry.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tools/accounting/timeline/sanitize_facts.h"

namespace goodput {
namespace {

constexpr int kMaxStepDigits = 15;    // below kMaxTrainStep
constexpr int kMaxSecondDigits = 10;  // the year 2286; kLatest is earlier
constexpr int kFractionDigits = 9;

class StepScanner {
 public:
  explicit StepScanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool Take(char c) {
    Blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    Blanks();
    return at_ == end_;
  }
  void Blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  std::size_t Position(std::string_view text) const { return static_cast<std::size_t>(at_ - text.data()); }
  bool Skip(const std::string& same) {
    const auto size = static_cast<std::ptrdiff_t>(same.size());
    if (end_ - at_ < size || std::memcmp(at_, same.data(), same.size()) != 0) return false;
    at_ += size;
    return true;
  }
  // A string without escapes.
  bool Text(std::string_view& text) {
    if (!Take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"') {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20 || byte >= 0x7f || byte == '\\') return false;
      ++at_;
    }
    if (at_ == end_) return false;
    text = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
    ++at_;
    return true;
  }
  bool Step(std::int64_t& step) { return Digits(kMaxStepDigits, step); }
  // Whole seconds with at most nine decimals.
  bool Seconds(Ns& ns) {
    std::int64_t seconds = 0;
    if (!Digits(kMaxSecondDigits, seconds)) return false;
    std::int64_t fraction = 0;
    int digits = 0;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      for (; at_ != end_ && IsDigit(*at_); ++at_, ++digits) {
        if (digits == kFractionDigits) return false;
        fraction = fraction * 10 + (*at_ - '0');
      }
      if (digits == 0) return false;
    }
    for (; digits < kFractionDigits; ++digits) fraction *= 10;
    if (seconds >= kLatest / kSecond) return false;
    ns = seconds * kSecond + fraction;
    return true;
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  // As in JSON: no leading zero. The caller checks that the number ends here.
  bool Digits(int most, std::int64_t& value) {
    const char* const begin = at_;
    value = 0;
    for (; at_ != end_ && IsDigit(*at_); ++at_) {
      if (at_ - begin == most) return false;
      value = value * 10 + (*at_ - '0');
    }
    return at_ != begin && (*begin != '0' || at_ - begin == 1);
  }

  const char* at_;
  const char* end_;
};

// Positions of the numbers in the text.
struct Places {
  std::size_t step = 0;
  std::size_t step_end = 0;
  std::size_t start = 0;
  std::size_t start_end = 0;
};

bool ReadPlaces(std::string_view text, PlainStep& into, Places& places) {
  StepScanner reader(text);
  std::string_view key;
  bool has_name = false;
  bool has_step = false;
  bool has_start = false;
  into = PlainStep();
  if (!reader.Take('{')) return false;
  do {
    if (!reader.Text(key) || !reader.Take(':')) return false;
    reader.Blanks();
    const std::size_t begin = reader.Position(text);
    // False for a repeated key.
    if (key == "step_count" && !has_step) {
      has_step = reader.Step(into.step);
      places.step = begin;
      places.step_end = reader.Position(text);
      if (!has_step) return false;
    } else if (key == "step_start_time" && !has_start) {
      has_start = reader.Seconds(into.start);
      places.start = begin;
      places.start_end = reader.Position(text);
      if (!has_start) return false;
    } else if (key == "job_name" && !has_name) {
      has_name = reader.Text(into.job_name);
      if (!has_name) return false;
    } else {
      return false;
    }
  } while (reader.Take(','));
  return reader.Take('}') && reader.AtEnd() && has_step && has_start;
}

}  // namespace

bool ReadPlainStep(std::string_view text, PlainStep& into) {
  Places places;
  return ReadPlaces(text, into, places);
}

bool PlainStepReader::Read(std::string_view text, PlainStep& into) {
  if (!head_.empty()) {
    StepScanner reader(text);
    const auto number = [&](bool step) { return step ? reader.Step(into.step) : reader.Seconds(into.start); };
    if (reader.Skip(head_) && number(step_first_) && reader.Skip(between_) && number(!step_first_) &&
        reader.Skip(tail_) && reader.Position(text) == text.size()) {
      into.job_name = job_name_;
      return true;
    }
  }
  Places places;
  if (!ReadPlaces(text, into, places)) return false;
  step_first_ = places.step < places.start;
  const std::size_t first = step_first_ ? places.step : places.start;
  const std::size_t first_end = step_first_ ? places.step_end : places.start_end;
  const std::size_t second = step_first_ ? places.start : places.step;
  head_ = text.substr(0, first);
  between_ = text.substr(first_end, second - first_end);
  tail_ = text.substr(step_first_ ? places.start_end : places.step_end);
  job_name_ = into.job_name;
  return true;
}

}  // namespace goodput
