#include "tools/sources/import_export/time_order.h"

#include <algorithm>

#include "sql/blocks/varint.h"

namespace goodput {
namespace {

// Number of entries sorted at a time.
constexpr std::size_t kStretch = std::size_t{1} << 15U;

}  // namespace

void TimeOrder::Add(const EntryPlace& place) {
  waiting_.push_back(place);
  if (waiting_.size() == kStretch) Pack();
}

void TimeOrder::Pack() {
  if (waiting_.empty()) return;
  std::sort(waiting_.begin(), waiting_.end());
  Stretch stretch;
  EntryPlace before;
  for (const EntryPlace& place : waiting_) {
    PutVarint(Zigzag(Minus(place.t, before.t)), stretch.bytes);
    PutVarint(Zigzag(Minus(place.offset, before.offset)), stretch.bytes);
    PutVarint(static_cast<std::uint64_t>(place.order), stretch.bytes);
    PutVarint(static_cast<std::uint64_t>(place.length), stretch.bytes);
    before = place;
  }
  stretch.bytes.shrink_to_fit();
  stretches_.push_back(std::move(stretch));
  waiting_.clear();
}

bool TimeOrder::Stretch::Take(EntryPlace& place) {
  std::uint64_t t = 0;
  std::uint64_t offset = 0;
  std::uint64_t order = 0;
  std::uint64_t length = 0;
  if (!GetVarint(bytes, at, t) || !GetVarint(bytes, at, offset) || !GetVarint(bytes, at, order) ||
      !GetVarint(bytes, at, length)) {
    return false;
  }
  last = {Plus(last.t, Unzigzag(t)), static_cast<std::int64_t>(order), Plus(last.offset, Unzigzag(offset)),
          static_cast<std::int64_t>(length)};
  place = last;
  return true;
}

void TimeOrder::Sort() {
  Pack();
  waiting_ = std::vector<EntryPlace>();
  heads_.resize(stretches_.size());
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    heads_[i].stretch = i;
    stretches_[i].Take(heads_[i].place);
  }
  const auto later = [](const Head& a, const Head& b) { return b.place < a.place; };
  std::make_heap(heads_.begin(), heads_.end(), later);
}

bool TimeOrder::Next(EntryPlace& place) {
  if (heads_.empty()) return false;
  const auto later = [](const Head& a, const Head& b) { return b.place < a.place; };
  std::pop_heap(heads_.begin(), heads_.end(), later);
  Head& head = heads_.back();
  place = head.place;
  if (stretches_[head.stretch].Take(head.place)) {
    std::push_heap(heads_.begin(), heads_.end(), later);
  } else {
    heads_.pop_back();
  }
  return true;
}

}  // namespace goodput
