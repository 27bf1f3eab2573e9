// Text in a fixed-size buffer, for code that must not allocate.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace goodput {

// NUL-terminated copy. Returns false and leaves *out unchanged if it does not fit.
template <std::size_t kSize>
bool CopyText(std::string_view text, std::array<char, kSize>* out) noexcept {
  if (text.size() >= kSize) return false;
  if (!text.empty()) std::memcpy(out->data(), text.data(), text.size());
  (*out)[text.size()] = '\0';
  return true;
}

}  // namespace goodput
