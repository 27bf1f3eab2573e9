// The attempts of one job while they are assembled from accounting, the queue watch and imports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/runs/controller_clock.h"
#include "tools/accounting/runs/node_clock.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct Draft {
  AttemptFacts facts;
  // The watch saw its nodes boot; accounting's start is when they had booted.
  std::optional<Ns> configuring_since;
  int running_gpus = 0;               // GPUs when the watch last saw it running
  std::string running_nodes;          // its nodes then
  bool nodes_changed = false;         // the watch saw it running on other nodes before
  std::optional<Ns> suspended_since;  // the watch saw it suspended
  std::optional<Ns> resumed;          // when it last resumed
  bool in_accounting = false;
  bool state_final = false;     // the watch saw its end, not only completing
  bool end_from_look = false;   // the end is only when the watch saw it completing
  std::optional<Ns> last_seen;  // it ended between this look and its known end, with no look in between
  bool is_life = false;         // an import: the attempt is the life of its program
  std::int64_t suspended_s = 0;
};

class Drafts {
 public:
  using Map = std::map<std::int64_t, Draft>;  // by submit time, in seconds

  Draft& Of(std::int64_t submit_s);
  Map::iterator begin() { return drafts_.begin(); }
  Map::iterator end() { return drafts_.end(); }
  void Clear();

  // A job that gave nodes back has a row RESIZING, and another one whose submit time is the time of the
  // resize; joins them.
  void JoinResized();
  // Without accounting, the end of a requeued attempt is unknown: uses the submit time of the next one.
  void CloseWatched();
  void PlacePreemptions(const std::set<Ns>& preemptions);
  // Slurm's own times do not say by which clock they are; their order decides.
  void MoveOnto(const ControllerClock& clock);
  void PlaceSuspensions(Ns now);

  std::vector<AllocatedSpan> Spans() const;
  // Whether any attempt ended without a look at its end.
  bool AnyEndUnseen() const;
  // At() is called for millions of records and up to hundreds of attempts: call this once their starts are
  // settled.
  void Index();
  // The attempt of a record with this time: the last one that had started; null: none.
  AttemptFacts* At(Ns t) const;

 private:
  Map drafts_;
  std::vector<std::pair<Ns, AttemptFacts*>> started_;  // of drafts_, by start
  mutable std::size_t asked_ = 0;                      // how many had started when At was last asked of
};

}  // namespace goodput
