// Reads the kernel's tracepoints signal:signal_generate and sched:sched_process_exec: their ids, and the
// field offsets of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

struct SignalTracepoint {
  std::uint64_t id = 0;
  // Offsets in the raw sample; each field is a 4-byte int, except `comm`.
  std::size_t sig = 0;
  std::size_t code = 0;
  std::size_t comm = 0;  // of the target, kCommBytes with NULs
  std::size_t pid = 0;   // the target's thread
  std::size_t group = 0;
  std::size_t result = 0;
  std::size_t size = 0;  // of the whole sample
  static constexpr std::size_t kCommBytes = 16;
};

// From tracefs's files `id` and `format`. An error if a field is missing or has an unexpected size.
absl::StatusOr<SignalTracepoint> ParseSignalTracepoint(std::string_view id, std::string_view format);

struct Tracepoints {
  SignalTracepoint signal;
  std::uint64_t exec_id = 0;  // 0: this kernel has no sched:sched_process_exec
};

// Reads both. If tracefs is not mounted, a child mounts it in its own mount namespace, so that the machine
// does not change. An error says what is missing and how to fix it.
absl::StatusOr<Tracepoints> ReadTracepoints();

}  // namespace goodput
