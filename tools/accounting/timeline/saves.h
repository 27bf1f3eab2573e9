// Saves whose begin and end are known, in less memory than a mark for each takes.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Adds marks to attempts. The begin of a save and its end become a save of a SaveBlock; all other marks stay
// marks.
class SavePairs {
 public:
  SavePairs() = default;
  SavePairs(const SavePairs&) = delete;
  SavePairs& operator=(const SavePairs&) = delete;
  ~SavePairs() { Finish(); }

  // The attempt must stay where it is until Finish.
  void Add(Mark mark, AttemptFacts& attempt);
  // Looks for pairs whose marks did not come one after the other.
  void Finish();

 private:
  void AddMark(Mark mark, AttemptFacts& attempt);

  std::optional<Mark> begun_;
  AttemptFacts* attempt_ = nullptr;  // of begun_
  std::vector<AttemptFacts*> left_;  // attempts with marks of saves that have no pair
};

// Appends the two marks of a save, or of each of a block's.
void AppendMarks(const SaveBlock& block, const SaveSpan& save, std::vector<Mark>& marks);
void AppendMarks(const SaveBlock& block, std::vector<Mark>& marks);

// Some of a block's saves: [first, last).
struct SaveRange {
  const SaveBlock* block = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
};

// Saves of several blocks, by begin. The blocks must outlive it.
class SaveRanges {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = SaveSpan;
    using difference_type = std::ptrdiff_t;
    using pointer = const SaveSpan*;
    using reference = const SaveSpan&;

    Iterator() = default;
    reference operator*() const { return block().saves[index_]; }
    pointer operator->() const { return &**this; }
    const SaveBlock& block() const { return *(*ranges_)[range_].block; }
    std::size_t index() const { return index_; }
    // The end of the save before; absent: this is the first.
    std::optional<Ns> EndBefore() const;
    Iterator& operator++() {
      if (++index_ == (*ranges_)[range_].last) Enter(range_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return range_ == other.range_ && index_ == other.index_; }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    friend class SaveRanges;
    explicit Iterator(const std::vector<SaveRange>& ranges) : ranges_(&ranges) {}
    void Enter(std::size_t range) {
      range_ = range;
      index_ = range < ranges_->size() ? (*ranges_)[range].first : 0;
    }

    const std::vector<SaveRange>* ranges_ = nullptr;
    std::size_t range_ = 0;
    std::size_t index_ = 0;
  };

  // Must not begin before the last one.
  void Add(const SaveBlock& block, std::size_t index);
  bool empty() const { return ranges_.empty(); }
  std::size_t size() const { return size_; }
  Iterator begin() const { return From(0); }
  Iterator end() const { return From(ranges_.size()); }
  // The first that begins at `t` or later.
  Iterator FirstAt(Ns t) const;
  // The first that ends after `t`.
  Iterator FirstAfter(Ns t) const;

 private:
  template <typename IsBefore>
  Iterator First(const IsBefore& is_before) const;
  Iterator From(std::size_t range) const {
    Iterator at(ranges_);
    at.Enter(range);
    return at;
  }

  std::vector<SaveRange> ranges_;  // none is empty
  std::size_t size_ = 0;
};

// How long the saves took that began in [begin, end).
Ns TimeOfSaves(const SaveRanges& saves, Ns begin, Ns end);

}  // namespace goodput
