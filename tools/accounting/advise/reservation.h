// What a reservation instead of spot or flex-start machines would have changed in Scheduling Goodput, as a
// range, from the waits that were seen. Pure.
//
// The low end is what is certain to be a lack of machines: waits after stockouts, without provisioning, since
// reserved machines boot, too. The high end adds what a reservation can at most save of the rest: the queue
// for resources, provisioning, and Slurm's back-off after the cloud reclaimed a machine or had none. A
// reservation does not change waits by priority, held jobs, gaps between jobs and quotas. What else would
// have been different (lost work, the price, whether there was a reservation to be had) is not in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/accounting/rollup/rollup.h"

namespace goodput {

struct ReservationEffect {
  std::string instead_of;        // "spot", "flex-start", "spot and flex-start"; empty: the run used neither
  std::string unknown;           // why no range is given; empty: the rest is set
  std::int64_t allocations = 0;  // on such machines
  GpuNs stockouts = 0;           // the low end, as GPU time
  GpuNs waits = 0;               // the high end
  GpuNs wanted = 0;              // by the run
  double scheduling = 0;         // Scheduling Goodput of the run
  std::array<double, 2> with_reservation{};

  bool known() const { return !instead_of.empty() && unknown.empty(); }
};

// Fewer allocations on such machines say too little.
inline constexpr std::int64_t kEnoughAllocations = 3;

ReservationEffect EffectOfReservation(const RollupSubject& subject, const Timeline& timeline);

}  // namespace goodput
