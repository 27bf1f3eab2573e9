// The intervals of a timeline, by time. Saves are made when they are read: there may be one after every few
// steps, and each divides the steps into two more intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/saves.h"

namespace goodput {

// A period in one bucket, with the reason.
struct Interval {
  Ns begin = 0;
  Ns end = 0;
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // within the bucket: `compile`, `restore`, a pending reason
  Evidence evidence = Evidence::kInferred;
  int attempt = -1;  // index into Timeline::attempts, -1 between attempts
  EvidenceRef from;  // the record that opened it
  EvidenceRef to;    // the record that closed it
  std::string why;   // in words, if the records alone do not explain it
};

class Intervals {
 public:
  // Saves of one attempt, each of which has its time whatever other intervals say of it.
  struct Saves {
    SaveRanges ranges;  // none is empty
    int attempt = -1;
    Evidence evidence = Evidence::kMark;
  };

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Interval;
    using difference_type = std::ptrdiff_t;
    using pointer = const Interval*;
    using reference = const Interval&;

    // Valid until the iterator moves.
    reference operator*() const {
      return now_ == Now::kWhole ? of_->others_[other_] : now_ == Now::kPart ? part_ : made_save_;
    }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      Choose();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_ && now_ == other.now_; }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    friend class Intervals;
    enum class Now : std::uint8_t { kWhole, kPart, kSave, kEnd };
    explicit Iterator(const Intervals& of) : of_(&of) {}
    void Enter(std::size_t saves);
    void Choose();
    void MakeSave();

    const Intervals* of_;
    std::size_t other_ = 0;      // of others_
    std::size_t saves_ = 0;      // of saves_
    SaveRanges::Iterator save_;  // the next one
    Ns at_ = 0;                  // the end of the interval
    Now now_ = Now::kEnd;
    Interval part_;  // of others_[part_of_]
    std::size_t part_of_ = kNone;
    Interval made_save_;
    static constexpr std::size_t kNone = ~std::size_t{0};
  };
  using const_iterator = Iterator;

  Intervals() = default;
  // `others`: in order, disjoint. `saves`: in order and disjoint as a whole; the others take no notice of
  // them, and leave no gap where one is.
  Intervals(std::vector<Interval> others, std::vector<Saves> saves = {});  // NOLINT: intervals are intervals

  Iterator begin() const { return FirstAfter(begin_); }
  Iterator end() const { return Iterator(*this); }
  // The first that ends after `t`.
  Iterator FirstAfter(Ns t) const;
  bool empty() const { return others_.empty(); }
  std::size_t size() const { return static_cast<std::size_t>(std::distance(begin(), end())); }
  Interval back() const;
  Interval operator[](std::size_t i) const { return *std::next(begin(), static_cast<std::ptrdiff_t>(i)); }

  // Only what is within [begin, end).
  void Clip(Ns begin, Ns end);
  // All but saves. Together they cover the whole time, also that of saves.
  const std::vector<Interval>& others() const { return others_; }
  std::vector<Interval>& others() { return others_; }

 private:
  std::vector<Interval> others_;
  std::vector<Saves> saves_;
  Ns begin_ = INT64_MIN;
  Ns end_ = INT64_MAX;
};

}  // namespace goodput
