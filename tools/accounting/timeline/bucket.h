// The buckets every second of a run is put into, and the words for the evidence that put it there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace goodput {

// In the order reports print them: waiting, then what an allocation went through.
enum class Bucket : std::uint8_t {
  kHold,
  kRequeueBackoff,
  kResubmitGap,
  kQueueResources,
  kQueuePriority,
  kQueueOther,
  kSuspended,
  kProvisioning,
  kLaunch,
  kStartup,
  kProductive,
  kAtRisk,
  kCheckpointSave,
  kOverhead,
  kStall,
  kLostWork,
  kDrain,
  kTeardown,
  kUnobserved,
};
inline constexpr int kBucketCount = 19;

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
