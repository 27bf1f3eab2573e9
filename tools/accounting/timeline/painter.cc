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

bool Painter::PaintSave(const SaveBlock& block, std::size_t index, int attempt, Evidence evidence) {
  const SaveSpan& save = block.saves[index];
  if (save.begin < saved_until_ || save.begin >= save.end) return false;
  const auto after = free_.upper_bound(save.begin);
  if (after == free_.begin() || std::prev(after)->second < save.end) return false;
  if (saves_.empty() || saves_.back().attempt != attempt || saves_.back().evidence != evidence)
    saves_.push_back({{}, attempt, evidence});
  saves_.back().ranges.Add(block, index);
  saved_until_ = save.end;
  return true;
}

Intervals Painter::Finish() && {
  // To sort numbers takes less than to sort intervals, of which each is then moved once.
  std::vector<std::pair<Ns, std::size_t>> order;  // begin, and where it is
  order.reserve(claimed_.size());
  for (const Interval& interval : claimed_) order.emplace_back(interval.begin, order.size());
  std::stable_sort(order.begin(), order.end());
  for (std::size_t first = 0; first < order.size(); ++first) {
    if (order[first].second == first) continue;
    Interval held = std::move(claimed_[first]);
    std::size_t to = first;
    for (std::size_t from = order[to].second; from != first; from = order[to].second) {
      claimed_[to] = std::move(claimed_[from]);
      order[to].second = to;
      to = from;
    }
    claimed_[to] = std::move(held);
    order[to].second = to;
  }
  return {std::move(claimed_), std::move(saves_)};
}

}  // namespace goodput
