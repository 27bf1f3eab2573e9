#include "tools/accounting/timeline/bucket.h"

#include <algorithm>
#include <cstddef>

namespace goodput {
namespace {

struct Row {
  std::string_view name;
  Side side;
  std::string_view meaning;
};

constexpr std::array<Row, kBucketCount> kRows{{
#define GOODPUT_ROW(constant, name, side, colour, dark_colour, meaning) {name, Side::side, meaning},
    GOODPUT_BUCKETS(GOODPUT_ROW)
#undef GOODPUT_ROW
}};

constexpr std::array<std::string_view, 6> kSides{"excluded",   "scheduling", "runtime",
                                                 "productive", "open",       "unknown"};
constexpr std::array<std::string_view, 7> kEvidence{"mark",      "log",        "file",    "signal",
                                                    "scheduler", "accounting", "inferred"};

}  // namespace

std::string_view BucketName(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].name;
}
Side BucketSide(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].side;
}
std::string_view SideName(Side side) {
  return kSides[static_cast<std::size_t>(side)];
}
std::string_view BucketMeaning(Bucket bucket) {
  return kRows[static_cast<std::size_t>(bucket)].meaning;
}
std::string_view EvidenceName(Evidence evidence) {
  return kEvidence[static_cast<std::size_t>(evidence)];
}
Evidence Weaker(Evidence a, Evidence b) {
  return std::max(a, b);
}

std::optional<Bucket> BucketFromName(std::string_view name) {
  for (Bucket bucket : AllBuckets()) {
    if (BucketName(bucket) == name) return bucket;
  }
  return std::nullopt;
}

std::array<Bucket, kBucketCount> AllBuckets() {
  std::array<Bucket, kBucketCount> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Bucket>(i);
  return all;
}

}  // namespace goodput
