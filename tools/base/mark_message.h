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
// The name of a step's end that says that nothing of it is kept and that it is tried again.
inline constexpr std::string_view kStepFailed = "failed";
// No cluster has as many GPUs.
inline constexpr std::int64_t kMaxWorld = std::int64_t{1} << 24;

struct MarkMessage {
  enum class Kind : std::uint8_t { kStep, kCheckpoint, kPhase, kRestore, kWorld };
  Kind kind = Kind::kStep;
  bool begin = true;
  std::optional<std::int64_t> train_step;
  std::string name;  // of a phase; of a step's end, kStepFailed
  // Of kWorld, in GPUs: how many step from now on, how many should (at least as many), and how many more are
  // spares; `tokens` (or samples) of one step. Absent: not given.
  std::int64_t world = 0;
  std::optional<std::int64_t> wanted;
  std::optional<std::int64_t> spares;
  std::optional<std::int64_t> tokens;
  std::int64_t job = 0;
  std::string slurm_step;  // "batch", "interactive" or a number; empty: not given
  std::optional<std::int64_t> task;
  std::string node;  // NodeName; empty: not given
  std::optional<std::int64_t> mono_ns;
};

std::string_view MarkKindName(MarkMessage::Kind kind);

// An error says in a few words what is wrong with the message.
absl::StatusOr<MarkMessage> ParseMark(std::string_view message);

// A mark of this Slurm task, from its environment: job, Slurm step, task and node. With GOODPUT_RANKS=all,
// the rank that a launcher such as torchrun set takes the place of the task. FailedPrecondition: it is in no
// job.
absl::StatusOr<MarkMessage> MarkOfThisTask();

// Empty, or what is wrong with the numbers of a kWorld, in a few words.
std::string_view WrongWorld(const MarkMessage& mark);

// The message a client sends.
std::string FormatMark(const MarkMessage& mark);

}  // namespace goodput
