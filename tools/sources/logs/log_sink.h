// The interface between readers of logs and the code that stores their events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sql/blocks/mark_block.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// The process that an event comes from.
struct Speaker {
  std::string_view slurm_step;  // as in the log; empty: not given
  std::int64_t task = 0;
  int attempt = 0;                                  // numbered by begin, from 0
  std::optional<std::int64_t> rank = std::nullopt;  // that the program gives itself; 0 to kMostRank
};
inline constexpr std::int64_t kMostRank = (1 << 20) - 1;
// Of a rank, what is concurrent counts as that of another task.
inline std::int64_t TaskOf(const Speaker& speaker) {
  return speaker.rank ? *speaker.rank + speaker.task * (kMostRank + 1) : speaker.task;
}

struct LogMark {
  Ns t = 0;
  PackedMark::Kind kind = PackedMark::Kind::kPhase;
  bool begin = true;
  std::optional<std::int64_t> step;
  std::string_view name;  // of a phase; of a checkpoint, kInBackground or empty
};

// When the tasks of a Slurm step lived.
struct LogSrun {
  std::optional<Ns> begin;
  std::optional<Ns> end;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> exit_signal;
};

struct LogAttempt {
  int number = 0;
  Ns begin = 0;
  Ns end = 0;               // known, or the latest possible
  bool ended = false;       // there was a job_end
  std::string state;        // Slurm's state, if the log has it; COMPLETED for a plain job_end
  std::optional<Ns> stop;   // when its preemption began
  bool is_life = true;      // reported by the program itself, not exported by sgoodput from an allocation
  std::int64_t offset = 0;  // of the entry that began it
};

// A result of nccl-tests: bytes, and bytes per second.
struct LogCollective {
  Ns t = 0;
  std::int64_t bytes = 0;
  std::int64_t algbw = 0;
  std::int64_t busbw = 0;
  // The hosts that take part, as the program names them, in Slurm's compressed form; empty: it names none.
  std::string_view hosts = {};
  bool first = false;  // of a test: the program has just named its hosts
};

// From then on so many GPUs step.
struct LogWorld {
  Ns t = 0;
  std::int64_t stepping = 0;
  std::int64_t wanted = 0;             // that should step
  std::optional<std::int64_t> spares;  // how many more wait to replace one; absent: not known
};

// Receives the events of a log in the order of time. `offset` is a position in the file, different in each
// call of Mark and Srun.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Attempt(const LogAttempt& attempt) = 0;
  // `step` steps were done at that time, and no more were reported in this start of the program.
  virtual absl::Status StepEnd(Ns /*t*/, std::int64_t /*step*/, const Speaker& /*speaker*/,
                               std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
  virtual absl::Status World(const LogWorld& /*world*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
  // The program reports that it was told to stop.
  virtual absl::Status Stop(Ns /*t*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
  virtual absl::Status Collective(const LogCollective& /*collective*/, const Speaker& /*speaker*/,
                                  std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
};

}  // namespace goodput
