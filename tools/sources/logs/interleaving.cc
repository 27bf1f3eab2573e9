#include "tools/sources/logs/interleaving.h"

#include <algorithm>
#include <utility>

namespace goodput {

std::optional<std::size_t> Interleaving::NearestBelow(std::int64_t step) const {
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < last_.size(); ++i) {
    if (last_[i] < step && (!nearest || last_[i] > last_[*nearest])) nearest = i;
  }
  return nearest;
}

bool Interleaving::See(std::int64_t step, Ns t) {
  if (last_.empty()) {
    last_.push_back(step);
    t_ = t;
    return false;
  }
  const Ns since = std::max<Ns>(0, t - std::exchange(t_, t));
  between_.Add(since);
  const std::int64_t before = last_[current_];
  if (step == before) return false;
  const std::optional<std::size_t> nearest = NearestBelow(step);
  if (step > before) {
    // Of equals the same program.
    if (last_[*nearest] > before) current_ = *nearest;
    last_[current_] = step;
    return false;
  }
  const bool paused = since > std::max(kShortestPause, kPause * between_.Median().value_or(0));
  const bool goes_on = nearest && !paused && step - last_[*nearest] < (before - step) / 2;
  in_a_row_ = goes_on ? in_a_row_ + 1 : 0;
  if (goes_on) {
    current_ = *nearest;
    last_[current_] = step;
    return in_a_row_ >= kCertain;
  }
  if (last_.size() == kMostPrograms) last_.erase(last_.begin());
  last_.push_back(step);
  current_ = last_.size() - 1;
  return false;
}

}  // namespace goodput
