// How many GPUs of an attempt step at each instant, for programs that are elastic or keep spares.
//
// At an instant, an attempt has G GPUs allocated, of which W step, S are spares, and the program wants N. The
// bucket of that instant gets the GPU time of W; the rest of G and what is missing get buckets of their own:
//
//   W            the bucket of the interval
//   standby      min(S, G - W)
//   idle_member  G - W - standby
//   missing      max(0, N - G), in addition to G
//
// The first three add up to G. Seconds are not split: an instant is in one bucket, and these three have GPU
// time only. Without a mark of the world or declared spares, W = N = G: nothing is split. Waiting is never
// split. W above G is counted as G.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline_parts.h"

namespace goodput {

// While these numbers were valid.
struct WorldSpan {
  int attempt = 0;
  Ns begin = 0;
  Ns end = 0;
  std::optional<std::int64_t> stepping;  // absent: all but the spares
  std::optional<std::int64_t> wanted;    // absent: those that are allocated
  std::int64_t spares = 0;
  std::optional<std::int64_t> tokens;  // that one step trains; absent: unknown
  Evidence evidence = Evidence::kMark;
  EvidenceRef ref;  // of the mark
};

// GPUs at one instant.
struct WorldShares {
  std::int64_t stepping = 0;
  std::int64_t standby = 0;
  std::int64_t idle_member = 0;
  std::int64_t missing = 0;
};
WorldShares SharesOf(const WorldSpan& span, std::int64_t allocated);

// By attempt and begin, disjoint. A mark is valid until the next one of its attempt, at most until its
// processes end or are replaced; a mark before a start of the program belongs to that start.
std::vector<WorldSpan> ReadWorlds(const RunFacts& facts, const std::vector<AttemptSummary>& attempts,
                                  const std::vector<Incarnation>& incarnations);

// What a report should say of marks that cannot be true.
std::vector<std::string> WarningsOfWorlds(const std::vector<WorldSpan>& worlds,
                                          const std::vector<AttemptSummary>& attempts);

}  // namespace goodput
