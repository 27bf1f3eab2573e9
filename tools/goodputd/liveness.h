// State that the controller's loops share with each other and with /healthz.
#pragma once

#include <atomic>
#include <cstdint>

namespace goodput {

struct Liveness {
  // When the loops last did their work, in nanoseconds of CLOCK_MONOTONIC; 0: never.
  std::atomic<std::int64_t> looked_ns{0};    // looked at the queue
  std::atomic<std::int64_t> ingested_ns{0};  // ingested everything in the spool
  std::atomic<bool> standby{false};          // another daemon writes to this database
  std::atomic<bool> claimed{false};          // the database accepts this daemon's writes
  std::atomic<bool> damaged{false};          // the database was found damaged
};

}  // namespace goodput
