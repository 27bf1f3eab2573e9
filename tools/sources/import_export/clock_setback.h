// Where in a log the clock of its writer was set back: the next step in line is begun before the one before
// it. What follows is moved by as much as makes that step come when it was due, so that no start of the
// program is seen where there was none.
//
// A log that is merely not in order shows the same numbers out of line as well: only a step that continues
// three in line is believed.
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
  // Call for each entry in the order of the file. Returns its delay: what is to be added to its times.
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
  // Of the entry there, once it was seen.
  Ns At(std::int64_t offset) const {
    const auto after = std::upper_bound(delays_.begin(), delays_.end(), std::pair(offset, INT64_MAX));
    return after == delays_.begin() ? 0 : after[-1].second;
  }

 private:
  static constexpr int kInLine = 3;
  // Beyond these a log is nonsense, and arithmetic must not overflow.
  static constexpr Ns kMostDelay = kLatest / 4;
  static constexpr Ns kLongestStep = 86'400 * kSecond;
  std::vector<std::pair<std::int64_t, Ns>> delays_;  // from this offset on
  Ns delay_ = 0;
  int in_line_ = 0;  // so many steps, each `stride_` after the one before
  std::int64_t step_ = 0;
  std::int64_t stride_ = 1;
  Ns t_ = 0;
  Ns took_ = 0;  // from the step before the last to the last
};

}  // namespace goodput
