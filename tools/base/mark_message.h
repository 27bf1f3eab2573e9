// One message on the mark socket: a JSON object of at most 4096 bytes, e.g.
//   {"v":1,"mark":"step","edge":"begin","train_step":7,"m":123456789,"job":12,"slurm_step":"0","task":0,"node":"n1"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

// Where a client sends marks if its abstract socket name is unreachable, as in another network namespace,
// unless GOODPUT_SOCKET_PATH says otherwise.
inline constexpr std::string_view kMarkSocketPath = "/run/slurm-goodput/mark.sock";
inline constexpr std::size_t kMaxMarkBytes = 4096;
inline constexpr std::size_t kMaxPhaseName = 128;

struct MarkMessage {
  enum class Kind : std::uint8_t { kStep, kCheckpoint, kPhase, kRestore };
  Kind kind = Kind::kStep;
  bool begin = true;
  std::optional<std::int64_t> train_step;
  std::string name;  // of a phase
  std::int64_t job = 0;
  std::string slurm_step;  // "batch", "interactive" or a number; empty: not given
  std::optional<std::int64_t> task;
  std::string node;  // NodeName; empty: not given
  std::optional<std::int64_t> mono_ns;
};

std::string_view MarkKindName(MarkMessage::Kind kind);

// An error says in a few words what is wrong with the message.
absl::StatusOr<MarkMessage> ParseMark(std::string_view message);

// A mark of this Slurm task, from its environment: job, Slurm step, task and node. FailedPrecondition: it is
// in no job.
absl::StatusOr<MarkMessage> MarkOfThisTask();

// The message a client sends.
std::string FormatMark(const MarkMessage& mark);

}  // namespace goodput
