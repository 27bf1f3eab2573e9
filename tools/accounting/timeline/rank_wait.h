// How long the GPUs of a run waited for the rank that was last to begin a step: a part of productive time.
//
// In synchronous training, all ranks wait in a step's first collective for the one that began the step last.
// If several ranks mark the begins of their steps, the wait of a step is
//
//   the mean over these ranks of (begin in the last rank - begin in the rank itself)
//
// without saves and other overhead in between. Only kept steps count, and not the first of a start, which
// ranks begin as they come up. A difference of at most kClocksAgree may be the clocks of two nodes, and
// counts as none. So this is a lower bound: it shows ranks that are late because of their input, their
// processor or garbage collection; if a rank's GPU is slow, all ranks still begin the next step together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/kept_steps.h"

namespace goodput {

// A rank that was last in some steps.
struct LateRank {
  int attempt = 0;
  Teller task;
  EvidenceRef ref;         // a mark of it
  std::int64_t steps = 0;  // in which it was last
  Ns wait = 0;             // of a GPU, in these
};

struct RankWait {
  std::size_t ranks = 0;        // that reported steps, of the start with most
  std::int64_t late_steps = 0;  // kept steps whose ranks differed
  Ns longest = 0;               // from the first rank's begin of a step to the last rank's
  std::vector<Ns> of_start;     // by incarnation: the wait of a GPU
  std::vector<LateRank> late;   // by wait, longest first
};

// `programs` and `fates` correspond; `sources`: RunFacts::sources. Absent: no step was reported by two ranks;
// or the ranks of a start do not train in step, since more than 5 % of their marks came after another rank
// had begun the next step; or a late step is known from output, whose time is when it was read or printed.
std::optional<RankWait> MeasureRankWait(const std::vector<const IncarnationFacts*>& programs,
                                        const std::vector<StepOutcome>& fates,
                                        const std::vector<EvidenceSource>& sources);

}  // namespace goodput
