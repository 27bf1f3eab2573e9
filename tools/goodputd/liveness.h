// When the controller's loops last did what they are there for, for /healthz.
#ifndef GOODPUT_TOOLS_GOODPUTD_LIVENESS_H_
#define GOODPUT_TOOLS_GOODPUTD_LIVENESS_H_

#include <atomic>
#include <cstdint>

namespace goodput {

// Nanoseconds of CLOCK_MONOTONIC; 0: never.
struct Liveness {
  std::atomic<std::int64_t> looked_ns{0};    // at the queue
  std::atomic<std::int64_t> ingested_ns{0};  // all that the spool held
};

}  // namespace goodput

#endif  // GOODPUT_TOOLS_GOODPUTD_LIVENESS_H_
