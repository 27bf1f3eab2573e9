// Finds where the clock of a log's writer was set back: the next consecutive step begins before the previous
// one. Later entries are moved so that this step comes when it was due; otherwise it would look like a
// restart of the program.
//
// A log that is merely out of order has the same numbers out of sequence too, so only a step that continues
// three consecutive ones counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/sources/logs/google_entry.h"

namespace goodput {

class ClockSteps {
 public:
  // Call for each entry in the order of the file. Returns what to add to its times.
  Ns See(const GoogleEntry& entry, std::int64_t offset) {
    if (!entry.step) return delay_;
    const Ns t = entry.step_start + delay_;
    const bool next = in_line_ > 0 && *entry.step == step_ + stride_;
    if (next && in_line_ >= kInLine && t < t_) {
      delay_ = std::min(delay_ + (t_ + took_ - t), kMostDelay);
      delays_.emplace_back(offset, delay_);
    } else if (next || in_line_ == 0) {
      took_ = std::clamp<Ns>(t - t_, 0, kLongestStep);
    }
    if (!next) stride_ = in_line_ == 1 && *entry.step > step_ ? *entry.step - step_ : 1;
    in_line_ = next || (in_line_ == 1 && *entry.step == step_ + stride_) ? in_line_ + 1 : 1;
    step_ = *entry.step;
    t_ = entry.step_start + delay_;
    return delay_;
  }
  // The delay of the entry at that offset, once it was seen.
  Ns At(std::int64_t offset) const {
    const auto after = std::upper_bound(delays_.begin(), delays_.end(), std::pair(offset, INT64_MAX));
    return after == delays_.begin() ? 0 : after[-1].second;
  }

 private:
  static constexpr int kInLine = 3;
  // A log beyond these is invalid, and arithmetic must not overflow.
  static constexpr Ns kMostDelay = kLatest / 4;
  static constexpr Ns kLongestStep = 86'400 * kSecond;
  std::vector<std::pair<std::int64_t, Ns>> delays_;  // from this offset on
  Ns delay_ = 0;
  int in_line_ = 0;  // number of consecutive steps, each `stride_` after the previous one
  std::int64_t step_ = 0;
  std::int64_t stride_ = 1;
  Ns t_ = 0;
  Ns took_ = 0;  // from the step before the last to the last
};

}  // namespace goodput
