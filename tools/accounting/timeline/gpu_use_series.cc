#include "tools/accounting/timeline/gpu_use_series.h"

#include <algorithm>
#include <array>

namespace goodput {
namespace {

constexpr std::array<GpuNs GpuUseSum::*, 7> kSums = {
    &GpuUseSum::measured, &GpuUseSum::busy_of,   &GpuUseSum::busy,      &GpuUseSum::tensor_of,
    &GpuUseSum::tensor,   &GpuUseSum::energy_of, &GpuUseSum::energy_mj,
};

// No node reports so long a span: it is one of a record that is not ours.
constexpr Ns kLongestSpan = kUtcDay;
constexpr std::int64_t kMostGpusOfANode = 1 << 12;
constexpr std::int64_t kMostEnergyMj = std::int64_t{1} << 50;  // 13 megawatts for a day

bool IsShare(const std::optional<std::int64_t>& share) {
  return !share || (*share >= 0 && *share <= GpuUseSpan::kWhole);
}

bool IsPossible(const GpuUseSpan& span) {
  return span.begin >= 0 && span.begin < span.end && span.end - span.begin <= kLongestSpan && span.gpus > 0 &&
         span.gpus <= kMostGpusOfANode && IsShare(span.busy) && IsShare(span.tensor) &&
         span.energy_mj.value_or(0) >= 0 && span.energy_mj.value_or(0) <= kMostEnergyMj;
}

// The part of `sum`, which is of [begin, end), that is of [from, to).
GpuUseSum PartOf(const GpuUseSum& sum, Ns begin, Ns end, Ns from, Ns to) {
  from = std::clamp(from, begin, end);
  to = std::clamp(to, from, end);
  if (from == begin && to == end) return sum;
  GpuUseSum part;
  for (GpuNs GpuUseSum::*const which : kSums) {
    const auto until = [&](Ns t) { return sum.*which * (t - begin) / (end - begin); };
    part.*which = until(to) - until(from);
  }
  return part;
}

}  // namespace

void GpuUseSum::Add(const GpuUseSum& other) {
  for (GpuNs GpuUseSum::*const which : kSums) this->*which += other.*which;
}

void GpuUseSeries::Add(const GpuUseSpan& span) {
  if (!IsPossible(span)) return;
  const GpuNs gpu_ns = static_cast<GpuNs>(span.end - span.begin) * span.gpus;
  GpuUseSum sum;
  if (span.busy) {
    sum.busy_of = gpu_ns;
    sum.busy = gpu_ns * *span.busy / GpuUseSpan::kWhole;
  }
  if (span.tensor) {
    sum.tensor_of = gpu_ns;
    sum.tensor = gpu_ns * *span.tensor / GpuUseSpan::kWhole;
  }
  if (span.energy_mj) {
    sum.energy_of = gpu_ns;
    sum.energy_mj = *span.energy_mj;
  }
  sum.measured = std::max({sum.busy_of, sum.tensor_of, sum.energy_of});
  if (sum.measured > 0) AddSum(sum, span.begin, span.end);
}

void GpuUseSeries::AddSum(const GpuUseSum& sum, Ns begin, Ns end) {
  for (Ns at = begin; at < end;) {
    const std::int64_t piece = at / length_;
    const Ns until = std::min(end, (piece + 1) * length_);
    pieces_[piece].Add(PartOf(sum, begin, end, at, until));
    at = until;
  }
  while (pieces_.size() > kMostPieces) DoubleLength();
}

void GpuUseSeries::DoubleLength() {
  std::map<std::int64_t, GpuUseSum> longer;
  for (const auto& [piece, sum] : pieces_) longer[piece / 2].Add(sum);
  pieces_ = std::move(longer);
  length_ *= 2;
}

void GpuUseSeries::Add(const GpuUseSeries& other) {
  while (length_ < other.length_) DoubleLength();
  for (const auto& [piece, sum] : other.pieces_) pieces_[piece * other.length_ / length_].Add(sum);
  while (pieces_.size() > kMostPieces) DoubleLength();
  SeeMemory(other.memory_mib_, other.memory_of_mib_);
  by_driver_ = by_driver_ || other.by_driver_;
}

void GpuUseSeries::SeeMemory(std::int64_t used_mib, std::optional<std::int64_t> of_mib) {
  if (used_mib <= memory_mib_ || (of_mib && *of_mib < used_mib)) return;
  memory_mib_ = used_mib;
  memory_of_mib_ = of_mib;
}

GpuUseSum GpuUseSeries::Sum(Ns begin, Ns end) const {
  GpuUseSum total;
  if (begin >= end || end <= 0) return total;
  for (auto at = pieces_.lower_bound(std::max<Ns>(begin, 0) / length_);
       at != pieces_.end() && at->first * length_ < end; ++at) {
    const Ns from = at->first * length_;
    total.Add(PartOf(at->second, from, from + length_, begin, end));
  }
  return total;
}

}  // namespace goodput
