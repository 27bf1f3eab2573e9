// How many hot spares pay: by hand, and beside a simulation of the run.
#include "tools/accounting/advise/spares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <vector>

namespace goodput {
namespace {

TEST(ErlangLoss, IsWhatItIsByHand) {
  // a = 1/2: 1, a/(1+a), (a^2/2)/(1+a+a^2/2), ...
  EXPECT_DOUBLE_EQ(ErlangLoss(0, 0.5), 1);
  EXPECT_DOUBLE_EQ(ErlangLoss(1, 0.5), 1.0 / 3);
  EXPECT_DOUBLE_EQ(ErlangLoss(2, 0.5), 1.0 / 13);
  EXPECT_DOUBLE_EQ(ErlangLoss(3, 0.5), 1.0 / 79);
  EXPECT_DOUBLE_EQ(ErlangLoss(3, 0), 0);
  // From tables: 10 lines, 5 erlang.
  EXPECT_NEAR(ErlangLoss(10, 5), 0.018385, 1e-6);
}

TEST(Spares, CostIsWhatItIsByHand) {
  // A node is lost every 2 hours of training and replaced after 1: a = 1/2. Without spares, 2 h of training
  // are followed by 1 h of waiting.
  SpareModel model{10, 1.0 / 7200, 3600, 0};
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 0), 1.5);
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 1), 1.1 * 13 / 12);
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 2), 1.2 * 79 / 78);
  EXPECT_EQ(BestSpares(model), 1);
  // 36 s to promote, every 7200 s: without spares nothing is promoted, with one 2 of 3 losses find it.
  model.promote_s = 36;
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 0), 1.5);
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 1), 1.1 * (13.0 / 12 + 0.005 * 2 / 3));
  // The more nodes, the less a spare costs; on two nodes, it is half of what trains.
  model.nodes = 1000;
  EXPECT_EQ(BestSpares(model), 4);
  model.nodes = 2;
  EXPECT_EQ(BestSpares(model), 0) << "1.5 * (13/12 + ...) is more than 1.5";
  model.rate = 0;
  model.nodes = 1000;
  EXPECT_EQ(BestSpares(model), 0) << "nothing fails";
  EXPECT_DOUBLE_EQ(GpuTimePerTraining(model, 0), 1);
}

// Node-seconds for each second of training, of `losses` lost nodes: each waits for its own replacement.
double Simulate(const SpareModel& model, int spares, int losses, bool exponential, std::mt19937_64& random) {
  std::exponential_distribution<double> next_loss(model.rate);
  std::exponential_distribution<double> wait(1 / model.replace_s);
  std::priority_queue<double, std::vector<double>, std::greater<>> replaced;
  double now = 0;
  double trained = 0;
  for (int i = 0; i < losses; ++i) {
    const double trains = next_loss(random);
    trained += trains;
    now += trains;
    while (!replaced.empty() && replaced.top() <= now) replaced.pop();
    const bool spare_left = static_cast<int>(replaced.size()) < spares;
    replaced.push(now + (exponential ? wait(random) : model.replace_s));
    if (spare_left) {
      now += model.promote_s;
    } else {
      now = std::max(now, replaced.top());
      replaced.pop();
    }
  }
  return (1 + static_cast<double>(spares) / model.nodes) * now / trained;
}

TEST(Spares, TheAdvisedNumberIsTheCheapestOfASimulation) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr int kLosses = 40'000;
  for (int round = 0; round < 24; ++round) {
    SpareModel model;
    model.nodes = 2 + static_cast<int>(uniform(random) * uniform(random) * 500);
    model.rate = 1 / (1800 + uniform(random) * 80'000);
    model.replace_s = 300 + uniform(random) * 20'000;
    model.promote_s = uniform(random) * 60;
    const int best = BestSpares(model);
    const bool exponential = round % 2 == 0;  // only the mean counts
    std::vector<double> simulated;
    for (int spares = 0; spares <= best + 3; ++spares)
      simulated.push_back(Simulate(model, spares, kLosses, exponential, random));
    for (int spares = 0; spares <= best + 3; ++spares) {
      const double by_formula = GpuTimePerTraining(model, spares);
      // The formula neglects that replacements go on while a spare is promoted.
      EXPECT_NEAR(simulated[static_cast<std::size_t>(spares)] / by_formula, 1, 0.02)
          << "round " << round << ", " << spares << " spares";
    }
    const double least = *std::min_element(simulated.begin(), simulated.end());
    EXPECT_LE(simulated[static_cast<std::size_t>(best)], least * 1.01) << "round " << round;
  }
}

// 20 losses in 400 hours on 64 nodes of 8 GPUs, each replaced after 3 hours.
SpareEvidence Enough() {
  SpareEvidence evidence;
  evidence.losses = 20;
  evidence.up_s = 400 * 3600.0;
  evidence.replacements = 20;
  evidence.replace_s = 20 * 3 * 3600.0;
  evidence.promote_s = 30;
  evidence.nodes = 64;
  evidence.gpus_of_node = 8;
  return evidence;
}

TEST(Spares, PlanOfARun) {
  const SparePlan plan = PlanSpares(Enough());
  ASSERT_EQ(plan.unknown, "");
  // a = 3/20: B(1) = 3/23; B(2) = (a^2/2)/(1 + a + a^2/2) = 0.01125/1.16125.
  EXPECT_NEAR(plan.cost[0], 1.15, 1e-12);
  const double promoting = 30.0 / 72'000;
  EXPECT_NEAR(plan.cost[1], 65.0 / 64 * (1.16125 / 1.15 + promoting * 20 / 23), 1e-12);
  EXPECT_EQ(plan.best, 1);
  EXPECT_NEAR(plan.gpu_hours_saved, (plan.cost[0] - plan.cost[1]) * 24 * 512, 1e-9);
  EXPECT_NEAR(plan.gain, 1 - plan.cost[1] / 1.15, 1e-12);
  EXPECT_LE(plan.range[0], plan.best);
  EXPECT_GE(plan.range[1], plan.best);
  EXPECT_TRUE(plan.pays());
  EXPECT_LT(plan.rate_range[0], plan.model.rate);
  EXPECT_GT(plan.rate_range[1], plan.model.rate);
  EXPECT_EQ(plan.cost.size(), 4U);
}

TEST(Spares, TooLittleEvidenceIsNoAdvice) {
  SpareEvidence evidence = Enough();
  evidence.losses = kEnoughLosses - 1;
  EXPECT_EQ(PlanSpares(evidence).unknown, "it lost nodes 4 times, and fewer than 5 times say too little");
  EXPECT_FALSE(PlanSpares(evidence).pays());
  evidence = Enough();
  evidence.replacements = 2;
  EXPECT_NE(PlanSpares(evidence).unknown.find("after 2 of its losses"), std::string::npos);
  evidence = Enough();
  evidence.declared = 8;
  EXPECT_NE(PlanSpares(evidence).unknown.find("holds 8 spare GPUs already"), std::string::npos);
  evidence = Enough();
  evidence.gpus_of_node = 0;
  EXPECT_FALSE(PlanSpares(evidence).pays());
  // One would pay, but five losses also fit a rate at which none does.
  evidence = Enough();
  evidence.losses = 5;
  evidence.replacements = 5;
  evidence.replace_s = 5 * 3 * 3600.0;
  const SparePlan unsure = PlanSpares(evidence);
  EXPECT_EQ(unsure.unknown, "");
  EXPECT_EQ(unsure.best, 1);
  EXPECT_EQ(unsure.range[0], 0);
  EXPECT_FALSE(unsure.pays());
}

TEST(Spares, MoreFailuresOrLongerWaitsNeverAskForFewer) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 500; ++round) {
    SpareModel model{1 + static_cast<int>(uniform(random) * 300), uniform(random) / 3600,
                     uniform(random) * 36'000, 0};
    SpareModel worse = model;
    worse.rate *= 1 + uniform(random);
    worse.replace_s *= 1 + uniform(random);
    EXPECT_GE(BestSpares(worse), BestSpares(model)) << round;
  }
}

}  // namespace
}  // namespace goodput
