// The ranks that other GPUs of a run wait for (see timeline/rank_wait.h), with their nodes.
#pragma once

#include <string>
#include <vector>

#include "tools/accounting/report/report.h"

namespace goodput {

struct NamedLateRank {
  LateRank rank;
  std::string node;       // of its marks; empty: unknown
  double share = 0;       // of the run's wait for late ranks
  double most_share = 0;  // the same if all clocks agree
};

// The `most` ranks that were waited for longest; empty if nothing is known or nobody waited.
std::vector<NamedLateRank> LateRanks(const Report& report, std::size_t most);

// The node of each of RankWait::late; empty: unknown.
std::vector<std::string> NodesOfLateRanks(const Report& report);

// "12.3% of productive time waiting for the last of 16 ranks to begin a step, up to 0.840 s; 71% of it for
// rank 3 on n2 (measured in 90 of 100 kept steps)", and what would be added if the clocks of nodes agree;
// empty if even that is less than kLeastWait of productive time.
inline constexpr double kLeastWait = 0.05;
std::string RankWaitInWords(const Report& report);

// Why it is not known, of a run with kept steps; empty if it is. `always`: also if only one rank is known to
// have told of steps.
std::string WhyNoRankWait(const Report& report, bool always);

}  // namespace goodput
