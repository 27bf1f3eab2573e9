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
//
// Not every step of every rank is told. Of each start,
// - a rank trains in step if it marked at least 9 of 10 of the steps, from its first to its last, that two
//   ranks marked, and at most 1 in 20 of its marks came after another rank had begun the next step. Others
//   (which mark only some steps, evaluate, or train alone) are left out;
// - a step is measured if at least 9 of 10 of the ranks in step marked it in time, and at least two, none of
//   them as its first (it came up, or replaced another), and none out of order. A rank that does not step,
//   such as a hot spare, marks nothing and is not waited for.
// Steps that are not measured add no wait.
//
// Clocks. Begins alone cannot tell a node that is always late by the same time from a node whose clock is
// behind. What the first rank of a node is usually (in the median step) late by is therefore in doubt, if it
// is more than kClocksAgree. `most` counts it; `wait` is the less of what is waited with and without it, and
// 0 if another rank would be the last. Ends of steps decide, if the ranks mark them: ranks end a step
// together, so that what a node usually ends its steps later by is its clock, and nothing is in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::int64_t steps = 0;  // in which it was last, whatever the clocks are
  Ns wait = 0;             // of a GPU, in these
  Ns most = 0;             // the same if all clocks agree
};

// A step that was waited in.
struct LateStep {
  Ns t = 0;               // when the first rank began it
  std::size_t start = 0;  // incarnation
  std::size_t rank = 0;   // of RankWait::late; if the clocks decide who was last, the last if they agree
  Ns wait = 0;            // of a GPU; 0 if the clocks decide who was last
  Ns most = 0;            // the same if all clocks agree
  Ns spread = 0;          // from the first rank's begin to the last rank's, with `wait`
};

// A node whose ranks begin each step late by about the same time: its clock, or a node that is always late.
struct ClockDoubt {
  int attempt = 0;
  Teller task;      // one of its ranks
  EvidenceRef ref;  // a mark of it
  Ns behind = 0;
};

struct RankWait {
  std::size_t ranks = 0;     // in step, of the start with most
  std::size_t left_out = 0;  // that marked steps, but not in step, of the start with most
  std::vector<Ns> measured;  // when each measured step began; ascending
  // Kept steps of the run; absent if this is of a part of a run.
  std::optional<std::int64_t> kept;
  std::vector<LateStep> steps;  // by time
  std::vector<LateRank> late;   // by wait, then by `most`, longest first
  std::vector<ClockDoubt> doubts;

  std::int64_t late_steps() const;  // measured steps with a wait
  Ns longest() const;               // the longest spread; 0: none
  // Sums up `late` from `steps`.
  void Settle();
};

// Keeps the steps of a part of a run: none of it if none of them was measured, with the reason.
void KeepWaits(const std::function<bool(Ns t)>& keep, std::optional<RankWait>& wait, std::string& why);

struct RankWaitOrWhy {
  std::optional<RankWait> wait;
  std::size_t ranks = 0;  // that marked steps, of the start with most
  std::string why;        // there is none, in words
};

// `programs` and `fates` correspond; `attempts`: by Incarnation::attempt; `facts`: their sources, and whether
// clocks differed. RankWait::kept is not set. None if no step was measured, as of steps that are known from
// output, whose times are those of reading it; lines with a label and a time of their own do tell, since a
// rank begins a step when its line says that the one before is done.
RankWaitOrWhy MeasureRankWait(const std::vector<const IncarnationFacts*>& programs,
                              const std::vector<StepOutcome>& fates,
                              const std::vector<const AttemptFacts*>& attempts, const RunFacts& facts);

}  // namespace goodput
