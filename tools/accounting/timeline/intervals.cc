#include "tools/accounting/timeline/intervals.h"

#include <algorithm>
#include <optional>

namespace goodput {

Intervals::Intervals(std::vector<Interval> others, std::vector<Saves> saves)
    : others_(std::move(others)), saves_(std::move(saves)) {}

void Intervals::Iterator::Enter(std::size_t saves) {
  saves_ = saves;
  if (saves == of_->saves_.size()) return;
  save_ = of_->saves_[saves].ranges.begin();
  made_save_.bucket = Bucket::kCheckpointSave;
  made_save_.evidence = of_->saves_[saves].evidence;
  made_save_.attempt = of_->saves_[saves].attempt;
}

void Intervals::Iterator::MakeSave() {
  made_save_.begin = std::max(save_->begin, of_->begin_);
  made_save_.end = std::min(save_->end, of_->end_);
  made_save_.from = save_.block().BeginRef(*save_);
  made_save_.to = save_.block().EndRef(*save_);
  at_ = made_save_.end;
  now_ = Now::kSave;
}

// What begins where the interval before ended.
void Intervals::Iterator::Choose() {
  const std::vector<Interval>& others = of_->others_;
  if (now_ == Now::kSave && ++save_ == of_->saves_[saves_].ranges.end()) Enter(saves_ + 1);
  while (other_ < others.size() && others[other_].end <= at_) ++other_;
  if (other_ == others.size()) {
    at_ = 0;
    now_ = Now::kEnd;
    return;
  }
  const Interval& other = others[other_];
  const Ns begin = std::max(other.begin, at_);
  const bool saved = saves_ < of_->saves_.size();
  if (saved && save_->begin <= begin) return MakeSave();
  at_ = saved ? std::min(other.end, save_->begin) : other.end;
  now_ = begin == other.begin && at_ == other.end ? Now::kWhole : Now::kPart;
  if (now_ == Now::kWhole) return;
  if (part_of_ != other_) part_ = other;
  part_of_ = other_;
  part_.begin = begin;
  part_.end = at_;
}

Intervals::Iterator Intervals::FirstAfter(Ns t) const {
  Iterator at(*this);
  t = std::max(t, begin_);
  at.at_ = begin_;
  std::size_t saves = 0;
  std::optional<Ns> saved_until;
  for (; saves < saves_.size(); ++saves) {
    at.Enter(saves);
    at.save_ = saves_[saves].ranges.FirstAfter(t);
    if (const std::optional<Ns> before = at.save_.EndBefore()) saved_until = before;
    if (at.save_ != saves_[saves].ranges.end()) break;
  }
  at.saves_ = saves;
  if (saved_until) at.at_ = std::max(at.at_, *saved_until);
  const bool in_save = saves < saves_.size() && at.save_->begin <= t;
  if (in_save) at.at_ = std::max(at.at_, at.save_->begin);
  const auto other =
      std::partition_point(others_.begin(), others_.end(), [&](const Interval& one) { return one.end <= t; });
  at.other_ = static_cast<std::size_t>(other - others_.begin());
  at.Choose();
  return at;
}

Interval Intervals::back() const {
  Interval last;
  for (Iterator at = FirstAfter(others_.back().end - 1); at != end(); ++at) last = *at;
  return last;
}

void Intervals::Clip(Ns begin, Ns end) {
  begin_ = std::max(begin_, begin);
  end_ = std::min(end_, end);
  std::vector<Interval> inside;
  for (Interval& interval : others_) {
    interval.begin = std::max(interval.begin, begin);
    interval.end = std::min(interval.end, end);
    if (interval.begin < interval.end) inside.push_back(std::move(interval));
  }
  others_ = std::move(inside);
}

}  // namespace goodput
