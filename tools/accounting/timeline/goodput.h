// ML Productivity Goodput of a timeline, and what others call goodput, each under its own name.
//
// With bucket names standing for GPU-seconds (seconds where a run has no GPUs), waiting weighted by the GPUs
// asked for:
//   T  = all buckets - hold
//   A  = productive + at_risk + launch + startup + checkpoint_save + overhead + stall + lost_work + drain +
//   teardown
//        + unobserved.allocated
//   scheduling = A / T;  runtime = productive / A;  sg_rg = productive / T
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// GPU-nanoseconds: 16,384 GPUs for 54 days are more than 64 bits hold.
__extension__ using GpuNs = __int128;

// What a stretch of a timeline weighs: the GPUs its attempt had at the time, or where no attempt is named
// those of the nearest.
class GpuWeights {
 public:
  explicit GpuWeights(const Timeline& timeline);
  // False: the run has none, and its weights are 1.
  bool has_gpus() const { return has_gpus_; }
  GpuNs operator()(int attempt, Ns begin, Ns end) const;

 private:
  std::vector<const AttemptFacts*> facts_;
  bool has_gpus_ = false;
};

struct BucketTotal {
  Bucket bucket = Bucket::kUnobserved;
  std::string part;  // set in `parts` only
  Ns ns = 0;
  GpuNs gpu_ns = 0;
  Evidence evidence = Evidence::kMark;  // the weakest of its intervals
  std::vector<BucketTotal> parts;
};

using Range = std::pair<double, double>;

// Fractions 0..1; absent where the evidence does not carry them.
struct Goodput {
  std::optional<double> scheduling;
  std::optional<double> runtime;
  std::optional<double> program;  // TakeProgramGoodput fills in these two
  std::optional<double> mpg;
  std::optional<double> sg_rg;
  std::optional<double> scheduling_after_start;  // leaving out the wait before the first start
  std::optional<Range> scheduling_range;         // where allocation itself is unknown for a while
  std::optional<Range> runtime_range;            // where steps are at risk or time is unobserved
};

// Published definitions of runtime goodput.
struct Definitions {
  // Runtime goodput as Google defines ML Productivity Goodput: Goodput::runtime. MPG itself is the product
  // alone.
  std::optional<double> rg;
  // Google's goodput library: productive wall time less the first steps' excess, over wall time since the
  // first start.
  std::optional<double> google_api;
  // (I - t_ch) / (I + t_re + t_rm), I the mean time between complete checkpoints, the t's means over
  // interruptions.
  std::optional<double> google_interval;
  // NVIDIA Cluster Readiness Engine: max(0, (t_w - t_ch - t_rm - t_re - t_save) / (t_w - t_re)).
  std::optional<double> nvcre;
  // Effective training time ratio (arXiv 2410.21680): productive over wall time, queue included.
  std::optional<double> ettr;
  // The same over the last hour of wall time.
  std::optional<double> ettr_1h;
};

struct NvcreTimes {
  double t_w = 0;
  double t_ch = 0;
  double t_re = 0;
  double t_rm = 0;
  double t_save = 0;
};
std::optional<double> NvcreGoodput(const NvcreTimes& times);

struct Account {
  std::vector<BucketTotal> buckets;  // all of them, in report order, zeros included; ns sums to the wall time
  Goodput goodput;
  Definitions definitions;
  int gpus = 0;           // of the last attempt
  bool has_gpus = false;  // false: weights are 1
};

Account TakeAccount(const Timeline& timeline);

// Program Goodput, which is model FLOP utilisation: what the kept steps took over what the productive GPUs
// could have done in that time; and mpg, what they took over all that was wanted. `flops_per_step` is of the
// whole job, `peak_flops` FLOP/s of one GPU. Returns why not, in words, where it cannot be; else an empty
// string.
std::string TakeProgramGoodput(const StepCounts& steps, double flops_per_step, double peak_flops,
                               Account& account);

}  // namespace goodput
