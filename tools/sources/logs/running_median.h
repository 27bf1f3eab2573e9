// The approximate median of any number of durations, at little cost: keeps all of the first few thousand,
// then every other one, then every fourth ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

class UsualTime {
 public:
  void Add(Ns duration) {
    if (count_++ % every_ != 0) return;
    kept_.push_back(duration);
    if (kept_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kMost / 2);
    every_ *= 2;
  }
  std::int64_t count() const { return count_; }
  // The lower median; absent if there are no values.
  std::optional<Ns> Median() const {
    if (kept_.empty()) return std::nullopt;
    std::vector<Ns> sorted = kept_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::vector<Ns> kept_;
  std::int64_t count_ = 0;
  std::int64_t every_ = 1;
};

}  // namespace goodput
