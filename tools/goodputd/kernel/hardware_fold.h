// Bounds what is recorded of faulty hardware: a device that repeats itself for hours is one record a minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tools/goodputd/kernel/kernel_line.h"

namespace goodput {

// One or several equal lines.
struct HardwareEvent {
  HardwareLine line;              // the first of them
  std::uint64_t seq = 0;          // of the last of them
  std::int64_t mono_ns = 0;       // CLOCK_MONOTONIC, of the first
  std::int64_t last_mono_ns = 0;  // of the last
  std::int64_t count = 1;
};

// The first line of a kind, device and code at once; those that follow within 5 s as one event then, since
// the job may end, and if they continue, within 10 s, 20 s, 40 s, and a minute at last. At most kMostKinds
// different ones at a time; the others are counted. Times must not decrease.
class HardwareFold {
 public:
  static constexpr std::int64_t kFirstWindowNs = 5'000'000'000;
  static constexpr std::int64_t kLongestWindowNs = 60'000'000'000;
  static constexpr std::size_t kMostKinds = 64;

  // What to record now: the line, if it is not to be folded.
  std::optional<HardwareEvent> Add(HardwareLine line, std::uint64_t seq, std::int64_t mono_ns);
  // What is to be recorded of windows that have ended; `all`: of all, because nothing will follow.
  std::vector<HardwareEvent> TakeDue(std::int64_t mono_ns, bool all = false);
  // Lines that are in no event, because there were too many different ones.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Window {
    std::int64_t begin_ns = 0;
    std::int64_t length_ns = kFirstWindowNs;
    std::optional<HardwareEvent> more;  // after the first
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Window> windows_;
  std::uint64_t dropped_ = 0;
};

}  // namespace goodput
