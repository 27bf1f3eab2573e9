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

// Whose output, and where to go on.
struct FollowOrder {
  std::string log_profile;
  std::string site_profiles;
  std::string checkpoint_dir;  // as the job named it; Megatron's progress.txt lies there
  std::int64_t job = 0;
  std::vector<std::int64_t> pids;  // the batch script's first; of each, its standard output and error
  std::int64_t since_ns = 0;
  std::vector<FileMark> resume;
};
std::vector<std::string> ToArguments(const FollowOrder& order);

// A request is "more" or "last", the answer what EncodeFound writes.
HelperAnswers FollowHelper(const std::vector<std::string>& arguments);

// Events one a line, of words: what a user's program printed is not to be parsed by a parser of more.
// `problem`: why nothing is followed; empty: none.
std::string EncodeFound(const OutputFollower::Found& found, std::string_view problem);
struct FollowAnswer {
  OutputFollower::Found found;
  std::string problem;
};
absl::StatusOr<FollowAnswer> DecodeFound(std::string_view text);

}  // namespace goodput
