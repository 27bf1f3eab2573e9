// Intervals and limits of the loops over folders that may hang.
#pragma once

namespace goodput {

inline constexpr int kLookEveryMs = 1000;
inline constexpr int kLongestPauseMs = 30'000;
// Between two looks for jobs.
inline constexpr int kLookForJobsMs = 1000;
// Maximum number of hanging helpers: enough for a server that is restarted twice while the first helper still
// hangs.
inline constexpr int kMostAbandoned = 4;
// The same for helpers of single jobs.
inline constexpr int kMostAbandonedOfJobs = 16;

}  // namespace goodput
