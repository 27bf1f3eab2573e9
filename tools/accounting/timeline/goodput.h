// ML Productivity Goodput of a timeline, and other published definitions of goodput, each under its own name.
//
// With bucket names standing for GPU-seconds (seconds if a run has no GPUs), and waiting weighted by the
// requested GPUs:
//
//   T  = all buckets - hold
//   A  = productive + at_risk + launch + startup + checkpoint_save + overhead + stall + lost_work + drain
//      + teardown + unobserved.allocated
//
//   scheduling = A / T;  runtime = productive / A;  sg_rg = productive / T
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/gpu_use.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// The weight of an interval: the GPUs that its attempt had at that time; without an attempt, those of the
// nearest one.
class GpuWeights {
 public:
  explicit GpuWeights(const Timeline& timeline);
  // False: the run has no GPUs, and all weights are 1.
  bool has_gpus() const { return has_gpus_; }
  GpuNs operator()(int attempt, Ns begin, Ns end) const;

  // The GPU time of [begin, end) of an interval by bucket (see world.h): first that of the interval's own
  // bucket, then those that are not 0.
  struct Share {
    Bucket bucket = Bucket::kUnobserved;
    GpuNs gpu_ns = 0;
  };
  class Shares {
   public:
    void Add(Bucket bucket, GpuNs gpu_ns) { shares_.at(size_++) = {bucket, gpu_ns}; }
    const Share* begin() const { return shares_.data(); }
    const Share* end() const { return shares_.data() + size_; }
    const Share& own() const { return shares_.front(); }

   private:
    std::array<Share, 4> shares_{};
    std::size_t size_ = 0;
  };
  Shares Split(const Interval& interval, Ns begin, Ns end) const;
  // Of a part of a start of the program: that of the GPUs that step.
  GpuNs Stepping(int attempt, Ns begin, Ns end) const;
  // The mean of these GPUs over the steps of a start: an attempt may be resized, a program elastic. 0: no
  // steps.
  double MeanStepping(const Incarnation& start) const;

 private:
  // In GPU-nanoseconds.
  struct Sums {
    GpuNs stepping = 0;
    GpuNs standby = 0;
    GpuNs idle_member = 0;
    GpuNs missing = 0;
  };
  Sums SumShares(int attempt, Ns begin, Ns end) const;

  std::vector<const AttemptFacts*> facts_;
  std::vector<std::vector<WorldSpan>> worlds_;  // by attempt
  bool has_gpus_ = false;
};

struct BucketTotal {
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // only set in `parts`
  Ns ns = 0;         // 0 for standby, idle_member and missing
  GpuNs gpu_ns = 0;
  Evidence evidence = Evidence::kMark;  // the weakest of its intervals
  std::vector<BucketTotal> parts;
};

using Range = std::pair<double, double>;

// Fractions 0..1; absent if the evidence does not suffice.
struct Goodput {
  std::optional<double> scheduling;
  std::optional<double> runtime;
  std::optional<double> program;  // TakeProgramGoodput sets these two
  std::optional<double> mpg;
  std::optional<double> sg_rg;
  std::optional<double> scheduling_after_start;  // without the wait before the first start
  std::optional<Range> scheduling_range;         // if the allocation itself is unknown for a while
  std::optional<Range> runtime_range;            // if steps are at risk or time is unobserved
};

// Published definitions of runtime goodput.
struct Definitions {
  // Runtime goodput in Google's definition of ML Productivity Goodput: Goodput::runtime. MPG always means the
  // product.
  std::optional<double> rg;
  // Google's goodput library: productive wall time minus the first steps' excess, over the wall time since
  // the first start.
  std::optional<double> google_api;
  // (I - t_ch) / (I + t_re + t_rm). I is the mean time between complete checkpoints; the t's are means over
  // interruptions.
  std::optional<double> google_interval;
  // NVIDIA Cluster Readiness Engine: max(0, (t_w - t_ch - t_rm - t_re - t_save) / (t_w - t_re)).
  std::optional<double> nvcre;
  // Effective training time ratio (arXiv 2410.21680): productive over wall time, queue included.
  std::optional<double> ettr;
  // The same over the last hour of wall time.
  std::optional<double> ettr_1h;
  // NVIDIA Lens, the product of the next three (see lens.h); app_p05: lens_app with the 5 % quantile of step
  // durations instead of the shortest.
  std::optional<double> lens;
  std::optional<double> lens_scheduling;
  std::optional<double> lens_runtime;
  std::optional<double> lens_app;
  std::optional<double> app_p05;
};

// What the definition of NVIDIA Lens is made of (see lens.h), in GPU-nanoseconds.
struct Lens {
  Ns best = 0;  // of one step
  Ns p05 = 0;
  GpuNs total = 0;
  GpuNs scheduling = 0;
  GpuNs good = 0;
  GpuNs good_p05 = 0;
  GpuNs productive = 0;
  GpuNs other_app = 0;  // compilation and overhead
  GpuNs wait_before = 0;
  GpuNs hold_before = 0;
  // What kept steps took beyond the best one, if they were the first of a start or followed a save; absent:
  // of so many steps, those that followed a save are not known.
  GpuNs first_step = 0;
  std::optional<GpuNs> after_checkpoint;

  // The other two parts of productive time; all four add up to it.
  GpuNs at_best() const { return std::min(good, productive); }
  GpuNs slower() const {
    return std::max<GpuNs>(0, productive - at_best() - first_step - after_checkpoint.value_or(0));
  }
};

struct NvcreTimes {
  double t_w = 0;
  double t_ch = 0;
  double t_re = 0;
  double t_rm = 0;
  double t_save = 0;
};
std::optional<double> NvcreGoodput(const NvcreTimes& times);

// GPU time in which others waited for a rank.
struct GpuWait {
  GpuNs wait = 0;
  GpuNs most = 0;  // if all clocks agree

  void Add(const GpuWait& other) {
    wait += other.wait;
    most += other.most;
  }
};
// Of each of RankWait::steps; empty if there is no RankWait.
std::vector<GpuWait> WaitsOfGpus(const Timeline& timeline, const GpuWeights& weights);

struct Account {
  // All of them, in report order, including zeros; ns sums to the wall time.
  std::vector<BucketTotal> buckets;
  Goodput goodput;
  Definitions definitions;
  std::optional<Lens> lens;
  // The part of productive time in which GPUs waited for the last rank to begin a step (see rank_wait.h), and
  // the same if all clocks agree.
  std::optional<GpuWait> rank_wait;
  // What the GPUs did, if nodes measured it (see gpu_use.h).
  std::optional<GpuUse> gpu_use;
  int gpus = 0;           // of the last attempt
  bool has_gpus = false;  // false: weights are 1
};

Account TakeAccount(const Timeline& timeline);

// Sets Program Goodput, which is model FLOP utilisation: the FLOPs of the kept steps over the peak FLOPs of
// the productive GPU time; and mpg, the same over all wanted time. `flops_per_step` is of the whole job,
// `peak_flops` FLOP/s of one GPU. Returns "", or the reason if it cannot be computed.
std::string TakeProgramGoodput(const StepCounts& steps, double flops_per_step, double peak_flops,
                               Account& account);

}  // namespace goodput
