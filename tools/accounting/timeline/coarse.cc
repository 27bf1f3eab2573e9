#include "tools/accounting/timeline/coarse.h"

#include <algorithm>
#include <optional>

namespace goodput {
namespace {

Cell CellOf(const Interval& interval) {
  Cell cell{interval.begin, interval.end, {}};
  cell.ns[static_cast<std::size_t>(interval.bucket)] = interval.end - interval.begin;
  return cell;
}

void Append(const Cell& next, Cell& cell) {
  cell.end = next.end;
  for (std::size_t i = 0; i < cell.ns.size(); ++i) cell.ns[i] += next.ns[i];
}

}  // namespace

std::vector<Cell> CoarseTimeline(const std::vector<Interval>& intervals, std::size_t most_cells) {
  std::vector<Cell> cells;
  std::optional<Bucket> before;
  for (const Interval& interval : intervals) {
    if (before == interval.bucket) {
      Append(CellOf(interval), cells.back());
    } else {
      cells.push_back(CellOf(interval));
    }
    before = interval.bucket;
  }
  most_cells = std::max<std::size_t>(most_cells, 4);
  if (cells.size() <= most_cells) return cells;
  // A merged cell is a share long or is followed by a long cell: at most two per share.
  const auto shares = static_cast<Ns>(most_cells / 2 - 1);
  const Ns share = (cells.back().end - cells.front().begin) / shares + 1;
  std::vector<Cell> coarse;
  bool open = false;  // the last cell can grow
  for (const Cell& cell : cells) {
    const bool is_long = cell.end - cell.begin >= share;
    if (open && !is_long) {
      Append(cell, coarse.back());
    } else {
      coarse.push_back(cell);
    }
    open = !is_long && coarse.back().end - coarse.back().begin < share;
  }
  return coarse;
}

}  // namespace goodput
