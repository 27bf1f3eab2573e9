// How long many steps took, in little space: what a median needs of a million durations.
//
// Up to kExactDurations values are kept as they are. Beyond that only how many fell into each bin: below
// 4,096 ns a bin is one nanosecond wide, above it is 1/2048 of its value at most, so that a median is right
// to 0.025 %. The answer depends on the values alone, not on their order or on how they were merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

inline constexpr std::size_t kExactDurations = 4096;

class DurationHistogram {
 public:
  // Negative values count as 0.
  void Add(std::int64_t ns);
  // `count` values that are all the same.
  void Add(std::int64_t ns, std::int64_t count);
  void Merge(const DurationHistogram& other);
  // Takes back one value that was added.
  void Remove(std::int64_t ns);
  // Takes back a histogram that was merged.
  void Remove(const DurationHistogram& other);

  std::int64_t count() const { return binned_ + static_cast<std::int64_t>(values_.size()); }
  // The lower median; absent when empty.
  std::optional<std::int64_t> Median() const;
  // The value with that many below it once they are sorted, from 0; absent if there are not so many.
  std::optional<std::int64_t> AtRank(std::int64_t rank) const;
  // No value is above it; 0 when empty.
  std::int64_t UpperBound() const;

  // The bins, as docs/formats/duration_histogram.md describes them.
  std::string Encode() const;
  // False: not what Encode writes; then nothing is added.
  bool AddEncoded(std::string_view bytes);

 private:
  using Bin = std::pair<std::uint32_t, std::int64_t>;

  // Exact values become bins.
  void Collapse();
  static std::vector<Bin> BinsOf(const std::vector<std::int64_t>& values);
  void MergeBins(const std::vector<Bin>& bins);
  std::vector<Bin> AllBins() const;

  std::vector<std::int64_t> values_;
  std::vector<Bin> bins_;  // ascending
  std::int64_t binned_ = 0;
};

}  // namespace goodput
