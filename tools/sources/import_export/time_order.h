// The order of the entries of a file by time, for files that are not written in it, in about ten bytes an
// entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Where an entry is and when it is.
struct EntryPlace {
  Ns t = 0;
  std::int64_t order = 0;  // between entries of one time
  std::int64_t offset = 0;
  std::int64_t length = 0;

  friend bool operator<(const EntryPlace& a, const EntryPlace& b) {
    return std::tie(a.t, a.order, a.offset) < std::tie(b.t, b.order, b.offset);
  }
};

class TimeOrder {
 public:
  void Add(const EntryPlace& place);
  // Call once all are added, then Next until it is false.
  void Sort();
  bool Next(EntryPlace& place);

 private:
  // Entries in order, packed.
  struct Stretch {
    std::string bytes;
    std::size_t at = 0;
    EntryPlace last;
    bool Take(EntryPlace& place);
  };
  void Pack();

  std::vector<EntryPlace> waiting_;
  std::vector<Stretch> stretches_;
  struct Head {
    EntryPlace place;
    std::size_t stretch = 0;
  };
  std::vector<Head> heads_;  // a heap, the earliest on top
};

}  // namespace goodput
