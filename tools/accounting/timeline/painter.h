// Fills a timeline by precedence: the first claim wins, and a later claim gets only what is still free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/intervals.h"

namespace goodput {

class Painter {
 public:
  // Paints on [begin, end).
  Painter(Ns begin, Ns end);

  // Reserves room for so many more pieces: a vector that grows holds all of them twice for a moment.
  void Reserve(std::size_t pieces) { claimed_.reserve(claimed_.size() + pieces); }

  // Claims the free parts of the interval, clipped to the canvas. Empty and inverted intervals claim nothing.
  void Paint(const Interval& claim);

  // Claims the time of a save. False: some of it is not free, or the save is not after the last one that was
  // claimed with this; then nothing is claimed. Its time must be painted once more, under the save, so that
  // the other intervals leave no gap.
  bool PaintSave(const SaveBlock& block, std::size_t index, int attempt, Evidence evidence);

  // All claims, in order, without unclaimed time. Paint `unobserved` last to leave no gaps.
  Intervals Finish() &&;

 private:
  std::map<Ns, Ns> free_;  // begin -> end, disjoint; includes that of saves_
  std::vector<Intervals::Saves> saves_;
  Ns saved_until_ = INT64_MIN;
  std::vector<Interval> claimed_;
};

}  // namespace goodput
