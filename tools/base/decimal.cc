#include "tools/base/decimal.h"

#include <algorithm>
#include <array>
#include <limits>

namespace goodput {
namespace {

// Digits that fit into 64 bits in any case; a time in nanoseconds has as many.
constexpr int kMaxDigits = 19;
// With a larger exponent, no number fits except 0.
constexpr int kMaxExponent = 10'000;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Up to kMaxDigits significant digits, and the position of the point.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;       // the value is digits x 10^exponent
  bool round_up = false;  // the first omitted digit was 5 or more
};

class DecimalReader {
 public:
  explicit DecimalReader(std::string_view text) : at_(text.begin()), end_(text.end()) {}
  bool Skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool done() const { return at_ == end_; }

  // Returns false if there is none.
  bool Digits(bool fraction, Decimal& into) {
    const auto* const begin = at_;
    for (; at_ != end_ && IsDigit(*at_); ++at_) {
      if (count_ == kMaxDigits) {
        if (!left_out_) into.round_up = *at_ >= '5';
        left_out_ = true;
        if (!fraction) ++into.exponent;
        continue;
      }
      into.digits = into.digits * 10 + static_cast<std::uint64_t>(*at_ - '0');
      if (into.digits != 0) ++count_;
      if (fraction) --into.exponent;
    }
    return at_ != begin;
  }

  bool Exponent(int& exponent) {
    const bool negative = Skip('-');
    if (!negative) Skip('+');
    const auto* const begin = at_;
    int value = 0;
    for (; at_ != end_ && IsDigit(*at_); ++at_) value = std::min(value * 10 + (*at_ - '0'), kMaxExponent);
    exponent += negative ? -value : value;
    return at_ != begin;
  }

 private:
  const char* at_;
  const char* end_;
  int count_ = 0;
  bool left_out_ = false;
};

}  // namespace

std::optional<std::int64_t> ParseDecimal(std::string_view text, int scale) {
  DecimalReader reader(text);
  Decimal decimal;
  const bool negative = reader.Skip('-');
  if (!reader.Digits(false, decimal)) return std::nullopt;
  if (reader.Skip('.') && !reader.Digits(true, decimal)) return std::nullopt;
  if ((reader.Skip('e') || reader.Skip('E')) && !reader.Exponent(decimal.exponent)) return std::nullopt;
  if (!reader.done()) return std::nullopt;
  std::uint64_t value = decimal.digits;
  if (value == 0) return 0;
  int exponent = decimal.exponent + scale;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
  }
  for (; exponent < 0 && value != 0; ++exponent) {
    decimal.round_up = value % 10 >= 5;
    value /= 10;
  }
  // Far below one unit: the digit after the point is 0.
  if (exponent < 0) decimal.round_up = false;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value >= kMax) return std::nullopt;
  if (decimal.round_up) ++value;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

void AppendSeconds(std::int64_t ns, std::string& text) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  std::array<char, 24> digits{};
  char* at = digits.data() + digits.size();
  std::int64_t fraction = ns % kBillion;
  for (int i = 0; i < 9; ++i, fraction /= 10) *--at = static_cast<char>('0' + fraction % 10);
  *--at = '.';
  std::int64_t seconds = ns / kBillion;
  do {
    *--at = static_cast<char>('0' + seconds % 10);
    seconds /= 10;
  } while (seconds != 0);
  text.append(at, static_cast<std::size_t>(digits.data() + digits.size() - at));
}

}  // namespace goodput
