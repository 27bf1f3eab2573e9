// What the GPUs of an attempt did over time, added up over its nodes: how busy they were and what energy they
// took. Nodes report spans (see SPOOL_FORMAT.md, gpu_use); here they are sums over pieces of time, at most
// kMostPieces of them, however many nodes and samples there were.
//
// A span is spread evenly over its time, in whole numbers: what a piece gets of it is what it has up to the
// piece's end, rounded down, less what it has up to the piece's begin. So pieces that touch add up to the
// whole exactly, and doubling the length of the pieces changes no sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "tools/base/time.h"

namespace goodput {

// Of some GPUs and some time, in GPU-nanoseconds. What was not measured is in none of the sums.
struct GpuUseSum {
  GpuNs measured = 0;   // something of them was measured
  GpuNs busy_of = 0;    // it is known how busy they were
  GpuNs busy = 0;       // of this, as much as they were busy: the time, times the share
  GpuNs tensor_of = 0;  // it is known how active their tensor cores were
  GpuNs tensor = 0;
  GpuNs energy_of = 0;  // the energy is known
  GpuNs energy_mj = 0;  // millijoules

  void Add(const GpuUseSum& other);
};

// `gpus` GPUs of one node in [begin, end).
struct GpuUseSpan {
  static constexpr std::int64_t kWhole = 10'000;
  Ns begin = 0;
  Ns end = 0;
  std::int64_t gpus = 0;
  std::optional<std::int64_t> busy;    // the mean over them, of kWhole
  std::optional<std::int64_t> tensor;  // likewise
  std::optional<std::int64_t> energy_mj;
};

class GpuUseSeries {
 public:
  static constexpr std::size_t kMostPieces = 1 << 16;

  // A span that is impossible (no GPUs, a share above 1, more than a day) is left out.
  void Add(const GpuUseSpan& span);
  void Add(const GpuUseSeries& other);
  // The largest memory of one GPU that was used, of so much.
  void SeeMemory(std::int64_t used_mib, std::optional<std::int64_t> of_mib);
  // How busy they were is what the driver says at a moment, not DCGM's mean: DCGM_FI_DEV_GPU_UTIL.
  void BusyByDriver() { by_driver_ = true; }

  bool empty() const { return pieces_.empty() && memory_mib_ == 0; }
  // Of [begin, end).
  GpuUseSum Sum(Ns begin, Ns end) const;
  std::int64_t memory_mib() const { return memory_mib_; }  // 0: unknown
  std::optional<std::int64_t> memory_of_mib() const { return memory_of_mib_; }
  bool by_driver() const { return by_driver_; }

 private:
  void AddSum(const GpuUseSum& sum, Ns begin, Ns end);
  void DoubleLength();

  Ns length_ = kSecond;                       // of a piece
  std::map<std::int64_t, GpuUseSum> pieces_;  // by begin, in lengths
  std::int64_t memory_mib_ = 0;
  std::optional<std::int64_t> memory_of_mib_;
  bool by_driver_ = false;
};

}  // namespace goodput
