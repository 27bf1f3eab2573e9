// Corrects the clock of one machine, judged by its records: it was set while a job ran, or differs from the
// controller's.
//
// Every record has the real and the monotonic time of its writing. Their difference, called the clock here,
// is constant until the real time is set. So durations are always known, and only one shift for all records
// must be found: it is a clock that the node had, or one that places the job's first record into an
// allocation, whichever puts most records within the job's allocations. If some records still lie where they
// cannot (a prolog before the start, the exit of a batch script after the end), all are moved by the least
// amount that corrects this. A clock that never agreed with the controller's is then placed in the middle of
// what the whole seconds of the allocation's start and end leave open; records of other nodes about the same
// moment place it better (Align).
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
  // Then no record comes after its end; otherwise tasks may live on for KillWait.
  bool ended_by_itself = false;
};

// The allocations of a job, indexed for queries about millions of records.
class AllocatedSpans {
 public:
  AllocatedSpans(std::vector<AllocatedSpan> spans);  // NOLINT(google-explicit-constructor): they are the same
  AllocatedSpans(std::initializer_list<AllocatedSpan> spans)
      : AllocatedSpans(std::vector<AllocatedSpan>(spans)) {}

  const std::vector<AllocatedSpan>& by_start() const { return spans_; }
  bool empty() const { return spans_.empty(); }
  // Whether a record with this time can belong to one of them. `before_end`: for records that cannot outlive
  // an allocation that ended by itself.
  bool Contain(Ns t, bool before_end) const;
  // The allocation of a record: the one it lies in, or the nearest; null if that is too far away.
  const AllocatedSpan* Nearest(Ns t) const;

 private:
  // Of a span and all spans that started before it.
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
  // kWithin: while the job ran, or shortly after, since tasks may outlive it; kFree: any time, such as an
  // epilog's.
  enum class Bound { kFree, kWithin, kAfterStart, kBeforeEnd };

  // Adds a record's real time and clock (real minus monotonic time), and where it must lie.
  void Add(Ns t, Ns clock, Bound bound);
  // `shifts`: by how much the controller's own clock was set meanwhile.
  void Settle(const AllocatedSpans& spans, const std::vector<Ns>& shifts = {});

  // After Settle: whether the clock never agreed with the controller's.
  bool apart() const { return apart_ != 0; }
  // Moves all times of a clock that is apart, as far as the allocations allow.
  void Align(Ns by);

  // Records with another clock may belong to another boot; times of such a machine are not converted.
  void MayBeManyBoots() { many_boots_ = true; }

  // Frees the readings. Call once nothing more is added.
  void Forget() { std::vector<Reading>().swap(readings_); }

  // The real time that a record would have if the clock had never been set and had agreed with the
  // controller's. Before Settle, and for a correct clock, it is the record's own.
  Ns Correct(Ns t, Ns clock) const;
  // One sentence each, such as "was set by +3600.0 s"; `when` is by the corrected clock.
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
  // Clocks that differ so little that they were not set, only kept on time by NTP.
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
  // By how much all records may move so that each lies where it must.
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
  Ns apart_ = 0;  // the controller's clock minus its own
  Room room_;     // for Align
  std::vector<Finding> findings_;
};

}  // namespace goodput
