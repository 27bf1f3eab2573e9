// LEB128: seven bits of a number a byte, the last byte without the top bit; and zigzag, which makes small
// negative numbers small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace goodput {

inline void PutVarint(std::uint64_t value, std::string& data) {
  while (value >= 0x80) {
    data.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    value >>= 7U;
  }
  data.push_back(static_cast<char>(value));
}

// The same where there is room for kMostVarint bytes; returns what is behind them.
inline constexpr std::size_t kMostVarint = 10;
inline char* PutVarint(std::uint64_t value, char* at) {
  while (value >= 0x80) {
    *at++ = static_cast<char>((value & 0x7fU) | 0x80U);
    value >>= 7U;
  }
  *at++ = static_cast<char>(value);
  return at;
}

// False: the bytes end inside the number.
inline bool GetVarint(std::string_view data, std::size_t& at, std::uint64_t& value) {
  // Most are small.
  if (at < data.size() && static_cast<unsigned char>(data[at]) < 0x80) {
    value = static_cast<unsigned char>(data[at++]);
    return true;
  }
  value = 0;
  for (unsigned shift = 0; shift < 64 && at < data.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(data[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

inline std::uint64_t Zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}

inline std::int64_t Unzigzag(std::uint64_t packed) {
  return static_cast<std::int64_t>((packed >> 1U) ^ (~(packed & 1U) + 1U));
}

// Sums and differences wrap around, so that any two 64-bit numbers can follow each other.
inline std::int64_t Minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace goodput
