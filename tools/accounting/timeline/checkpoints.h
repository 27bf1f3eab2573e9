// The checkpoints of one or several starts of a program. Those of SaveBlocks are made when they are read.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/saves.h"
#include "tools/accounting/timeline/timeline_parts.h"

namespace goodput {

class Checkpoints {
  // Of one start.
  struct Part {
    std::vector<Checkpoint> own;  // by begin, end and step
    SaveRanges saves;
    int incarnation = 0;  // of those in `saves`
    Evidence evidence = Evidence::kMark;
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Checkpoint;
    using difference_type = std::ptrdiff_t;
    using pointer = const Checkpoint*;
    using reference = const Checkpoint&;

    // Valid until the iterator moves.
    reference operator*() const { return in_saves_ ? made_ : (*parts_)[part_].own[own_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++();
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const {
      return part_ == other.part_ && own_ == other.own_ && save_ == other.save_;
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    friend class Checkpoints;
    Iterator(const std::vector<Part>& parts, std::size_t part) : parts_(&parts) { Enter(part); }
    void Enter(std::size_t part);
    void Choose();  // the next of the two lists

    const std::vector<Part>* parts_;
    std::size_t part_ = 0;
    std::size_t own_ = 0;
    SaveRanges::Iterator save_;
    bool in_saves_ = false;
    Checkpoint made_;  // of save_
  };
  using const_iterator = Iterator;

  // The checkpoints of one start, to be changed; in order again when they are read.
  std::vector<Checkpoint>& own() { return Only().own; }
  // Those of whole saves of that start.
  void SetSaves(SaveRanges saves) { Only().saves = std::move(saves); }
  // Adds those of another start.
  void Append(const Checkpoints& start, int incarnation, const RunFacts& facts);

  Iterator begin() const { return {parts_, 0}; }
  Iterator end() const { return {parts_, parts_.size()}; }
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // Counts from the first.
  Checkpoint operator[](std::size_t i) const { return *std::next(begin(), static_cast<std::ptrdiff_t>(i)); }

  void EraseIf(const std::function<bool(const Checkpoint&)>& gone);

 private:
  Part& Only() {
    if (parts_.empty()) parts_.emplace_back();
    return parts_.front();
  }
  void Dissolve(const RunFacts& facts, Part& part);
  static void Make(const SaveRanges::Iterator& save, Checkpoint& checkpoint);

  std::vector<Part> parts_;
};

}  // namespace goodput
