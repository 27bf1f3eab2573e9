#include "tools/accounting/timeline/saves.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

// A vector that grows holds its saves twice for a moment.
constexpr std::size_t kSavesPerBlock = 2048;

// Of a save during which training waits.
bool IsPlain(const Mark& mark) {
  return mark.kind == Mark::Kind::kCheckpoint && mark.name.empty() && mark.train_step;
}

bool IsPair(const Mark& begin, const Mark& end) {
  return begin.slurm_step == end.slurm_step && begin.task == end.task && begin.train_step == end.train_step &&
         std::tie(begin.t, begin.ref.source, begin.ref.offset) <
             std::tie(end.t, end.ref.source, end.ref.offset);
}

// The block to which the save can be appended.
SaveBlock& BlockFor(const Mark& begin, const Mark& end, AttemptFacts& attempt) {
  if (!attempt.save_blocks.empty()) {
    SaveBlock& last = attempt.save_blocks.back();
    if (last.slurm_step == begin.slurm_step && last.task == begin.task &&
        last.begin_source == begin.ref.source && last.end_source == end.ref.source &&
        last.saves.back().end < begin.t && last.saves.size() < kSavesPerBlock)
      return last;
  }
  return attempt.save_blocks.emplace_back(
      SaveBlock{begin.slurm_step, begin.task, begin.ref.source, end.ref.source, std::vector<SaveSpan>()});
}

void AddSave(const Mark& begin, const Mark& end, AttemptFacts& attempt) {
  BlockFor(begin, end, attempt)
      .saves.push_back({begin.t, end.t, *begin.train_step, begin.ref.offset, end.ref.offset});
}

// Pairs marks of saves that are next to each other by time: they came from different places.
void PairRest(AttemptFacts& attempt) {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < attempt.marks.size(); ++i) {
    if (IsPlain(attempt.marks[i])) rest.push_back(i);
  }
  const auto place = [&](std::size_t i) {
    const Mark& mark = attempt.marks[i];
    return std::tie(mark.t, mark.ref.source, mark.ref.offset);
  };
  std::sort(rest.begin(), rest.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::vector<bool> paired(attempt.marks.size());
  for (std::size_t i = 0; i + 1 < rest.size(); ++i) {
    const Mark& begin = attempt.marks[rest[i]];
    const Mark& end = attempt.marks[rest[i + 1]];
    if (!begin.begin || end.begin || !IsPair(begin, end)) continue;
    AddSave(begin, end, attempt);
    paired[rest[i]] = paired[rest[i + 1]] = true;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < attempt.marks.size(); ++i) {
    if (!paired[i] && kept++ != i) attempt.marks[kept - 1] = std::move(attempt.marks[i]);
  }
  attempt.marks.resize(kept);
}

}  // namespace

void SavePairs::Add(Mark mark, AttemptFacts& attempt) {
  if (IsPlain(mark) && !mark.begin && begun_ && attempt_ == &attempt && IsPair(*begun_, mark)) {
    AddSave(*begun_, mark, attempt);
    begun_.reset();
    return;
  }
  if (begun_) AddMark(*std::exchange(begun_, std::nullopt), *attempt_);
  if (IsPlain(mark) && mark.begin) {
    begun_ = std::move(mark);
    attempt_ = &attempt;
    return;
  }
  AddMark(std::move(mark), attempt);
}

void SavePairs::AddMark(Mark mark, AttemptFacts& attempt) {
  if (IsPlain(mark) && (left_.empty() || left_.back() != &attempt)) left_.push_back(&attempt);
  attempt.marks.push_back(std::move(mark));
}

void SavePairs::Finish() {
  if (begun_) AddMark(*std::exchange(begun_, std::nullopt), *attempt_);
  std::sort(left_.begin(), left_.end());
  left_.erase(std::unique(left_.begin(), left_.end()), left_.end());
  for (AttemptFacts* attempt : left_) PairRest(*attempt);
  left_.clear();
}

void AppendMarks(const SaveBlock& block, const SaveSpan& save, std::vector<Mark>& marks) {
  Mark mark;
  mark.kind = Mark::Kind::kCheckpoint;
  mark.slurm_step = block.slurm_step;
  mark.task = block.task;
  mark.train_step = save.train_step;
  mark.t = save.begin;
  mark.ref = block.BeginRef(save);
  marks.push_back(mark);
  mark.begin = false;
  mark.t = save.end;
  mark.ref = block.EndRef(save);
  marks.push_back(std::move(mark));
}

void AppendMarks(const SaveBlock& block, std::vector<Mark>& marks) {
  for (const SaveSpan& save : block.saves) AppendMarks(block, save, marks);
}

void SaveRanges::Add(const SaveBlock& block, std::size_t index) {
  ++size_;
  if (!ranges_.empty() && ranges_.back().block == &block && ranges_.back().last == index) {
    ++ranges_.back().last;
  } else {
    ranges_.push_back({&block, index, index + 1});
  }
}

std::optional<Ns> SaveRanges::Iterator::EndBefore() const {
  if (range_ < ranges_->size() && index_ > (*ranges_)[range_].first) return block().saves[index_ - 1].end;
  if (range_ == 0) return std::nullopt;
  const SaveRange& before = (*ranges_)[range_ - 1];
  return before.block->saves[before.last - 1].end;
}

template <typename IsBefore>
SaveRanges::Iterator SaveRanges::First(const IsBefore& is_before) const {
  const auto range = std::partition_point(ranges_.begin(), ranges_.end(), [&](const SaveRange& one) {
    return is_before(one.block->saves[one.last - 1]);
  });
  Iterator at = From(static_cast<std::size_t>(range - ranges_.begin()));
  if (range == ranges_.end()) return at;
  const auto saves = range->block->saves.begin();
  const auto found = std::partition_point(saves + static_cast<std::ptrdiff_t>(range->first),
                                          saves + static_cast<std::ptrdiff_t>(range->last), is_before);
  at.index_ = static_cast<std::size_t>(found - saves);
  return at;
}

SaveRanges::Iterator SaveRanges::FirstAt(Ns t) const {
  return First([&](const SaveSpan& save) { return save.begin < t; });
}

SaveRanges::Iterator SaveRanges::FirstAfter(Ns t) const {
  return First([&](const SaveSpan& save) { return save.end <= t; });
}

Ns TimeOfSaves(const SaveRanges& saves, Ns begin, Ns end) {
  Ns sum = 0;
  for (auto save = saves.FirstAt(begin); save != saves.end() && save->begin < end; ++save)
    sum += save->end - save->begin;
  return sum;
}

}  // namespace goodput
