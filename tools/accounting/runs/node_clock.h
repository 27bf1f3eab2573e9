// One machine's clock, judged by what it wrote: set forwards or backwards while a job ran, or apart from the
// controller's.
//
// Every record has the real time and the monotonic time of its writing. Their difference, the clock, stays
// the same until somebody sets it; so durations are always known, and only the place of all of them in time
// must be chosen: a clock the node had, or one by which the job's first record comes with an allocation,
// whichever puts most records within the job's allocations as the controller has them. If some still lie
// where they cannot (a prolog before the start, the exit of a batch script after the end), the whole is moved
// by as little as brings them in. A clock that was never the controller's is then put into the middle of what
// start and end of the allocation, which have whole seconds, leave open; what other nodes wrote of the same
// moment places it better (Align).
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// An allocation by the controller's clock, in whole seconds rounded down.
struct AllocatedSpan {
  Ns start = 0;
  std::optional<Ns> end;
  bool ended_by_itself =
      false;  // then nothing of it comes after its end; else tasks may live on for KillWait
};

// Those of a job, to be asked about each of millions of records.
class AllocatedSpans {
 public:
  AllocatedSpans(std::vector<AllocatedSpan> spans);  // NOLINT(google-explicit-constructor): they are the same
  AllocatedSpans(std::initializer_list<AllocatedSpan> spans)
      : AllocatedSpans(std::vector<AllocatedSpan>(spans)) {}

  const std::vector<AllocatedSpan>& by_start() const { return spans_; }
  bool empty() const { return spans_.empty(); }
  // True if a record of this time may be of one of them; `before_end`: what cannot outlive one that ended by
  // itself.
  bool Contain(Ns t, bool before_end) const;
  // The allocation a record is of: the one it lies in, else the nearest; null where that is far.
  const AllocatedSpan* Nearest(Ns t) const;

 private:
  // Of a span and all that started before it.
  struct Latest {
    Ns moment = 0;
    Ns outlived = 0;
    Ns strict = 0;
  };
  std::size_t StartedBy(Ns t) const;
  std::vector<AllocatedSpan> spans_;
  std::vector<Latest> latest_;
};

class NodeClock {
 public:
  // kWithin: while the job ran, or tasks outlived its end for a while; kFree: any time, such as an epilog's.
  enum class Bound { kFree, kWithin, kAfterStart, kBeforeEnd };

  // A record's real time and clock (real less monotonic time), and where it must lie.
  void Add(Ns t, Ns clock, Bound bound);
  // `shifts`: what the controller's own clock was set by meanwhile.
  void Settle(const AllocatedSpans& spans, const std::vector<Ns>& shifts = {});

  // After Settle: it was never the controller's.
  bool apart() const { return apart_ != 0; }
  // Moves all times of one that is apart, as far as the allocations allow.
  void Align(Ns by);

  // Records with another clock may be of another boot: of such a machine no time is brought onto another.
  void MayBeManyBoots() { many_boots_ = true; }

  // After that, where nothing more is added: what was is not asked for again.
  void Forget() { std::vector<Reading>().swap(readings_); }

  // The real time of a record had the clock never been set and been the controller's. Before Settle, and for
  // a clock that nothing is wrong with, it is the record's own.
  Ns Correct(Ns t, Ns clock) const;
  // One sentence each, such as "was set by +3600.0 s at ..."; `when` is by the corrected clock.
  struct Finding {
    Ns when = 0;
    std::string text;
  };
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  struct Reading {
    Ns t = 0;
    Ns clock = 0;
    Bound bound = Bound::kFree;
  };
  // Clocks that differ by so little that nobody set them: kept on time by NTP.
  struct Setting {
    Ns lowest = 0;
    Ns highest = 0;
    Ns reference() const { return lowest + (highest - lowest) / 2; }
  };

  const Setting* SettingOf(Ns clock) const;
  void FindSettings();
  std::vector<Ns> Candidates(const AllocatedSpans& spans, const std::vector<Ns>& shifts) const;
  std::pair<int, int> Score(Ns reference, const AllocatedSpans& spans) const;
  Ns BestReference(const AllocatedSpans& spans, const std::vector<Ns>& shifts) const;
  // By how much all records may move, so that each lies where it must.
  struct Room {
    Ns least = 0;
    Ns most = 0;
  };
  Room RoomIn(const AllocatedSpans& spans) const;
  static Ns Shift(const Room& room);
  Ns Apart() const;
  void Report(Ns shift);

  std::vector<Reading> readings_;
  std::vector<Setting> settings_;  // ascending
  std::optional<Ns> reference_;
  bool many_boots_ = false;
  Ns apart_ = 0;  // its own clock less the controller's, negated
  Room room_;     // for Align
  std::vector<Finding> findings_;
};

}  // namespace goodput
