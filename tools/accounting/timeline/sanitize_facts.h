// Facts come from clocks, files and other people's programs. What cannot be true is left out before anything
// is concluded from it, so that the arithmetic behind it needs no care.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Times are within [0, kLatest), the years 1970 to 2116: no difference of two overflows.
inline constexpr Ns kLatest = Ns{1} << 62;
// Step numbers are within [0, kMaxTrainStep], what every JSON reader can hold.
inline constexpr std::int64_t kMaxTrainStep = std::int64_t{1} << 53;

// Null when everything is plausible, so that the usual case copies nothing; else the facts without what is
// not, and a warning that says how much that was.
std::shared_ptr<const RunFacts> WithoutTheImpossible(const RunFacts& facts,
                                                     std::vector<std::string>& warnings);

// value x factor, at most kLatest; both must not be negative.
Ns TimesAtMost(Ns value, std::int64_t factor);

}  // namespace goodput
