// How many hot spares are worth their GPUs: the model, on plain numbers, and the plan for one run. Pure.
//
// A run trains on N nodes and holds k more. While it trains, nodes are lost as a Poisson process of rate r
// (of the whole run, per second of training). A lost node is replaced after R seconds on average, whatever
// their distribution: by then the run has a spare again. If a spare is left, it takes over after P seconds;
// if none is, the run waits for the next replacement. While it waits, it loses no further node.
//
// The number of nodes being replaced is then the number of busy lines of Erlang's loss system with k + 1
// lines and the load a = r R (A. K. Erlang, "Solution of some problems in the theory of probabilities of
// significance in automatic telephone exchanges", 1917; that only the mean of R counts is B. A. Sevastyanov's
// theorem, 1957). The run waits if all k + 1 are being replaced, which is the share B(k + 1, a) of the time:
//
//   B(0, a) = 1,  B(n, a) = a B(n - 1, a) / (n + a B(n - 1, a))
//
// Of the losses, which happen while at most k are being replaced, the share B(k, a) finds no spare. So a
// second of training takes
//
//   w(k) = 1 / (1 - B(k + 1, a)) + r P (1 - B(k, a))   seconds, and
//   C(k) = (N + k) w(k)                                node-seconds,
//
// in the unit of MPG: waiting weighs the GPUs that the run wants, and a spare is wanted all the time. The k
// with the least C(k) is the best; N / C(k) is the share of the wanted GPU time in which the run trains, as
// far as lost nodes decide it. Pre-allocated spares, and a closed form for how many, are also what Meta
// describes ("Sparing Strategies to Minimize Reliability Impact On Large Training Jobs", MLSys 2026).
// Google recommends to swap lost machines for spare capacity, without a formula
// (https://cloud.google.com/blog/
// products/ai-machine-learning/elastic-training-and-optimized-checkpointing-improve-ml-goodput).
//
// What is the same with and without a spare cancels out and is not in it: noticing the loss, restoring and
// recomputing what was lost. Assumed: nodes fail one at a time and at a constant rate, and no spare while it
// is idle; the program can go on with a spare in its allocation (--no-kill, or in-process restart); R
// is the time in which the run got new resources after such losses so far.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace goodput {

// Erlang's B(n, a): n lines (0 and up), load a (0 and up).
double ErlangLoss(int lines, double load);

struct SpareModel {
  int nodes = 1;         // N, at least 1
  double rate = 0;       // r, per second of training
  double replace_s = 0;  // R
  double promote_s = 0;  // P
};

// C(k) / N: GPU time that the run wants for a second of training of one GPU. At least 1.
double GpuTimePerTraining(const SpareModel& model, int spares);

// The k up to kMostSpares and N with the least GPU time; of equal ones the smallest.
int BestSpares(const SpareModel& model);
inline constexpr int kMostSpares = 64;

// What a run says about this.
struct SpareEvidence {
  std::int64_t losses = 0;        // of nodes, that a spare could have replaced
  std::int64_t of_several = 0;    // of these, how many took more than one node at once
  double up_s = 0;                // time with all resources up
  std::int64_t replacements = 0;  // losses after which the run had resources again
  double replace_s = 0;           // the sum of the times until then
  double promote_s = 0;           // the mean time from resources to the program's start
  int nodes = 0;                  // of its last attempt; 0: unknown
  double gpus_of_node = 0;
  std::int64_t declared = 0;  // spare GPUs that it holds already
};

struct SparePlan {
  std::string unknown;  // why nothing can be said, in words; empty: the rest is set
  SpareModel model;     // the estimate
  // 90 % confidence intervals: of the rate by the number of losses (mttf.h), of R by the number of
  // replacements, as if it were exponential, which is wider than what is usual for waits.
  std::array<double, 2> rate_range{};
  std::array<double, 2> replace_range{};
  int best = 0;
  // The best number if rate and R are both at the low end, or both at the high end of their intervals.
  std::array<int, 2> range{};
  std::vector<double> cost;  // GpuTimePerTraining() of 0 to best + 2 spares
  // GPU-hours that `best` saves per day of training, beside none.
  double gpu_hours_saved = 0;
  double gain = 0;  // the same as a share of what the run wants without spares

  // Whether at least one spare pays even at the low end.
  bool pays() const { return unknown.empty() && range[0] > 0; }
};

// Fewer losses, or fewer replacements, say too little.
inline constexpr std::int64_t kEnoughLosses = 5;
inline constexpr std::int64_t kEnoughReplacements = 3;

SparePlan PlanSpares(const SpareEvidence& evidence);

}  // namespace goodput
