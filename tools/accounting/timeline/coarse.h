// Reduces a timeline to as many cells as a picture can show, without losing a nanosecond.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tools/accounting/timeline/intervals.h"

namespace goodput {

// A period and the time of each bucket in it; `ns` adds up to end - begin.
struct Cell {
  Ns begin = 0;
  Ns end = 0;
  std::array<Ns, kBucketCount> ns{};  // by Bucket
};

// Reduces the intervals, which are in order and without gaps, to at most `most_cells` cells (at least 4).
// Adjacent intervals of one bucket become one cell. If that is still too many, intervals that are shorter
// than their share of the picture are merged with their neighbours; longer ones remain cells of their own.
std::vector<Cell> CoarseTimeline(const Intervals& intervals, std::size_t most_cells);

}  // namespace goodput
