// The child process that reads a job's checkpoint directory as the job's user. All code that touches a user's
// path runs here (tools/base/helper_process.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/checkpoints/layout.h"
#include "tools/goodputd/checkpoints/open_folder.h"

namespace goodput {

inline constexpr std::string_view kScanHelper = "scan-checkpoints";

// Arguments: the directory as the job named it; the job's id; a process of the job, whose working directory
// and Slurm variables resolve a relative path and %A %a %j %u %x; and when the job began here, in
// nanoseconds. "look TASK..." returns the checkpoints, encoded by EncodeScan. "wait" returns "created" if
// there was no directory and now there is one, "changed" once something else changes where it looked, or
// "quiet" if nothing did for almost a second.
//
// The directory is the one that the job's processes see under that name: first the TASKs, which may be in a
// container, in their order; then processes in containers that a task or the script started; then the process
// in the arguments, which may have its own /tmp. Only if none of them lives any more, it is the one seen
// last, or the node's own.
HelperAnswers ScanHelper(const std::vector<std::string>& arguments);
inline constexpr std::string_view kLookRequest = "look";
inline constexpr std::string_view kWaitRequest = "wait";
inline constexpr std::string_view kCreatedAnswer = "created";

struct ScanResult {
  std::string problem;  // why nothing can be seen; empty: no problem
  std::string view;     // view that has it: "task", "container", "script" or "node"; empty: none yet
  std::vector<CheckpointSeen> found;
  std::int64_t took_ns = 0;  // processor time of finding the directory, and time of looking into it
  bool whole = false;        // nothing was omitted
  bool watched = false;      // "wait" reports every change
};
// Keeps the newest checkpoints if there are too many for a message.
std::string EncodeScan(const ScanResult& result);
absl::StatusOr<ScanResult> DecodeScan(std::string_view text);

// Scans an open directory without following links, and closes it.
ScanResult ScanCheckpoints(int folder_fd, std::int64_t since_ns = 0, ScanBudget budget = {});
// The same for a path; a directory that does not exist yet is not a problem.
ScanResult ScanCheckpoints(const std::string& path, std::int64_t since_ns = 0, const ScanBudget& budget = {});

}  // namespace goodput
