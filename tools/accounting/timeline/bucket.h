// The buckets every second of a run is put into, and the words for the evidence that put it there.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "tools/accounting/timeline/bucket_table.h"

namespace goodput {

// See bucket_table.h.
enum class Bucket : std::uint8_t {
#define GOODPUT_CONSTANT(constant, ...) constant,
  GOODPUT_BUCKETS(GOODPUT_CONSTANT)
#undef GOODPUT_CONSTANT
};

inline constexpr Bucket kBuckets[] = {
#define GOODPUT_VALUE(constant, ...) Bucket::constant,
    GOODPUT_BUCKETS(GOODPUT_VALUE)
#undef GOODPUT_VALUE
};
inline constexpr int kBucketCount = static_cast<int>(std::size(kBuckets));

// Which factor of goodput a bucket counts against.
enum class Side : std::uint8_t { kExcluded, kScheduling, kRuntime, kProductive, kOpen, kUnknown };

std::string_view BucketName(Bucket bucket);
Side BucketSide(Bucket bucket);
std::string_view SideName(Side side);
// One sentence for people who read a report: what the bucket means.
std::string_view BucketMeaning(Bucket bucket);
std::optional<Bucket> BucketFromName(std::string_view name);
std::array<Bucket, kBucketCount> AllBuckets();

// How a fact is known, best first.
enum class Evidence : std::uint8_t { kMark, kLog, kFile, kSignal, kScheduler, kAccounting, kInferred };
std::string_view EvidenceName(Evidence evidence);
// The weaker of two: a conclusion is as good as its worst premise.
Evidence Weaker(Evidence a, Evidence b);

}  // namespace goodput
