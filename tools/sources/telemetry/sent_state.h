// What was sent, in a small file beside the database: which attempts, and how high the sums were.
//
// The file is replaced as a whole and has a checksum: after a crash it is the old one or the new one. Without
// it nothing is lost: spans of the last day are sent once more with the same ids, and the sums continue from
// the database.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/telemetry/gpu_time.h"

namespace goodput {

// Of one kind of telemetry, for `sgoodput telemetry status`.
struct SentCounts {
  Ns delivered = 0;           // when a server last took something; 0: never
  std::int64_t sent = 0;      // spans or points
  std::int64_t rejected = 0;  // of these, by a partial success
  std::int64_t refused = 0;   // spans or points of requests that were refused as a whole
  std::string problem;        // the last one; empty: none since the last delivery
};

struct SentState {
  Ns start = 0;              // when the sums began; 0: not yet
  Ns earliest = 0;           // begin of the earliest run in them
  Ns last_point = 0;         // the newest time of a point
  Ns since = 0;              // attempts that ended before are not sent; 0: not yet decided
  std::int64_t waiting = 0;  // attempts and runs that ended, but are not sent yet
  GpuTimeSums sums;
  std::map<std::string, std::int64_t> groups;  // sent: the key of a SpanGroup, and its end in seconds
  SentCounts metrics;
  SentCounts traces;
};

// Sent groups that are remembered: beyond that, those that ended first are forgotten, and `since` is raised.
inline constexpr std::size_t kMostSentGroups = 200'000;
// Forgets what ended before `time`, and what is too much.
void Forget(Ns time, SentState& state);

std::string FormatSentState(const SentState& state);
// DataLoss: it is damaged.
absl::StatusOr<SentState> ParseSentState(std::string_view text);

// Absent if there is no such file.
absl::StatusOr<std::optional<SentState>> LoadSentState(const std::string& path);
absl::Status SaveSentState(const std::string& path, const SentState& state);

}  // namespace goodput
