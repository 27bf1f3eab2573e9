// Sorts the entries of an unsorted file by time, using about ten bytes per entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// The position and time of an entry.
struct EntryPlace {
  Ns t = 0;
  std::int64_t order = 0;  // among entries with the same time
  std::int64_t offset = 0;
  std::int64_t length = 0;

  friend bool operator<(const EntryPlace& a, const EntryPlace& b) {
    return std::tie(a.t, a.order, a.offset) < std::tie(b.t, b.order, b.offset);
  }
};

class TimeOrder {
 public:
  void Add(const EntryPlace& place);
  // Call after adding all entries, then Next until it returns false.
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
