// Removes impossible facts, which come from clocks, files and other programs, so that later arithmetic cannot
// overflow.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spank/event.h"  // kMaxTrainStep
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Times are within [0, kLatest), the years 1970 to 2116, so that differences of two do not overflow.
inline constexpr Ns kLatest = Ns{1} << 62;

// Null if everything is plausible, so that the usual case copies nothing; otherwise the facts without
// impossible ones, and a warning with their number.
std::shared_ptr<const RunFacts> WithoutTheImpossible(const RunFacts& facts,
                                                     std::vector<std::string>& warnings);

// value x factor, at most kLatest; both must not be negative.
Ns TimesAtMost(Ns value, std::int64_t factor);

}  // namespace goodput
