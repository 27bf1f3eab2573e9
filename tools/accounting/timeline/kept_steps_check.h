// Proves that kept steps are counted once by number: a training that kept steps 0 to 239 kept 240 of them,
// however often it was restarted and repeated steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Step numbers, both inclusive.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Ledger {
  std::int64_t kept = 0;           // as the timeline counted them, record by record
  std::vector<StepRange> kept_in;  // the first and last kept number of each training that kept any
  std::vector<StepRange> missing;  // numbers between them that were not kept
  std::vector<StepRange> twice;    // numbers that more than one start of the same training kept

  // kept = last - first + 1 of each training, each number once; true if none was kept.
  bool holds() const;
};

// For the whole run, even if the timeline was clipped to a window.
Ledger ReadLedger(const Timeline& timeline);

// "240 kept = steps 0 to 239, each once", or what exactly is wrong.
std::string InWords(const Ledger& ledger);

}  // namespace goodput
