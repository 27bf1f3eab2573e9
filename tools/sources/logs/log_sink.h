// What logs tell of a run, whoever wrote them: the words between a log's reader and whoever stores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sql/blocks/mark_block.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Which process said something.
struct Speaker {
  std::string_view slurm_step;  // as the log has it; empty: not told
  std::int64_t task = 0;
  int attempt = 0;  // in the order of their begins, from 0
};

struct LogMark {
  Ns t = 0;
  PackedMark::Kind kind = PackedMark::Kind::kPhase;
  bool begin = true;
  std::optional<std::int64_t> step;
  std::string_view name;  // of a phase; of a checkpoint, kInBackground or empty
};

// That the tasks of a Slurm step were there.
struct LogSrun {
  std::optional<Ns> begin;
  std::optional<Ns> end;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> exit_signal;
};

struct LogAttempt {
  int number = 0;
  Ns begin = 0;
  Ns end = 0;               // known, or the latest it can have been
  bool ended = false;       // a job_end said so
  std::string state;        // Slurm's word, where the log has it; COMPLETED for a job_end that says no more
  std::optional<Ns> stop;   // its preemption began
  bool is_life = true;      // the program itself said so; not what sgoodput exported of an allocation
  std::int64_t offset = 0;  // of the entry that began it
};

// A collective was measured, as nccl-tests does: bytes, and bytes a second.
struct LogCollective {
  Ns t = 0;
  std::int64_t bytes = 0;
  std::int64_t algbw = 0;
  std::int64_t busbw = 0;
};

// Takes what the log says, in the order of time. `offset` is where in the file, and different in each call of
// Mark and Srun.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Srun(const LogSrun& srun, const Speaker& speaker, std::int64_t offset) = 0;
  virtual absl::Status Attempt(const LogAttempt& attempt) = 0;
  // `step` steps were done then, and no more were told of in this start of the program.
  virtual absl::Status StepEnd(Ns /*t*/, std::int64_t /*step*/, const Speaker& /*speaker*/,
                               std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
  // The program says that it was told to stop.
  virtual absl::Status Stop(Ns /*t*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
  virtual absl::Status Collective(const LogCollective& /*collective*/, const Speaker& /*speaker*/,
                                  std::int64_t /*offset*/) {
    return absl::OkStatus();
  }
};

}  // namespace goodput
