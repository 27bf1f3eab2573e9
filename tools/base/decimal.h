// Converts between decimal text and whole nanoseconds without a double: 1735000000.123456 is ...123456000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// A JSON number times 10^scale, rounded half away from zero: 12, -1.5, 1.735000000123456e9. Empty if it is
// not a number or does not fit.
std::optional<std::int64_t> ParseDecimal(std::string_view text, int scale);

// Seconds with nine decimals; `ns` must not be negative.
void AppendSeconds(std::int64_t ns, std::string& text);

}  // namespace goodput
