// The proof that kept steps are counted by number: a run that kept steps 0 to 239 kept 240 of them, each
// once, however often it was restarted and whatever it ran again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Step numbers, both included.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Ledger {
  std::int64_t kept = 0;             // as the timeline counted them, record by record
  std::optional<StepRange> kept_in;  // the first and the last number kept; absent: none
  std::vector<StepRange> missing;    // numbers between them that nobody kept
  std::vector<StepRange> twice;      // numbers more than one start of the program kept

  // kept = last - first + 1, each number once; nothing is wrong with having kept none.
  bool holds() const;
};

// Of the whole run, also where the timeline was clipped to a window.
Ledger ReadLedger(const Timeline& timeline);

// "240 kept = steps 0 to 239, each once", or what exactly is wrong.
std::string InWords(const Ledger& ledger);

}  // namespace goodput
