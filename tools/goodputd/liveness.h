// State that the controller's loops share with each other and with /healthz.
#pragma once

#include <atomic>
#include <cstdint>

namespace goodput {

struct Liveness {
  // When they last did what they are there for, in nanoseconds of CLOCK_MONOTONIC; 0: never.
  std::atomic<std::int64_t> looked_ns{0};    // at the queue
  std::atomic<std::int64_t> ingested_ns{0};  // all that the spool held
  std::atomic<bool> standby{false};          // another daemon fills this database
  std::atomic<bool> claimed{false};          // the database takes what this daemon writes
  std::atomic<bool> damaged{false};          // somebody found the database damaged
};

}  // namespace goodput
