// A fuzz target: FUZZ_TARGET(name) { ... } is run with any bytes, `data` and `size`, by libFuzzer or, with
// GOODPUT_REPLAY, by replay.cc. REQUIRE asserts a property: where it does not hold, the input is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

#ifdef GOODPUT_REPLAY
// Adds a target to those that are replayed.
struct ReplayTarget {
  using Run = int (*)(const std::uint8_t* data, std::size_t size);
  ReplayTarget(const char* name, Run run);
};
#define FUZZ_TARGET(name)                                             \
  static int Fuzz_##name(const std::uint8_t* data, std::size_t size); \
  static const ReplayTarget replay_##name(#name, Fuzz_##name);        \
  static int Fuzz_##name(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif
