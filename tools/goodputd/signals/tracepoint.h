// The kernel's tracepoints signal:signal_generate and sched:sched_process_exec: their ids, and where the
// fields of the first lie in a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

struct SignalTracepoint {
  std::uint64_t id = 0;
  // Offsets in the raw sample; each an int of 4 bytes, but for `comm`.
  std::size_t sig = 0;
  std::size_t code = 0;
  std::size_t comm = 0;  // of the target, kCommBytes with NULs
  std::size_t pid = 0;   // the target's thread
  std::size_t group = 0;
  std::size_t result = 0;
  std::size_t size = 0;  // of all of it
  static constexpr std::size_t kCommBytes = 16;
};

// From tracefs's files `id` and `format` of the tracepoint. An error when a field is missing or not of the
// size it should have.
absl::StatusOr<SignalTracepoint> ParseSignalTracepoint(std::string_view id, std::string_view format);

struct Tracepoints {
  SignalTracepoint signal;
  std::uint64_t exec_id = 0;  // 0: this kernel has no sched:sched_process_exec
};

// Reads them. Where tracefs is not mounted, a child mounts it in a mount namespace of its own, so that the
// machine is left as it was. An error says what is missing and how to mend it.
absl::StatusOr<Tracepoints> ReadTracepoints();

}  // namespace goodput
