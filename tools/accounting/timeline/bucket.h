// The buckets into which every second of a run is put, and the kinds of evidence for them.
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

// The factor of goodput that a bucket reduces.
enum class Side : std::uint8_t { kExcluded, kScheduling, kRuntime, kProductive, kOpen, kUnknown };

std::string_view BucketName(Bucket bucket);
Side BucketSide(Bucket bucket);
std::string_view SideName(Side side);
// The bucket's meaning in one sentence, for readers of a report.
std::string_view BucketMeaning(Bucket bucket);
std::optional<Bucket> BucketFromName(std::string_view name);
std::array<Bucket, kBucketCount> AllBuckets();

// The source of a fact, best first.
enum class Evidence : std::uint8_t { kMark, kLog, kFile, kSignal, kScheduler, kAccounting, kInferred };
std::string_view EvidenceName(Evidence evidence);
// The weaker of two: a conclusion is as weak as its weakest premise.
Evidence Weaker(Evidence a, Evidence b);

}  // namespace goodput
