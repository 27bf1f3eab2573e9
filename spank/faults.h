// Fault injection, only for the test build of the plugin (-DGOODPUT_TEST_FAULTS, never installed): the
// plugstack.conf argument fault=crash:HOOK, abort:HOOK, overflow:HOOK or throw:HOOK.
#pragma once

#ifdef GOODPUT_TEST_FAULTS

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace goodput {

inline int Overflow(volatile int* depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(*depth = *depth + 1);
  return *depth < 0 ? 0 : Overflow(depth) + frame[0];
}

inline void InjectFault(std::string_view hook, int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.substr(0, 6) != "fault=") continue;
    argument.remove_prefix(6);
    const std::size_t colon = argument.find(':');
    if (colon == std::string_view::npos || argument.substr(colon + 1) != hook) continue;
    const std::string_view what = argument.substr(0, colon);
    if (what == "crash") *static_cast<volatile int*>(nullptr) = 1;
    if (what == "abort") std::abort();
    if (what == "throw") throw std::runtime_error("an injected fault");
    if (what == "overflow") {
      volatile int depth = 0;
      Overflow(&depth);
    }
  }
}

}  // namespace goodput

#else

namespace goodput {
inline void InjectFault(const char* /*hook*/, int /*argc*/, const char* const* /*argv*/) {}
}  // namespace goodput

#endif
