// What a run does at this moment, and what it loses by it.
#include "tools/accounting/live/run_now.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/live/check.h"

namespace goodput {
namespace {

// "state for SECONDS s, GPU-seconds lost: evidence".
std::string Told(RunBuilder& run) {
  const Timeline timeline = run.Build();
  const std::optional<RunNow> now = LookAtNow(timeline);
  if (!now) return "over";
  return absl::StrFormat("%s for %d s, %d GPU-s: %s", std::string(NowStateName(now->state)),
                         (timeline.now - now->since) / kSecond,
                         static_cast<std::int64_t>(now->lost / kSecond), EvidenceInWords(timeline, *now));
}

// Eight GPUs, allocated at 100 s.
AttemptBuilder& Started(RunBuilder& run) {
  return run.Attempt().Submitted(0).Eligible(0).Gpus(8).Started(100).Ready(110);
}

TEST(RunNow, TrainsOrIsOver) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 10, 200, 10);
  run.Now(295);
  EXPECT_EQ(Told(run), "training for 175 s, 0 GPU-s: step 10 began 5.0s ago, and a step takes 10.0s");
  run.Last().Ended(296, "COMPLETED");
  EXPECT_EQ(Told(run), "over");
}

TEST(RunNow, HangsSinceItsLastProgress) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 10, 200, 10);
  run.Last().facts.last_seen.push_back({"n1", At(1290)});
  run.Now(1290);
  EXPECT_EQ(Told(run),
            "no_progress for 1000 s, 8000 GPU-s: step 10 began 16m40s ago, and a step takes 10.0s");
}

TEST(RunNow, IsIdleIfNoTaskLives) {
  RunBuilder run;
  Started(run).Srun(0, 120, 200, 1);
  run.Now(400);
  EXPECT_EQ(Told(run), "starting for 200 s, 0 GPU-s: no task has been alive for 3m20s");
  run.Now(1200);
  EXPECT_EQ(Told(run), "idle for 1000 s, 8000 GPU-s: no task has been alive for 16m40s");
}

TEST(RunNow, StartsSlowlyAgainstItsOwnHistory) {
  RunBuilder run;
  // It says that it initializes; a program that says nothing may train.
  Started(run).TaskStarts(120, 0).PhaseBegins("init", 120);
  run.Now(120 + 1700);
  EXPECT_EQ(Told(run), "starting for 1700 s, 0 GPU-s: no step 28m20s after its program began");
  run.Now(120 + 1900);
  EXPECT_EQ(Told(run), "slow_start for 1900 s, 15200 GPU-s: no step 31m40s after its program began");

  RunBuilder again;
  Started(again).Srun(0, 120, 400, 1).Steps(1, 10, 280, 10);
  again.Last().TaskStarts(410, 1);
  again.Now(410 + 310);
  EXPECT_EQ(Told(again),
            "starting for 310 s, 0 GPU-s: no step 5m10s after its program began; at most 2m40s in its "
            "earlier starts");
  again.Now(410 + 330);
  EXPECT_EQ(Told(again),
            "slow_start for 330 s, 2640 GPU-s: no step 5m30s after its program began; at most 2m40s in "
            "its earlier starts");
}

TEST(RunNow, SavesRarelyForItsFailures) {
  RunBuilder run;
  double at = 0;
  for (int i = 0; i < 3; ++i) {
    AttemptBuilder& attempt =
        run.Attempt().Submitted(at).Eligible(at).Gpus(8).Started(at + 10).Ready(at + 10);
    attempt.TaskStarts(at + 10, 0).Steps(1, 10, at + 20, 10).Save(10, at + 120, at + 121);
    if (i < 2) {
      attempt.TaskKilled(at + 1000, 0, 9).Ended(at + 1000, "NODE_FAIL");
      at += 1000;
    } else {
      attempt.Steps(11, 130, at + 121, 10);
    }
  }
  run.Now(at + 121 + 1195);
  const std::string told = Told(run);
  EXPECT_EQ(told.substr(0, told.find(" for ")), "rarely_saved") << told;
  EXPECT_NE(told.find("19m55s of training would be lost; with a failure every "), std::string::npos) << told;
}

TEST(RunNow, OneFailureDoesNotTellHowOftenItFails) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Gpus(8).Started(10).Ready(10);
  run.Last()
      .TaskStarts(10, 0)
      .Steps(1, 10, 20, 10)
      .Save(10, 120, 121)
      .TaskKilled(300, 0, 9)
      .Ended(300, "NODE_FAIL");
  run.Attempt().Submitted(300).Eligible(300).Gpus(8).Started(310).Ready(310);
  run.Last().TaskStarts(310, 0).Steps(11, 300, 321, 10);
  run.Now(321 + 2895);
  EXPECT_EQ(Told(run).substr(0, 9), "training ");
}

TEST(RunNow, NothingTellsWhetherAnImportStillRuns) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 10, 200, 10);
  run.Last().facts.heard_until = At(290);
  run.Now(295);
  EXPECT_EQ(Told(run), "over");
}

TEST(RunNow, WaitsForAReason) {
  RunBuilder run;
  run.Attempt()
      .Submitted(0)
      .Eligible(10)
      .Gpus(16)
      .State("PENDING")
      .Waits(20, "Priority")
      .Waits(30, "Resources");
  run.Now(3610);
  EXPECT_EQ(Told(run), "queued for 3600 s, 0 GPU-s: waits for 1h00m, reason Resources");
}

TEST(RunNow, IsUnobservedIfItsNodeIsSilent) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 10, 200, 10);
  run.Last().facts.last_seen.push_back({"n1", At(300)});
  run.Now(5000);
  const std::string told = Told(run);
  EXPECT_EQ(told.substr(0, 11), "unobserved ") << told;
  EXPECT_NE(told.find("nothing was heard for 1h1"), std::string::npos) << told;
}

TEST(RunNow, TheNewestStepsMayNotHaveArrivedYet) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 100, 200, 1);
  // Its node was heard until the last step, which takes a second and began at 299 s.
  run.Last().facts.last_seen.push_back({"n1", At(300)});
  run.Now(350);
  EXPECT_EQ(Told(run), "training for 230 s, 0 GPU-s: step 100 began 51.0s ago, and a step takes 1.0s");
  run.Now(359);
  EXPECT_EQ(Told(run).substr(0, 9), "training ");
  run.Now(361);
  EXPECT_EQ(Told(run).substr(0, 11), "unobserved ");
}

TEST(RunNow, DoesNotGuess) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Gpus(8).Started(100);
  run.Now(5000);
  EXPECT_EQ(Told(run).substr(0, 11), "unobserved ");
}

// The line for these limits, with the exit status in front.
std::string Checked(RunBuilder& run, const CheckLimits& limits) {
  const Timeline timeline = run.Build();
  const Account account = TakeAccount(timeline);
  const std::vector<Check> checks = CheckRun(timeline, account, account, limits);
  return absl::StrFormat("%d %s", static_cast<int>(WorstOf(checks)), CheckLine("job 1", checks));
}

TEST(Check, AHangIsCriticalAfterItsLimit) {
  RunBuilder run;
  Started(run).TaskStarts(120, 0).Steps(1, 10, 200, 10);
  run.Last().facts.last_seen.push_back({"n1", At(1290)});
  run.Now(1290);
  CheckLimits limits;
  limits.no_progress = 600 * kSecond;
  EXPECT_EQ(Checked(run, limits),
            "2 CRITICAL - job 1: no progress for 16m40s (at most 10m00s) | no_progress=1000s;;600;0");
  limits.no_progress = 1200 * kSecond;
  EXPECT_EQ(Checked(run, limits),
            "0 OK - job 1: no progress for 16m40s (at most 20m00s) | no_progress=1000s;;1200;0");
}

TEST(Check, WhatNothingTellsIsUnknown) {
  RunBuilder run;
  run.Attempt().Submitted(0).Eligible(0).Gpus(8).Started(100);
  run.Now(5000);
  CheckLimits limits;
  limits.no_progress = 600 * kSecond;
  EXPECT_EQ(Checked(run, limits), "3 UNKNOWN - job 1: whether it makes progress is not known");
}

TEST(Check, GoodputIsComparedWithItsRange) {
  RunBuilder run;
  Started(run).TaskStarts(110, 0).Steps(1, 8, 110, 10).Save(8, 190, 200).Steps(9, 10, 200, 10);
  run.Last().TaskExits(220, 0, 0).Ended(220, "COMPLETED");
  CheckLimits limits;
  limits.runtime = 0.5;
  limits.at_risk = 60 * kSecond;
  const std::string good = Checked(run, limits);
  EXPECT_EQ(good.substr(0, 29), "0 OK - job 1: runtime goodput") << good;
  limits.runtime = 0.99;
  const std::string bad = Checked(run, limits);
  EXPECT_EQ(bad.substr(0, 35), "2 CRITICAL - job 1: runtime goodput") << bad;
  EXPECT_NE(bad.find("; 0.0s at risk (at most 1m00s)"), std::string::npos) << bad;
}

TEST(Check, ARangeOnBothSidesOfTheLimitIsUnknown) {
  RunBuilder run;
  // Steps at risk: kept if it saves, lost if it dies.
  Started(run).TaskStarts(110, 0).Steps(1, 8, 110, 10).Save(8, 190, 200).Steps(9, 40, 200, 10);
  run.Now(520);
  CheckLimits limits;
  limits.runtime = 0.5;
  const std::string told = Checked(run, limits);
  EXPECT_EQ(told.substr(0, 9), "3 UNKNOWN") << told;
}

TEST(NowSummary, SaysHowManyGpusDoNothing) {
  NowTotals totals;
  EXPECT_EQ(NowSummary(totals), "No run holds nodes.");
  const auto add = [&](NowState state, int gpus) {
    RunNow run;
    run.state = state;
    run.gpus = gpus;
    totals.Add(run);
  };
  add(NowState::kTraining, 1408);
  EXPECT_EQ(NowSummary(totals), "1 run holds 1,408 GPUs; none is known to do nothing.");
  add(NowState::kNoProgress, 512);
  add(NowState::kIdle, 128);
  add(NowState::kUnobserved, 16);
  add(NowState::kQueued, 1);
  EXPECT_EQ(NowSummary(totals),
            "4 runs hold 2,064 GPUs; 640 of them in 2 runs do nothing useful (no progress 512, idle 128); "
            "what 16 of them do is not known. 1 run waits for 1 GPU.");
}

}  // namespace
}  // namespace goodput
