// The child process that reads a job's output with the rights of the job's user
// (tools/base/helper_process.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/base/helper_process.h"
#include "tools/goodputd/output/follower.h"

namespace goodput {

inline constexpr std::string_view kFollowHelper = "follow-output";

// Whose output to follow, and where to continue.
struct FollowOrder {
  std::string log_profile;
  std::string site_profiles;
  std::string checkpoint_dir;  // as the job named it; it may have Megatron's progress.txt
  std::int64_t job = 0;
  std::vector<std::int64_t> pids;  // the batch script first; standard output and error of each
  std::int64_t since_ns = 0;
  std::vector<FileMark> resume;  // of this attempt
  std::vector<FileMark> ended;   // EndedOutputs
};
std::vector<std::string> ToArguments(const FollowOrder& order);

// Requests are "more" and "last"; replies are encoded by EncodeFound.
HelperAnswers FollowHelper(const std::vector<std::string>& arguments);

// One event per line of words, since data printed by a user's program should not need a more complex parser.
// `problem`: why nothing is followed; empty: none.
std::string EncodeFound(const OutputFollower::Found& found, std::string_view problem);
struct FollowAnswer {
  OutputFollower::Found found;
  std::string problem;
};
absl::StatusOr<FollowAnswer> DecodeFound(std::string_view text);

}  // namespace goodput
