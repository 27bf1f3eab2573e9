// Advice: published formulas against published numbers, measurements from a timeline, and the resulting
// sentences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/run_builder.h"
#include "tools/accounting/advise/advice.h"
#include "tools/accounting/advise/checkpoint_interval.h"
#include "tools/accounting/advise/measure.h"
#include "tools/accounting/advise/mttf.h"
#include "tools/accounting/advise/network.h"
#include "tools/accounting/advise/plan.h"
#include "tools/accounting/advise/what_to_do.h"
#include "tools/accounting/runs/collectives.h"
#include "tools/accounting/runs/fact_nodes.h"
#include "tools/base/parse_duration.h"

namespace goodput {
namespace {

// ---- tests/golden/formulas.json: each case's outputs from its inputs

using Inputs = std::map<std::string, double>;
using Formula = std::function<double(const Inputs&)>;

// The unit is part of the name; some inputs are in minutes.
double SecondsOf(const Inputs& in, const std::string& what) {
  return in.at(what + "_min") * 60;
}

double MttfSeconds(const Inputs& in) {
  if (in.count("mttf_min") != 0) return SecondsOf(in, "mttf");
  return MttfOfNodes(in.at("nodes"), in.at("failures_per_node_day"));
}

const std::map<std::string, Formula>& Formulas() {
  static const std::map<std::string, Formula> formulas = {
      {"mttf_hours", [](const Inputs& in) { return MttfSeconds(in) / 3600; }},
      {"mtbf_hours",
       [](const Inputs& in) {
         return *EstimateMttf(in.at("days") * 86400, static_cast<std::int64_t>(in.at("unexpected"))).mttf_s /
                3600;
       }},
      {"failures_per_1000_node_days",
       [](const Inputs& in) {
         const double mttf_s =
             *EstimateMttf(in.at("days") * 86400, static_cast<std::int64_t>(in.at("unexpected"))).mttf_s;
         return 1000 * FailuresPerNodeDay(in.at("gpus") / 8, mttf_s);
       }},
      {"ettr",
       [](const Inputs& in) {
         return Ettr(MttfSeconds(in), SecondsOf(in, "save"), SecondsOf(in, "restart"),
                     SecondsOf(in, "interval"));
       }},
      {"young_min",
       [](const Inputs& in) { return *YoungInterval(MttfSeconds(in), SecondsOf(in, "save")) / 60; }},
      {"daly_min",
       [](const Inputs& in) { return *DalyInterval(MttfSeconds(in), SecondsOf(in, "save")) / 60; }},
      {"poisson_min",
       [](const Inputs& in) { return *PoissonInterval(MttfSeconds(in), SecondsOf(in, "save")) / 60; }},
      {"poisson_goodput_at_young",
       [](const Inputs& in) {
         const double mttf = MttfSeconds(in);
         const double save = SecondsOf(in, "save");
         return PoissonGoodput(mttf, save, SecondsOf(in, "restart"), *YoungInterval(mttf, save));
       }},
      {"nvcre",
       [](const Inputs& in) {
         return *NvcreGoodput({in.at("t_w"), in.at("t_ch"), in.at("t_re"), in.at("t_rm"), in.at("t_save")});
       }},
  };
  return formulas;
}

TEST(Golden, EveryPublishedAndDerivedNumberIsReproduced) {
  std::ifstream file(GOLDEN_FORMULAS);
  const nlohmann::json golden = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& one : golden["cases"]) {
    Inputs in;
    for (const auto& [name, value] : one["in"].items()) {
      if (value.is_number()) in[name] = value;
    }
    for (const auto& [name, expected] : one["out"].items()) {
      if (name == "mfu") continue;  // see flops_test.cc
      const auto formula = Formulas().find(name);
      ASSERT_NE(formula, Formulas().end()) << one["id"] << ": nothing computes " << name;
      EXPECT_NEAR(formula->second(in), expected.get<double>(), one["tolerance"].get<double>())
          << one["id"] << " " << name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 10);
}

// ---- relations between the formulas

TEST(Intervals, TheBestOneIsBestAmongItsNeighbours) {
  for (const double mttf : {60.0, 3600.0, 11135.0, 1e6, 1e9}) {
    for (const double save : {0.001, 1.0, 60.0, 3600.0, 1e5}) {
      const double best = *PoissonInterval(mttf, save);
      const double at_best = PoissonGoodput(mttf, save, 300, best);
      for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
        EXPECT_LE(PoissonGoodput(mttf, save, 300, best * factor), at_best * (1 + 1e-12))
            << mttf << " " << save;
      }
      EXPECT_GT(best, 0);
      EXPECT_LE(best, mttf) << mttf << " " << save;
    }
  }
}

TEST(Intervals, ApproximationsMeetTheExactOneWhereSavesAreShort) {
  const double mttf = 1e6;
  const double save = 1;
  const double best = *PoissonInterval(mttf, save);
  EXPECT_NEAR(*DalyInterval(mttf, save) / best, 1, 1e-5);
  EXPECT_NEAR(*YoungInterval(mttf, save) / best, 1, 1e-3);
  EXPECT_EQ(EttrInterval(mttf, save), YoungInterval(mttf, save));
  // Saxena's period includes the save, and grows with the restart time.
  EXPECT_NEAR((*SaxenaInterval(mttf, save, 0) - save) / best, 1, 1e-3);
  EXPECT_GT(*SaxenaInterval(mttf, save, 1000), *SaxenaInterval(mttf, save, 0));
  EXPECT_DOUBLE_EQ(*SaxenaInterval(100, 2, 10), 2 + std::sqrt(2 * 110 * 2 + 4));
}

TEST(Intervals, DalyGivesTheMttfWhereSavesTakeTwiceAsLong) {
  EXPECT_EQ(DalyInterval(60, 120), 60);
  EXPECT_EQ(DalyInterval(60, 1000), 60);
  EXPECT_NE(DalyInterval(60, 119), 60);
}

TEST(Intervals, SavesThatCostNothingHaveNone) {
  EXPECT_FALSE(YoungInterval(3600, 0));
  EXPECT_FALSE(DalyInterval(3600, 0));
  EXPECT_FALSE(PoissonInterval(3600, 0));
  EXPECT_FALSE(SaxenaInterval(3600, 0, 60));
  EXPECT_FALSE(EttrInterval(3600, 0));
  EXPECT_GT(PoissonGoodput(3600, 0, 60, 600), 0.8);
}

TEST(Intervals, SharesStayBetweenNothingAndEverything) {
  EXPECT_EQ(Ettr(600, 60, 3600, 600), 0);  // the first-order estimate would be below 0
  EXPECT_EQ(PoissonGoodput(1, 1, 1e6, 1), 0);
  EXPECT_EQ(PoissonGoodput(1, 1e6, 1, 1), 0);
  const double good = PoissonGoodput(1e9, 0.001, 0, *PoissonInterval(1e9, 0.001));
  EXPECT_GT(good, 0.999);
  EXPECT_LE(good, 1);
}

// ---- counting failures

TEST(Mttf, TheIntervalIsGarwoods) {
  // Limits of a Poisson mean: for 10 events 5.425 to 16.962, for 1 event 0.05129 to 4.7439 (90 %).
  const MttfEstimate ten = EstimateMttf(1000, 10);
  EXPECT_DOUBLE_EQ(*ten.mttf_s, 100);
  EXPECT_NEAR(ten.low_s, 1000 / 16.962, 0.01);
  EXPECT_NEAR(*ten.high_s, 1000 / 5.4254, 0.01);
  const MttfEstimate one = EstimateMttf(1000, 1);
  EXPECT_NEAR(one.low_s, 1000 / 4.74386, 0.01);
  EXPECT_NEAR(*one.high_s, 1000 / 0.051293, 0.5);
}

TEST(Mttf, WithoutAFailureThereIsOnlyABound) {
  const MttfEstimate none = EstimateMttf(2303, 0);
  EXPECT_FALSE(none.mttf_s);
  EXPECT_FALSE(none.high_s);
  EXPECT_NEAR(none.low_s, 1000, 1);
}

TEST(Mttf, ManyFailuresLeaveLittleOpen) {
  const MttfEstimate many = EstimateMttf(1e9, 100000);
  EXPECT_NEAR(many.low_s / *many.mttf_s, 1, 0.01);
  EXPECT_NEAR(*many.high_s / *many.mttf_s, 1, 0.01);
}

// ---- plans

TEST(Plan, GainIsWhatTheBestIntervalAddsADay) {
  Situation situation;
  situation.mttf_s = 3 * 3600;
  situation.save_s = 60;
  situation.restart_s = 600;
  situation.interval_s = 3600;
  situation.gpus = 1024;
  situation.gpu_hour = 2;
  const Plan plan = MakePlan(situation);
  const double gain = *plan.goodput_best - *plan.goodput_now;
  EXPECT_GT(gain, 0.01);
  EXPECT_NEAR(*plan.gpu_hours_gained, gain * 1024 * 24, 1e-6);
  EXPECT_NEAR(*plan.money_gained, *plan.gpu_hours_gained * 2, 1e-6);
  ASSERT_EQ(plan.alternatives.size(), 3U);
  EXPECT_DOUBLE_EQ(plan.alternatives[1][1].goodput, *plan.goodput_best);
  EXPECT_GT(plan.alternatives[0][0].goodput, plan.alternatives[2][2].goodput);
}

TEST(Plan, WhatIsNotKnownStaysOpen) {
  Situation situation;
  situation.mttf_s = 3600;
  EXPECT_FALSE(MakePlan(situation).young_s);
  situation.save_s = 10;
  EXPECT_TRUE(MakePlan(situation).young_s);
  EXPECT_FALSE(MakePlan(situation).saxena_s);
  EXPECT_FALSE(MakePlan(situation).goodput_best);
  situation.restart_s = 60;
  EXPECT_TRUE(MakePlan(situation).goodput_best);
  EXPECT_FALSE(MakePlan(situation).ettr);
  EXPECT_FALSE(MakePlan(situation).gpu_hours_gained);
  situation.interval_s = 600;
  EXPECT_TRUE(MakePlan(situation).ettr);
  EXPECT_FALSE(MakePlan(situation).gpu_hours_gained);
}

// ---- measuring a run

// `failures` starts that train for 1,000 s each, save for 2 s every 100 s, and die. The next start gets its
// resources 60 s later and begins its first step 20 s after that.
RunBuilder FailsOften(int failures, const std::string& state = "NODE_FAIL") {
  RunBuilder run;
  double t = 0;
  std::int64_t step = 0;
  for (int i = 0; i <= failures; ++i) {
    AttemptBuilder& attempt = run.Attempt();
    attempt.Gpus(16).Submitted(t).Eligible(t).Started(t + 58).Ready(t + 60).TaskStarts(t + 65, 0);
    const double begin = t + 80;
    std::int64_t saved = step;
    for (int k = 0; k < 100; ++k) {
      const double at = begin + k * 10 + (k / 10) * 2;
      if (k > 0 && k % 10 == 0) {
        attempt.Save(step - 1, at - 2, at);
        saved = step;
      }
      attempt.Step(step++, at);
    }
    const double end = begin + 1018;
    attempt.facts.nodes = 8;
    if (i < failures) {
      attempt.TaskKilled(end, 0, 9).Ended(end, state);
      attempt.facts.failed_node = "n3";
      step = saved;
    } else {
      attempt.TaskExits(end, 0, 0).Ended(end, "COMPLETED");
    }
    t = end;
  }
  return run;
}

Measured MeasureRun(RunBuilder& run) {
  const Timeline timeline = run.Build();
  return Measure(timeline, TakeAccount(timeline));
}

std::vector<Advice> AdviceOn(RunBuilder& run) {
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  std::vector<Advice> advice = AdviseFromTimeline(timeline, account, Measure(timeline, account));
  Rank(advice);
  return advice;
}

std::optional<Advice> Find(const std::vector<Advice>& advice, const std::string& words) {
  for (const Advice& one : advice) {
    if (one.action.find(words) != std::string::npos) return one;
  }
  return std::nullopt;
}

TEST(Measure, AFailingRunsTimes) {
  RunBuilder run = FailsOften(4);
  const Measured measured = MeasureRun(run);
  EXPECT_EQ(measured.failures, 4);
  EXPECT_EQ(measured.causes.at("node_fail"), 4);
  EXPECT_NEAR(measured.up_s, 5 * (5 + 15 + 1018), 0.01);
  EXPECT_NEAR(measured.wall_s, 5 * 1098, 0.01);
  EXPECT_NEAR(*measured.save_s, 2, 1e-6);
  EXPECT_EQ(measured.saves, 45);
  EXPECT_NEAR(*measured.interval_s, 100, 1e-6);
  EXPECT_EQ(measured.intervals, 40);
  EXPECT_NEAR(*measured.resources_s, 60, 0.01);
  EXPECT_NEAR(*measured.first_step_s, 20, 0.01);
  EXPECT_NEAR(*measured.restart_s, 80, 0.01);
  EXPECT_EQ(measured.restarts, 4);
  EXPECT_EQ(measured.spares.losses, 4);
  EXPECT_EQ(measured.spares.replacements, 4);
  EXPECT_NEAR(measured.spares.replace_s, 4 * 60, 0.01);
  EXPECT_NEAR(measured.spares.promote_s, 5, 0.01) << "a spare does not save the launch";
}

TEST(Measure, ATimeLimitIsPlannedAndItsRestartCostsNoFailure) {
  RunBuilder run = FailsOften(3, "TIMEOUT");
  const Measured measured = MeasureRun(run);
  EXPECT_EQ(measured.restarts, 0);
  EXPECT_FALSE(measured.restart_s);
}

TEST(Measure, OnlyWhatNobodyAskedForIsAFailure) {
  const auto is_failure = [](const char* cause, bool planned = false) {
    Interruption interruption;
    interruption.cause = cause;
    interruption.planned = planned;
    return IsFailure(interruption);
  };
  for (const char* cause : {"node_fail", "preempted", "failed", "oom", "hang", "unknown"})
    EXPECT_TRUE(is_failure(cause)) << cause;
  for (const char* cause : {"user_requeue", "admin_requeue", "cancelled"})
    EXPECT_FALSE(is_failure(cause)) << cause;
  EXPECT_FALSE(is_failure("preempted", true));
}

TEST(Measure, TimeWithoutAnAttemptIsNotUp) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(0).Ready(0).Ended(50, "COMPLETED");
  Timeline timeline = run.Build();
  for (Interval& interval : timeline.intervals.others()) interval.part = "gap";
  EXPECT_DOUBLE_EQ(Measure(timeline, TakeAccount(timeline)).up_s, 0);
}

TEST(Measure, SavesThatNobodySawTrainingWaitForHaveNoCost) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Steps(0, 99, 0, 10)
      .File(30, 300, 310)
      .File(60, 600, 610)
      .TaskExits(1000, 0, 0)
      .Ended(1000, "COMPLETED");
  const Measured measured = MeasureRun(run);
  EXPECT_EQ(measured.saves, 2);
  EXPECT_FALSE(measured.save_s);
}

TEST(Measure, WhatPeopleAskedForIsNoFailure) {
  RunBuilder requeued = FailsOften(3, "REQUEUED");
  EXPECT_EQ(MeasureRun(requeued).failures, 0);
  RunBuilder cancelled = FailsOften(3, "CANCELLED");
  EXPECT_EQ(MeasureRun(cancelled).failures, 0);
  RunBuilder timed_out = FailsOften(3, "TIMEOUT");
  EXPECT_EQ(MeasureRun(timed_out).failures, 0);
  RunBuilder preempted = FailsOften(3, "PREEMPTED");
  EXPECT_EQ(MeasureRun(preempted).failures, 3);
}

TEST(Measure, ARunWithoutEvidenceHasNumbersForNothing) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ended(100, "COMPLETED");
  const Measured measured = MeasureRun(run);
  EXPECT_EQ(measured.failures, 0);
  EXPECT_FALSE(measured.save_s);
  EXPECT_FALSE(measured.interval_s);
  EXPECT_FALSE(measured.restart_s);
  EXPECT_NEAR(measured.up_s, 90, 0.01);
}

// ---- sentences

TEST(Advice, ACompletedRunWithNothingAmissGetsNone) {
  RunBuilder run;
  run.Attempt()
      .Gpus(8)
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(1, 0)
      .Steps(0, 99, 2, 10)
      .TaskExits(1002, 0, 0)
      .Ended(1002, "COMPLETED");
  EXPECT_TRUE(AdviceOn(run).empty());
}

TEST(Advice, EachLossHasItsSentence) {
  RunBuilder run = FailsOften(4);
  const std::vector<Advice> advice = AdviceOn(run);
  const std::optional<Advice> save = Find(advice, "save asynchronously");
  ASSERT_TRUE(save);
  EXPECT_NEAR(*save->gain, 90.0 / 5490, 1e-6);
  EXPECT_NE(save->evidence.find("2.0s per save, the mean of 45 saves"), std::string::npos) << save->evidence;
  const std::optional<Advice> node = Find(advice, "n3");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->evidence, "it failed the run 4 times");
  EXPECT_FALSE(Find(advice, "expedited requeue"));
  for (std::size_t i = 1; i < advice.size(); ++i)
    EXPECT_GE(advice[i - 1].gain.value_or(-1), advice[i].gain.value_or(-1));
}

// 1000 s of training, then a node is lost, and 1000 s later there is a new one; 1 s of launch.
RunBuilder LosesNodes(int losses, int nodes) {
  RunBuilder run;
  double t = 0;
  for (int i = 0; i <= losses; ++i) {
    AttemptBuilder& attempt = run.Attempt();
    attempt.Gpus(nodes * 8).Submitted(t).Eligible(t).Started(t + 999).Ready(t + 1000).TaskStarts(t + 1001, 0);
    attempt.Steps(i * 100, i * 100 + 99, t + 1002, 10).facts.nodes = nodes;
    t += 2002;
    if (i == losses) {
      attempt.TaskExits(t, 0, 0).Ended(t, "COMPLETED");
    } else {
      attempt.TaskKilled(t, 0, 9).Ended(t, "NODE_FAIL");
    }
  }
  return run;
}

std::vector<Advice> SpareAdvice(RunBuilder run) {
  const Measured measured = MeasureRun(run);
  return AdviseSpares(PlanSpares(measured.spares), measured);
}

TEST(Advice, SparesAreAdvisedWhereTheyPayAndEnoughWasSeen) {
  // 4 losses say too little, and 8 waits of 60 s in 9,882 s are 5 %, while one of 8 nodes costs 12.5 %.
  EXPECT_TRUE(SpareAdvice(LosesNodes(4, 100)).empty());
  EXPECT_TRUE(SpareAdvice(FailsOften(8)).empty());
  const std::vector<Advice> advice = SpareAdvice(LosesNodes(20, 100));
  ASSERT_EQ(advice.size(), 1U);
  // 20 losses in 21 starts of 1002 s, each replaced after 1000 s: a = 0.9505. C(0) = 1 + a, and C(3)
  // = 1.0447, C(4) = 1.0436, C(5) = 1.0514.
  EXPECT_EQ(advice[0].action.find("hold 4 spare nodes"), 0U) << advice[0].action;
  EXPECT_NEAR(*advice[0].gain, 1 - 1.04358 / 1.95048, 1e-5);
  EXPECT_NE(advice[0].evidence.find("it lost nodes 20 times"), std::string::npos) << advice[0].evidence;
  // A run with spares does not show the losses that they absorbed.
  RunBuilder declared = LosesNodes(20, 100);
  declared.Last().facts.spares = 8;
  EXPECT_TRUE(SpareAdvice(declared).empty());
}

TEST(Advice, BackOffAfterARequeueIsNamedWithItsShareOfWaiting) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Steps(0, 9, 1, 10)
      .TaskKilled(100, 0, 9)
      .Ended(100, "NODE_FAIL");
  run.Attempt()
      .Submitted(100)
      .Eligible(221)
      .Started(300)
      .Ready(300)
      .TaskStarts(300, 0)
      .Steps(10, 19, 301, 10)
      .TaskExits(401, 0, 0)
      .Ended(401, "COMPLETED");
  const std::optional<Advice> back_off = Find(AdviceOn(run), "expedited requeue");
  ASSERT_TRUE(back_off);
  EXPECT_EQ(back_off->evidence, "60.5% of waiting is Slurm's back-off after a requeue, 2m01s in total");
  EXPECT_NEAR(*back_off->gain, 121.0 / 401, 1e-6);
}

TEST(Advice, SavingOnTheSignalIsAdvisedWhereThereWasTimeToDoSo) {
  const auto preempted = [](double told, bool saves) {
    RunBuilder run;
    AttemptBuilder& attempt = run.Attempt();
    attempt.Submitted(0).Started(0).Ready(0).TaskStarts(0, 0).Steps(0, 9, 1, 10).Save(9, 99, 101);
    attempt.Steps(10, 29, 101, 10).Preempted(told);
    if (saves) attempt.Save(29, 301, 303);
    attempt.TaskKilled(360, 0, 9).Ended(360, "PREEMPTED");
    run.Attempt()
        .Submitted(360)
        .Started(360)
        .Ready(360)
        .TaskStarts(360, 0)
        .Steps(saves ? 30 : 10, 39, 361, 10)
        .TaskExits(661, 0, 0)
        .Ended(661, "COMPLETED");
    return Find(AdviceOn(run), "save on SIGTERM").has_value();
  };
  EXPECT_TRUE(preempted(300, false));
  EXPECT_FALSE(preempted(359, false));  // one second is not enough
  EXPECT_FALSE(preempted(300, true));
}

TEST(Advice, ASaveAtTheNoticeIsEnoughEvenIfLaterStepsAreLost) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(0, 0)
      .Steps(0, 9, 1, 10)
      .Save(9, 99, 101)
      .Steps(10, 29, 101, 10)
      .Preempted(300)
      .Save(29, 301, 303)
      .Steps(30, 35, 303, 10)
      .TaskKilled(363, 0, 9)
      .Ended(363, "PREEMPTED");
  run.Attempt()
      .Submitted(363)
      .Started(363)
      .Ready(363)
      .TaskStarts(363, 0)
      .Steps(30, 39, 364, 10)
      .TaskExits(464, 0, 0)
      .Ended(464, "COMPLETED");
  EXPECT_FALSE(Find(AdviceOn(run), "save on SIGTERM"));
}

TEST(Advice, ANodeIsSuspectOnceItFailedTwice) {
  RunBuilder once = FailsOften(1);
  EXPECT_FALSE(Find(AdviceOn(once), "drained and checked"));
  RunBuilder twice = FailsOften(2);
  EXPECT_TRUE(Find(AdviceOn(twice), "drained and checked"));
}

TEST(Advice, ASmallLossIsNotMentioned) {
  const auto waited = [](double seconds) {
    RunBuilder run;
    run.Attempt()
        .Submitted(0)
        .Eligible(0)
        .Waits(0, "Resources")
        .Started(seconds)
        .Ready(seconds)
        .TaskStarts(seconds, 0)
        .Steps(0, 99, seconds, 10)
        .TaskExits(seconds + 1000, 0, 0)
        .Ended(seconds + 1000, "COMPLETED");
    return Find(AdviceOn(run), "wait less for nodes").has_value();
  };
  EXPECT_TRUE(waited(12));
  EXPECT_FALSE(waited(8));
}

// Starts of 30 steps of 10 s, of which the first takes a minute longer, each of which resumes where the last
// ended.
RunBuilder Compiles(int starts) {
  RunBuilder run;
  for (int i = 0; i < starts; ++i) {
    const double t = i * 360;
    AttemptBuilder& attempt = run.Attempt();
    attempt.Submitted(t).Eligible(t).Started(t).Ready(t).TaskStarts(t, 0).Step(i * 30, t);
    attempt.Steps(i * 30 + 1, i * 30 + 29, t + 70, 10);
    const bool last = i + 1 == starts;
    if (last) {
      attempt.TaskExits(t + 360, 0, 0).Ended(t + 360, "COMPLETED");
    } else {
      attempt.TaskKilled(t + 360, 0, 9).Ended(t + 360, "NODE_FAIL");
    }
  }
  return run;
}

TEST(Advice, OnlyCompilingAgainCouldHaveBeenAvoided) {
  RunBuilder once = Compiles(1);
  EXPECT_FALSE(Find(AdviceOn(once), "compilation cache"));
  RunBuilder again = Compiles(2);
  const std::optional<Advice> cache = Find(AdviceOn(again), "compilation cache");
  ASSERT_TRUE(cache);
  EXPECT_NEAR(*cache->gain, 60.0 / 720, 1e-6);
  EXPECT_EQ(cache->evidence, "1 later start compiled again, for 1m00s");
}

TEST(Advice, ARunThatTrainedBeforeItFailedGetsMoreThanItsFailure) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(0)
      .Waits(0, "Priority")
      .Started(500)
      .Ready(500)
      .TaskStarts(500, 0)
      .Steps(0, 49, 500, 10)
      .TaskExits(1000, 0, 1)
      .Ended(1000, "FAILED");
  EXPECT_FALSE(Find(AdviceOn(run), "find out why it failed"));
  EXPECT_TRUE(Find(AdviceOn(run), "more priority"));
}

TEST(Advice, UnobservedTimeGainsKnowledgeOnly) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ended(100, "COMPLETED");
  const std::vector<Advice> advice = AdviceOn(run);
  const std::optional<Advice> marks = Find(advice, "send marks");
  ASSERT_TRUE(marks);
  EXPECT_FALSE(marks->gain);
  EXPECT_EQ(marks->action, advice.back().action);
}

// ---- what to do

std::vector<std::string> ToDo(RunBuilder& run) {
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  const Measured measured = Measure(timeline, account);
  std::vector<Advice> advice = AdviseFromTimeline(timeline, account, measured);
  Situation situation;
  situation.save_s = measured.save_s;
  situation.restart_s = measured.restart_s;
  situation.interval_s = measured.interval_s;
  if (measured.up_s > 0) {
    const MttfEstimate mttf = EstimateMttf(measured.up_s, measured.failures);
    situation.mttf_s = mttf.mttf_s;
    situation.mttf_low_s = mttf.low_s;
    situation.mttf_high_s = mttf.high_s;
  }
  for (Advice& one : AdviseInterval(situation, MakePlan(situation), &measured))
    advice.push_back(std::move(one));
  Rank(advice);
  return WhatToDo(timeline, account, measured, advice);
}

TEST(WhatToDo, NamesTheLossTheCauseAndTheInterval) {
  // 12 starts that train for 1,000 s, save once and die.
  RunBuilder run;
  double t = 0;
  std::int64_t step = 0;
  for (int i = 0; i < 12; ++i) {
    AttemptBuilder& attempt = run.Attempt();
    attempt.Gpus(16).Submitted(t).Eligible(t).Started(t).Ready(t).TaskStarts(t, 0);
    attempt.Steps(step, step + 9, t, 10).Save(step + 9, t + 100, t + 102);
    attempt.Steps(step + 10, step + 39, t + 102, 10).Save(step + 39, t + 402, t + 404);
    attempt.Steps(step + 40, step + 69, t + 404, 10);
    const bool last = i == 11;
    if (last) {
      attempt.TaskExits(t + 704, 0, 0).Ended(t + 704, "COMPLETED");
    } else {
      attempt.TaskKilled(t + 704, 0, 9).Ended(t + 704, "NODE_FAIL");
    }
    step += 40;
    t += 704;
  }
  const std::vector<std::string> said = ToDo(run);
  ASSERT_FALSE(said.empty());
  EXPECT_LE(said.size(), 3U);
  EXPECT_EQ(said[0].rfind("Lost 14.7 GPU-h after 11 node failures: saves every 5m00s; every ", 0), 0U)
      << said[0];
  EXPECT_NE(said[0].find(" would have saved "), std::string::npos) << said[0];
}

TEST(WhatToDo, StepsThatFailedAreNotBlamedOnSaves) {
  RunBuilder run;
  AttemptBuilder& attempt = run.Attempt().Gpus(8).Submitted(0).Started(0).Ready(0).TaskStarts(0, 0);
  for (int step = 0; step < 30; ++step) {
    attempt.Step(step, 20 * step);
    if (step % 10 == 4) attempt.StepFails(step, 20 * step + 10);
  }
  attempt.TaskExits(600, 0, 0).Ended(600, "COMPLETED");
  EXPECT_EQ(
      ToDo(run),
      std::vector<std::string>{
          "Lost 240 GPU-s in steps that failed and were tried again (3 tries failed, of 30.0s in total): "
          "find out why steps fail, in the program's output (sgoodput show JOB --explain lost_work "
          "shows when)."});
}

TEST(WhatToDo, SaysSoWhereThereIsNothing) {
  RunBuilder run;
  run.Attempt()
      .Gpus(8)
      .Submitted(0)
      .Started(0)
      .Ready(0)
      .TaskStarts(1, 0)
      .Steps(0, 99, 2, 10)
      .TaskExits(1002, 0, 0)
      .Ended(1002, "COMPLETED");
  EXPECT_EQ(ToDo(run), std::vector<std::string>{
                           "Nothing to change: no avoidable loss of 1% of the time or more is known."});
}

TEST(WhatToDo, AJobThatFailedBeforeAStepIsToldThatAlone) {
  RunBuilder run;
  run.Attempt()
      .Gpus(8)
      .Submitted(0)
      .Eligible(0)
      .Waits(0, "Priority")
      .Started(3600)
      .Ready(3601)
      .TaskStarts(3602, 0)
      .TaskExits(3605, 0, 1)
      .Ended(3606, "FAILED");
  const std::vector<std::string> said = ToDo(run);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].rfind("It failed", 0), 0U) << said[0];
}

TEST(WhatToDo, TheThreeLargestLossesComeFirst) {
  RunBuilder run = FailsOften(4);
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  std::vector<Advice> advice;
  for (const double gain : {0.02, 0.5, 0.04, 0.3}) {
    Advice one;
    one.action = "do something";
    one.evidence = "it is so";
    one.gain = gain;
    one.at_most = false;
    one.loss = "in " + std::to_string(static_cast<int>(gain * 100)) + " of a hundred";
    advice.push_back(one);
  }
  const std::vector<std::string> said = WhatToDo(timeline, account, Measure(timeline, account), advice);
  ASSERT_EQ(said.size(), 3U);
  EXPECT_NE(said[0].find("in 50 of"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("in 30 of"), std::string::npos) << said[1];
  EXPECT_NE(said[2].find("in 4 of"), std::string::npos) << said[2];
}

TEST(WhatToDo, AnInterruptionThatLostNoStepIsNotBlamedForLostSteps) {
  RunBuilder run;
  run.Attempt().Gpus(8).Submitted(0).Eligible(0).Started(0).Ready(0).TaskStarts(0, 0).Steps(0, 29, 0, 10);
  run.Last().TaskKilled(300, 0, 9).Ended(300, "NODE_FAIL");
  // Killed before its first step.
  run.Attempt().Gpus(8).Submitted(300).Eligible(300).Started(300).Ready(300).TaskStarts(300, 0);
  run.Last().TaskKilled(310, 0, 9).Ended(310, "PREEMPTED");
  run.Attempt().Gpus(8).Submitted(310).Eligible(310).Started(310).Ready(310).TaskStarts(310, 0);
  run.Last().Steps(10, 39, 310, 10).TaskExits(610, 0, 0).Ended(610, "COMPLETED");
  const std::vector<std::string> said = ToDo(run);
  const auto lost = std::find_if(said.begin(), said.end(), [](const std::string& one) {
    return one.find(" of steps after ") != std::string::npos;
  });
  ASSERT_NE(lost, said.end());
  EXPECT_NE(lost->find(" of steps after 1 node failure: "), std::string::npos) << *lost;
}

Situation SituationOf(const Measured& measured, double interval_s) {
  const MttfEstimate mttf = EstimateMttf(measured.up_s, measured.failures);
  Situation situation;
  situation.mttf_s = mttf.mttf_s;
  situation.mttf_low_s = mttf.low_s;
  situation.mttf_high_s = mttf.high_s;
  situation.save_s = 10;
  situation.restart_s = 60;
  situation.interval_s = interval_s;
  return situation;
}

TEST(Advice, AnIntervalIsNamedOnlyIfItPaysWhateverTheCountLeavesOpen) {
  Measured measured;
  measured.up_s = 100 * 3600;
  measured.failures = 100;
  const auto says = [&](double interval_s) {
    const Situation situation = SituationOf(measured, interval_s);
    return AdviseInterval(situation, MakePlan(situation), &measured);
  };
  const std::vector<Advice> far = says(3600);
  ASSERT_EQ(far.size(), 1U);
  EXPECT_EQ(far[0].action.rfind("checkpoint every 4m", 0), 0U) << far[0].action;
  EXPECT_FALSE(far[0].at_most);
  EXPECT_TRUE(says(270).empty());
  const Situation same = SituationOf(measured, 270);
  EXPECT_EQ(Caveats(same, MakePlan(same), &measured),
            std::vector<std::string>{"the current interval is as good as the best one"});
  // Twelve more seconds than the best cost nothing worth a change, however well the MTTF is known.
  measured.up_s = 100'000.0 * 3600;
  measured.failures = 100'000;
  EXPECT_TRUE(says(285).empty());
  EXPECT_FALSE(says(600).empty());
  // With one failure, the MTTF may be a fifth or twenty times the estimate, so the best interval may be on
  // either side of a neighbouring one.
  measured.up_s = 3600;
  measured.failures = 1;
  EXPECT_TRUE(says(600).empty());
  const Situation situation = SituationOf(measured, 600);
  const std::vector<std::string> caveats = Caveats(situation, MakePlan(situation), &measured);
  ASSERT_EQ(caveats.size(), 2U);
  EXPECT_EQ(caveats[0].rfind("only 1 interruption", 0), 0U) << caveats[0];
}

TEST(Advice, AnUnknownIntervalIsReplacedOnlyAfterAFewFailures) {
  Measured measured;
  measured.up_s = 100 * 3600;
  const auto says = [&](std::int64_t failures) {
    measured.failures = failures;
    Situation situation = SituationOf(measured, 0);
    situation.interval_s.reset();
    return AdviseInterval(situation, MakePlan(situation), &measured);
  };
  EXPECT_TRUE(says(2).empty());
  ASSERT_EQ(says(3).size(), 1U);
  EXPECT_NE(says(3)[0].evidence.find("its current interval is not known"), std::string::npos);
}

TEST(Advice, WithoutAFailureItSaysThatThereAreTooFew) {
  Measured measured;
  measured.up_s = 2303;
  const Situation situation = SituationOf(measured, 600);
  const Plan plan = MakePlan(situation);
  EXPECT_TRUE(AdviseInterval(situation, plan, &measured).empty());
  const std::vector<std::string> caveats = Caveats(situation, plan, &measured);
  ASSERT_EQ(caveats.size(), 1U);
  EXPECT_NE(caveats[0].find("at least 16m40s"), std::string::npos) << caveats[0];
}

TEST(Advice, WhereNothingHelpsItSaysSo) {
  Situation situation;
  situation.mttf_s = 60;
  situation.save_s = 90;
  situation.restart_s = 300;
  situation.interval_s = 60;
  const std::vector<std::string> caveats = Caveats(situation, MakePlan(situation), nullptr);
  ASSERT_EQ(caveats.size(), 2U);
  EXPECT_NE(caveats[0].find("a restart takes 5m00s"), std::string::npos);
  EXPECT_NE(caveats[1].find("a save takes 1m30s"), std::string::npos);
}

// ---- network tests

TEST(Network, ATestIsSlowWhereItsMessagesWereLargeAndMoreIsExpected) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
  EXPECT_TRUE(IsSlow(kGiB, 184'990'000'000, 185));
  EXPECT_FALSE(IsSlow(kGiB, 185'000'000'000, 185));
  EXPECT_FALSE(IsSlow(kGiB - 1, 1, 185)) << "bound by latency";
  EXPECT_FALSE(IsSlow(kGiB, 1, 0)) << "nobody says what it should be";
}

TEST(Network, TheLastTestBetweenNodesIsJudged) {
  RunBuilder run;
  run.Attempt().Submitted(0).Started(10).Ended(110, "COMPLETED");
  RunFacts facts = run.Facts();
  const auto advice = [&](double expected) { return AdviseNetwork(BuildTimeline(facts), expected); };
  EXPECT_TRUE(advice(185).empty());
  facts.attempts[0].collectives.push_back(
      {At(20), std::int64_t{8} << 30U, 0, 178'460'000'000, 0, {"n1", "n2"}, {}});
  ASSERT_EQ(advice(185).size(), 1U);
  EXPECT_EQ(advice(185)[0].action, "find the slow node among n1, n2: run nccl-tests on pairs of them");
  EXPECT_EQ(
      advice(185)[0].evidence.find("nccl-tests reached 178.46 GB/s between 2 nodes with messages of 8 GiB"),
      0U)
      << advice(185)[0].evidence;
  EXPECT_TRUE(advice(178).empty());
  EXPECT_TRUE(advice(0).empty());
  // A test within a node, or one before the repair, does not count.
  facts.attempts[0].collectives.push_back({At(40), std::int64_t{8} << 30U, 0, 1, 0, {"n1"}, {}});
  EXPECT_EQ(advice(185).size(), 1U);
  facts.attempts[0].collectives.push_back(
      {At(30), std::int64_t{8} << 30U, 0, 187'000'000'000, 0, {"n1", "n2"}, {}});
  EXPECT_TRUE(advice(185).empty());
}

TEST(Network, ATestIsOfTheStepThatRan) {
  FactNodes nodes;
  std::vector<AttemptFacts> attempts(1);
  AttemptFacts& attempt = attempts[0];
  attempt.node_list = "n[1-3]";
  const auto step = [&](std::int32_t number, double begin, double end,
                        const std::vector<const char*>& names) {
    for (const char* name : names) {
      for (const auto& [t, kind] :
           {std::pair(begin, NodeEvent::Kind::kStepStart), std::pair(end, NodeEvent::Kind::kStepEnd)}) {
        NodeEvent event;
        event.t = At(t);
        event.kind = kind;
        event.node = nodes.Of(name);
        event.slurm_step = number;
        attempt.node_events.push_back(event);
      }
    }
  };
  step(0, 10, 20, {"n3", "n1"});
  step(1, 30, 50, {"n2"});
  step(2, 40, 60, {"n3"});
  // The node of the batch script reports all of them; it knows only step 0.
  for (const double t : {15, 35, 45, 55, 70}) attempt.collectives.push_back({At(t), 8, 0, 1, 0, {}, {}});
  attempt.collectives.push_back({At(70), 8, 0, 1, kBatchStep, {}, {}});
  // One that named its hosts may be read late; a container may have a name of its own.
  attempt.collectives.push_back({At(35), 8, 0, 1, 1, {"n1", "n3"}, {}});
  attempt.collectives.push_back({At(35), 8, 0, 1, 1, {"n1", "2e3f9af7"}, {}});
  NameNodesOfCollectives(nodes, attempts);
  std::vector<std::vector<std::string>> named;
  for (const CollectiveTest& test : attempt.collectives) named.push_back(test.nodes);
  EXPECT_EQ(named,
            (std::vector<std::vector<std::string>>{
                {"n1", "n3"}, {"n2"}, {}, {"n3"}, {"n1", "n3"}, {"n1", "n2", "n3"}, {"n1", "n3"}, {"n2"}}));
}

// ---- formatting durations

TEST(DurationOption, IsNumbersWithUnits) {
  for (const auto& [text, seconds] : std::vector<std::pair<const char*, double>>{{"90s", 90},
                                                                                 {"10m", 600},
                                                                                 {"1h30m", 5400},
                                                                                 {"2d", 172800},
                                                                                 {"0s", 0},
                                                                                 {"1.5h", 5400},
                                                                                 {"250ms", 0.25},
                                                                                 {"1d2h3m4s", 93784}}) {
    const absl::StatusOr<double> read = ParseDurationOption(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_DOUBLE_EQ(*read, seconds) << text;
  }
}

TEST(DurationOption, AnythingElseIsRefusedAndSaysWhatToWrite) {
  for (const char* text : {"", "90", "s", "-5s", "1h-5m", "10 m", "1e3s", "nan", "inf", "infs", "1.2.3s",
                           "5min", "5M", "101000d", "99999999999999999999999h", "1m30"}) {
    const absl::StatusOr<double> read = ParseDurationOption(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().message().find(text), absl::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace goodput
