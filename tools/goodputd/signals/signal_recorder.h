// Writes signals to the spool, one record each. In a storm, the first signals of a process get a record each;
// the rest of every second are one record with their count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "spank/clock.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/signals/signal_finder.h"

namespace goodput {

class SignalRecorder {
 public:
  // Number of equal signals (target, number, sender) per second with a record of their own.
  static constexpr int kOwnRecords = 10;
  static constexpr std::int64_t kWindowNs = 1'000'000'000;

  explicit SignalRecorder(StoreRecord store, Clock clock = kSystemClock)
      : store_(std::move(store)), clock_(clock) {}

  void Take(const JobSignal& signal);
  // Writes the counts of storms that ended a second ago, or of all.
  void Flush(bool all);

  std::uint64_t seen() const { return seen_; }      // signals
  std::uint64_t stored() const { return stored_; }  // those whose records were written
  std::uint64_t dropped() const { return seen_ - stored_ - held_; }

 private:
  using Key = std::tuple<pid_t, int, SignalSender, pid_t>;
  struct Burst {
    std::int64_t begin_mono_ns = 0;  // of the second
    int records = 0;
    JobSignal first;  // of those without a record of their own
    std::int64_t last_mono_ns = 0;
    std::uint64_t count = 0;
  };
  void Write(const JobSignal& signal, std::uint64_t count, std::int64_t last_mono_ns);
  void WriteBurst(Burst& burst);

  StoreRecord store_;
  Clock clock_;
  std::map<Key, Burst> bursts_;
  std::uint64_t seen_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t held_ = 0;
};

}  // namespace goodput
