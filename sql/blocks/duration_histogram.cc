#include "sql/blocks/duration_histogram.h"

#include <algorithm>

#include "sql/blocks/varint.h"

namespace goodput {
namespace {

// Twelve bits of a value are kept: eleven behind its highest.
constexpr unsigned kBits = 12;
constexpr std::uint64_t kExactBelow = std::uint64_t{1} << kBits;
constexpr std::uint32_t kBinsAnOctave = std::uint32_t{1} << (kBits - 1);
constexpr std::uint32_t kLastBin = (63 - kBits) * kBinsAnOctave + 2 * kBinsAnOctave - 1;

std::uint32_t BinOf(std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns));
  if (value < kExactBelow) return static_cast<std::uint32_t>(value);
  const auto length = static_cast<unsigned>(64 - __builtin_clzll(value));
  const unsigned shift = length - kBits;
  return shift * kBinsAnOctave + static_cast<std::uint32_t>(value >> shift);
}

// The lowest value of the bin, and how many values it has.
std::pair<std::uint64_t, std::uint64_t> ValuesOf(std::uint32_t bin) {
  if (bin < kExactBelow) return {bin, 1};
  const std::uint32_t shift = bin / kBinsAnOctave - 1;
  const std::uint64_t mantissa = bin - shift * kBinsAnOctave;
  return {mantissa << shift, std::uint64_t{1} << shift};
}

std::int64_t Middle(std::uint32_t bin) {
  const auto [lowest, width] = ValuesOf(bin);
  return static_cast<std::int64_t>(lowest + width / 2);
}

}  // namespace

void DurationHistogram::Add(std::int64_t ns) {
  constexpr std::size_t kFew = 16;
  if (values_.empty()) values_.reserve(kFew);
  values_.push_back(std::max<std::int64_t>(0, ns));
  if (values_.size() > kExactDurations) Collapse();
}

void DurationHistogram::Add(std::int64_t ns, std::int64_t count) {
  if (count <= 0) return;
  if (this->count() + count <= static_cast<std::int64_t>(kExactDurations)) {
    values_.insert(values_.end(), static_cast<std::size_t>(count), std::max<std::int64_t>(0, ns));
    return;
  }
  MergeBins({{BinOf(ns), count}});
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  MergeBins(other.bins_);
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  if (values_.size() > kExactDurations) Collapse();
}

void DurationHistogram::Remove(std::int64_t ns) {
  const std::int64_t value = std::max<std::int64_t>(0, ns);
  if (const auto exact = std::find(values_.begin(), values_.end(), value); exact != values_.end()) {
    values_.erase(exact);
    return;
  }
  const auto bin = std::lower_bound(bins_.begin(), bins_.end(), BinOf(value),
                                    [](const Bin& one, std::uint32_t wanted) { return one.first < wanted; });
  if (bin == bins_.end() || bin->first != BinOf(value)) return;
  --binned_;
  if (--bin->second == 0) bins_.erase(bin);
}

void DurationHistogram::Remove(const DurationHistogram& other) {
  for (const std::int64_t value : other.values_) Remove(value);
  if (other.bins_.empty()) return;
  Collapse();
  for (const auto& [bin, count] : other.bins_) {
    const auto mine =
        std::lower_bound(bins_.begin(), bins_.end(), bin,
                         [](const Bin& one, std::uint32_t wanted) { return one.first < wanted; });
    if (mine == bins_.end() || mine->first != bin) continue;
    const std::int64_t taken = std::min(mine->second, count);
    binned_ -= taken;
    mine->second -= taken;
  }
  bins_.erase(std::remove_if(bins_.begin(), bins_.end(), [](const Bin& bin) { return bin.second == 0; }),
              bins_.end());
}

std::vector<DurationHistogram::Bin> DurationHistogram::BinsOf(const std::vector<std::int64_t>& values) {
  std::vector<std::uint32_t> each;
  each.reserve(values.size());
  for (const std::int64_t value : values) each.push_back(BinOf(value));
  std::vector<Bin> bins;
  if (each.empty()) return bins;
  // Steps take about the same time each: to count takes less than to sort.
  const auto [least, most] = std::minmax_element(each.begin(), each.end());
  const std::uint32_t first = *least;
  if (*most - first < each.size()) {
    std::vector<std::int64_t> counts(*most - first + 1);
    for (const std::uint32_t bin : each) ++counts[bin - first];
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) bins.emplace_back(first + static_cast<std::uint32_t>(i), counts[i]);
    }
    return bins;
  }
  std::sort(each.begin(), each.end());
  for (const std::uint32_t bin : each) {
    if (bins.empty() || bins.back().first != bin) bins.emplace_back(bin, 0);
    ++bins.back().second;
  }
  return bins;
}

void DurationHistogram::MergeBins(const std::vector<Bin>& bins) {
  if (bins.empty()) return;
  std::vector<Bin> merged;
  merged.reserve(bins_.size() + bins.size());
  auto mine = bins_.begin();
  for (const Bin& bin : bins) {
    while (mine != bins_.end() && mine->first < bin.first) merged.push_back(*mine++);
    merged.push_back(bin);
    if (mine != bins_.end() && mine->first == bin.first) {
      if (__builtin_add_overflow(merged.back().second, mine->second, &merged.back().second))
        merged.back().second = INT64_MAX;
      ++mine;
    }
    if (__builtin_add_overflow(binned_, bin.second, &binned_)) binned_ = INT64_MAX;
  }
  merged.insert(merged.end(), mine, bins_.end());
  bins_ = std::move(merged);
}

void DurationHistogram::Collapse() {
  MergeBins(BinsOf(values_));
  values_.clear();
}

std::vector<DurationHistogram::Bin> DurationHistogram::AllBins() const {
  if (values_.empty()) return bins_;
  DurationHistogram all = *this;
  all.Collapse();
  return all.bins_;
}

std::optional<std::int64_t> DurationHistogram::Median() const {
  return count() == 0 ? std::nullopt : AtRank((count() - 1) / 2);
}

std::optional<std::int64_t> DurationHistogram::AtRank(std::int64_t rank) const {
  if (rank < 0 || rank >= count()) return std::nullopt;
  if (bins_.empty()) {
    std::vector<std::int64_t> values = values_;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
  for (const auto& [bin, count] : AllBins()) {
    if (rank < count) return Middle(bin);
    rank -= count;
  }
  return std::nullopt;
}

std::int64_t DurationHistogram::UpperBound() const {
  std::int64_t most = 0;
  for (const std::int64_t value : values_) most = std::max(most, value);
  if (bins_.empty()) return most;
  const auto [lowest, width] = ValuesOf(bins_.back().first);
  return std::max(most, static_cast<std::int64_t>(lowest + width - 1));
}

std::string DurationHistogram::Encode() const {
  std::string bytes;
  std::uint32_t last = 0;
  for (const auto& [bin, count] : AllBins()) {
    PutVarint(bin - last, bytes);
    PutVarint(static_cast<std::uint64_t>(count), bytes);
    last = bin;
  }
  return bytes;
}

bool DurationHistogram::AddEncoded(std::string_view bytes) {
  std::vector<Bin> bins;
  std::size_t at = 0;
  std::uint64_t bin = 0;
  while (at < bytes.size()) {
    std::uint64_t step = 0;
    std::uint64_t count = 0;
    if (!GetVarint(bytes, at, step) || !GetVarint(bytes, at, count)) return false;
    if (step > kLastBin || (step == 0 && !bins.empty()) || count == 0 || count > INT64_MAX) return false;
    bin += step;
    if (bin > kLastBin) return false;
    bins.emplace_back(static_cast<std::uint32_t>(bin), static_cast<std::int64_t>(count));
  }
  MergeBins(bins);
  return true;
}

}  // namespace goodput
