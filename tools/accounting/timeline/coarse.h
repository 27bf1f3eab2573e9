// A timeline to look at: no more cells than a picture can show, and not a nanosecond less than there is.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tools/accounting/timeline/painter.h"

namespace goodput {

// A stretch of time and how much of it each bucket has; `ns` adds up to end - begin.
struct Cell {
  Ns begin = 0;
  Ns end = 0;
  std::array<Ns, kBucketCount> ns{};  // by Bucket
};

// The intervals, which are in order and leave no gap, as at most `most_cells` cells (at least 4). Neighbors
// of one bucket are one cell. Where that is still too many, what is shorter than its share of the picture is
// put together with its neighbors; what is longer stays a cell of its own.
std::vector<Cell> CoarseTimeline(const std::vector<Interval>& intervals, std::size_t most_cells);

}  // namespace goodput
