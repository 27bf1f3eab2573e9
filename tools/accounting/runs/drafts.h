// The attempts of one job while they are put together from what accounting, the controller's watch and an
// import say of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tools/accounting/runs/controller_clock.h"
#include "tools/accounting/runs/node_clock.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct Draft {
  AttemptFacts facts;
  std::optional<Ns> configuring_since;  // the watch saw its nodes boot; accounting's start is when they had
  int running_gpus = 0;                 // that the watch last saw it run with
  std::optional<Ns> suspended_since;    // the watch saw it suspended
  std::optional<Ns> resumed;            // and last resumed then
  bool in_accounting = false;
  bool state_final = false;     // the watch saw it over, not merely completing
  std::optional<Ns> last_seen;  // it ended between then and its end as far as that is known: nobody looked
  bool is_life = false;         // an import: it is the life of its program
  std::int64_t suspended_s = 0;
};

class Drafts {
 public:
  using Map = std::map<std::int64_t, Draft>;  // by submit time, in seconds

  Draft& Of(std::int64_t submit_s);
  Map::iterator begin() { return drafts_.begin(); }
  Map::iterator end() { return drafts_.end(); }
  void Clear();

  // A job that gave nodes back has a row RESIZING, and a next one with the moment of that as its submit time.
  void JoinResized();
  // Without accounting nobody says when a requeued attempt ended: it was when the next one was submitted.
  void CloseWatched();
  void PlacePreemptions(const std::set<Ns>& preemptions);
  // What Slurm itself told does not say by which clock; what is before what does.
  void MoveOnto(const ControllerClock& clock);
  void PlaceSuspensions(Ns now);

  std::vector<AllocatedSpan> Spans() const;
  // Whether one of them ended while nobody looked.
  bool AnyEndUnseen() const;
  // Millions of records ask At, of up to hundreds of attempts: call this once their starts are settled.
  void Index();
  // The attempt a record of that time is of: of those that had started by then the last; null: none.
  AttemptFacts* At(Ns t) const;

 private:
  Map drafts_;
  std::vector<std::pair<Ns, AttemptFacts*>> started_;  // of drafts_, by start
  mutable std::size_t asked_ = 0;                      // how many had started when At was last asked of
};

}  // namespace goodput
