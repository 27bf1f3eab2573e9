#include "tools/exchange/plain_step.h"

#include <cstdint>

#include "tools/timeline/plausible.h"

namespace goodput {
namespace {

constexpr int kMaxStepDigits = 15;    // below kMaxTrainStep
constexpr int kMaxSecondDigits = 10;  // below 2286; kLatest comes earlier
constexpr int kFractionDigits = 9;

class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

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
  // A string of plain characters.
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
  bool Step(std::int64_t& step) {
    Blanks();
    return Digits(kMaxStepDigits, step);
  }
  // Whole seconds and at most nine decimals.
  bool Seconds(Ns& ns) {
    Blanks();
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
  void Blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  // As JSON has it: no leading zero. What follows must be no more of a number, which whoever asked sees.
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

}  // namespace

bool ReadPlainStep(std::string_view text, GoogleEntry& entry) {
  Reader reader(text);
  std::string_view key;
  std::string_view name;
  std::int64_t step = 0;
  Ns start = 0;
  bool has_name = false;
  bool has_step = false;
  bool has_start = false;
  if (!reader.Take('{')) return false;
  do {
    if (!reader.Text(key) || !reader.Take(':')) return false;
    // Of a key that is there twice, no.
    if (key == "step_count" && !has_step) {
      has_step = reader.Step(step);
      if (!has_step) return false;
    } else if (key == "step_start_time" && !has_start) {
      has_start = reader.Seconds(start);
      if (!has_start) return false;
    } else if (key == "job_name" && !has_name) {
      has_name = reader.Text(name);
      if (!has_name) return false;
    } else {
      return false;
    }
  } while (reader.Take(','));
  if (!reader.Take('}') || !reader.AtEnd() || !has_step || !has_start) return false;
  entry.job_name = name;
  entry.step = step;
  entry.step_start = start;
  return true;
}

}  // namespace goodput
