#include "tools/accounting/timeline/painter.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {

Painter::Painter(Ns begin, Ns end) {
  if (begin < end) free_.emplace(begin, end);
}

void Painter::Paint(const Interval& claim) {
  if (claim.begin >= claim.end) return;
  auto it = free_.upper_bound(claim.begin);
  if (it != free_.begin()) {
    auto before = std::prev(it);
    if (before->second > claim.begin) it = before;
  }
  while (it != free_.end() && it->first < claim.end) {
    const auto [free_begin, free_end] = *it;
    it = free_.erase(it);
    const Ns begin = std::max(free_begin, claim.begin);
    const Ns end = std::min(free_end, claim.end);
    if (free_begin < begin) free_.emplace_hint(it, free_begin, begin);
    if (end < free_end) it = free_.emplace_hint(it, end, free_end);
    Interval piece = claim;
    piece.begin = begin;
    piece.end = end;
    claimed_.push_back(std::move(piece));
  }
}

std::vector<Interval> Painter::Finish() && {
  std::sort(claimed_.begin(), claimed_.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return std::move(claimed_);
}

}  // namespace goodput
