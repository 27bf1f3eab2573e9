// How many steps of many ranks may be told, so that they do not crowd out other marks: a job may record about
// 140 marks a second on a node. If there were more than kMostMarksASecond, only every second, fourth, eighth
// ... step is told, of all ranks the same. What is told never becomes more again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

namespace goodput {

class RankBudget {
 public:
  static constexpr double kMostMarksASecond = 40;
  static constexpr std::size_t kMostRanks = 4096;

  // A rank took a step, in which it reports one mark.
  void See(std::int64_t rank, double seconds) {
    if (ranks_.size() < kMostRanks) ranks_.insert(rank);
    seconds_ += std::max(0.0, seconds);
    ++steps_;
    const double step = std::max(kShortestStep, seconds_ / static_cast<double>(steps_));
    const double marks_a_second = static_cast<double>(ranks_.size()) / step;
    while (every_ < kMostSparse && marks_a_second / static_cast<double>(every_) > kMostMarksASecond)
      every_ *= 2;
  }
  // Of every so many steps, one is told.
  std::int64_t every() const { return every_; }
  std::size_t ranks() const { return ranks_.size(); }

 private:
  static constexpr double kShortestStep = 1e-3;
  static constexpr std::int64_t kMostSparse = std::int64_t{1} << 20U;

  std::set<std::int64_t> ranks_;
  double seconds_ = 0;  // of all steps of all ranks
  std::int64_t steps_ = 0;
  std::int64_t every_ = 1;
};

}  // namespace goodput
