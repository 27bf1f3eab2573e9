// The child process that looks at a job that makes no progress, with the rights of the job's user
// (tools/base/helper_process.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/hang/process_look.h"

namespace goodput {

inline constexpr std::string_view kHangHelper = "hang-evidence";

struct HangOrder {
  std::int64_t batch_pid = 0;  // 0: the batch script does not run here
  std::vector<TaskProcess> tasks;
  std::string py_spy;  // the program; empty: not asked
};
std::vector<std::string> ToArguments(const HangOrder& order);

// One thing that was found: a process, or lines.
struct HangFinding {
  std::optional<std::int64_t> task;
  std::optional<ProcessLook> process;
  std::int64_t look_ms = 0;  // between the two looks at it; 0: only its process id is known
  std::string text;
  std::string problem;  // why there is no text
};
// At most so many in an answer, with so much text each: together 16 KiB.
inline constexpr std::size_t kMostFindings = 32;
inline constexpr std::size_t kMostFindingBytes = 1500;

// Requests are the names of sources (goodput.conf's hang_evidence); replies are encoded by EncodeFindings.
HelperAnswers HangHelper(const std::vector<std::string>& arguments);

std::string EncodeFindings(const std::vector<HangFinding>& findings);
// An error unless it is an answer within these limits.
absl::StatusOr<std::vector<HangFinding>> DecodeFindings(std::string_view answer);

}  // namespace goodput
