#include "tools/accounting/timeline/coarse.h"

#include <algorithm>
#include <optional>

namespace goodput {
namespace {

// Intervals of one bucket, one after the other.
struct Stretch {
  Ns begin = 0;
  Ns end = 0;
  Bucket bucket = Bucket::kUnobserved;
};

// Until `take` returns false.
template <typename Take>
void EachStretch(const Intervals& intervals, const Take& take) {
  std::optional<Stretch> open;
  for (const Interval& interval : intervals) {
    if (open && open->bucket == interval.bucket) {
      open->end = interval.end;
      continue;
    }
    if (open && !take(*open)) return;
    open = Stretch{interval.begin, interval.end, interval.bucket};
  }
  if (open) take(*open);
}

void Append(const Stretch& stretch, Cell& cell) {
  cell.end = stretch.end;
  cell.ns[static_cast<std::size_t>(stretch.bucket)] += stretch.end - stretch.begin;
}

void Add(const Stretch& stretch, std::vector<Cell>& cells) {
  cells.push_back({stretch.begin, stretch.begin, {}});
  Append(stretch, cells.back());
}

}  // namespace

std::vector<Cell> CoarseTimeline(const Intervals& intervals, std::size_t most_cells) {
  most_cells = std::max<std::size_t>(most_cells, 4);
  // There may be far more stretches than cells: they are not kept.
  std::vector<Cell> cells;
  bool fits = true;
  EachStretch(intervals, [&](const Stretch& stretch) {
    fits = cells.size() < most_cells;
    if (fits) Add(stretch, cells);
    return fits;
  });
  if (fits) return cells;
  // A merged cell is a share long or is followed by a long cell: at most two per share.
  const auto shares = static_cast<Ns>(most_cells / 2 - 1);
  const Ns share = (intervals.back().end - cells.front().begin) / shares + 1;
  std::vector<Cell> coarse;
  bool open = false;  // the last cell can grow
  EachStretch(intervals, [&](const Stretch& stretch) {
    const bool is_long = stretch.end - stretch.begin >= share;
    if (open && !is_long) {
      Append(stretch, coarse.back());
    } else {
      Add(stretch, coarse);
    }
    open = !is_long && coarse.back().end - coarse.back().begin < share;
    return true;
  });
  return coarse;
}

}  // namespace goodput
