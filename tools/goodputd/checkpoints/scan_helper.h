// The child that looks into a job's checkpoint directory, as the job's user. Everything that touches a user's
// path is in here (tools/base/helper_process.h).
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

// Its arguments: the directory as the job named it, the job's id, a process of the job, whose working
// directory and Slurm variables say what a relative path and %A %a %j %u %x mean, and when the job began
// here, in nanoseconds. "look TASK..." is answered with the checkpoints there, as EncodeScan writes them;
// "wait" with "changed" once something happens where it looked, or "quiet" when nothing did for less than a
// second.
//
// The directory is what the job's processes see by that name: the TASKs, which may be in a container, in
// their order, then those in containers that a task or the script started, then the process of the arguments,
// which may have a /tmp of its own. Only where none of them lives any more it is what was seen last, else the
// node's own.
HelperAnswers ScanHelper(const std::vector<std::string>& arguments);
inline constexpr std::string_view kLookRequest = "look";
inline constexpr std::string_view kWaitRequest = "wait";

struct ScanResult {
  std::string problem;  // why there is nothing to see; empty: none
  std::string view;  // who sees it by that name: "task", "container", "script" or "node"; empty: nobody yet
  std::vector<CheckpointSeen> found;
  std::int64_t took_ns = 0;
  bool whole = false;    // nothing was left out
  bool watched = false;  // "wait" tells of every change
};
// The newest, where there are too many for a message.
std::string EncodeScan(const ScanResult& result);
absl::StatusOr<ScanResult> DecodeScan(std::string_view text);

// Looks at an open directory, which it closes: what lies in it, and no link's target.
ScanResult ScanCheckpoints(int folder_fd, std::int64_t since_ns = 0, ScanBudget budget = {});
// The same of one by its path; one that is not there yet is no problem.
ScanResult ScanCheckpoints(const std::string& path, std::int64_t since_ns = 0, const ScanBudget& budget = {});

}  // namespace goodput
