// Intervals and limits of the loops over folders that may hang.
#pragma once

namespace goodput {

inline constexpr int kLookEveryMs = 1000;
inline constexpr int kLongestPauseMs = 30'000;
// Helpers that hang: enough for a server that is restarted twice while the first of them still does.
inline constexpr int kMostAbandoned = 4;

}  // namespace goodput
