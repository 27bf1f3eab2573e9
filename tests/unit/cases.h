// How many random cases a property test tries.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace goodput {

// With sanitizers, which take thirty times as long, a tenth of `usual`. GOODPUT_CASES=20: twenty times as
// many.
inline std::uint64_t Cases(std::uint64_t usual) {
  if (const char* factor = std::getenv("GOODPUT_CASES")) return usual * std::strtoull(factor, nullptr, 10);
#ifdef __SANITIZE_ADDRESS__
  return (usual + 9) / 10;
#else
  return usual;
#endif
}

}  // namespace goodput
