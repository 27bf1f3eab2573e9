// Encodes any bytes as a valid JSON string.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace goodput {

// The length (1 to 4) of the valid UTF-8 sequence at the start of `text`, or 0 if there is none. Overlong
// forms, surrogates and values beyond U+10FFFF are invalid.
std::size_t Utf8SequenceLength(std::string_view text) noexcept;

// Calls `put` with consecutive pieces of the quoted `value` until it returns false. Control characters and
// bytes that are not valid UTF-8 become \u00XX.
template <typename Put>
void QuoteJson(std::string_view value, Put put) noexcept {
  constexpr std::string_view kHex = "0123456789abcdef";
  bool good = put("\"");
  while (good && !value.empty()) {
    const auto byte = static_cast<unsigned char>(value.front());
    std::size_t length = Utf8SequenceLength(value);
    if (byte == '"' || byte == '\\') {
      good = put("\\") && put(value.substr(0, 1));
    } else if (byte < 0x20 || byte == 0x7F || length == 0) {
      const std::array<char, 6> text = {'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
      good = put(std::string_view(text.data(), text.size()));
      length = 1;
    } else {
      good = put(value.substr(0, length));
    }
    value.remove_prefix(length);
  }
  if (good) put("\"");
}

// The same for code that may allocate.
inline void AppendJson(std::string& text, std::string_view value) {
  QuoteJson(value, [&text](std::string_view piece) {
    text += piece;
    return true;
  });
}
inline std::string QuotedJson(std::string_view value) {
  std::string quoted;
  AppendJson(quoted, value);
  return quoted;
}

}  // namespace goodput
