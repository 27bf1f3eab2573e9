// A glance at a run says that it trains, or nothing; never what its timeline contradicts.
#include "tools/accounting/report/glance.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "spank/event.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/accounting.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/accounting/report/report.h"

namespace goodput {
namespace {

constexpr std::int64_t kNow = 1'767'226'000;  // seconds
constexpr std::int64_t kFirst = kNow - 310;   // begin of the first of 30 steps of 10 s; the last is 20 s ago

class GlanceTest : public testing::Test {
 protected:
  GlanceTest() : db_(*Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite)) {
    row_.cluster = "c";
    row_.job_id = 7;
    row_.job_id_text = "7";
    row_.submit_s = kFirst - 60;
    row_.eligible_s = row_.submit_s;
    row_.start_s = kFirst - 50;
    row_.state = "RUNNING";
    row_.user = "ada";
    row_.node_list = "n1";
    row_.nodes = 1;
    row_.gpus = 8;
  }

  using Fill = std::function<void(RecordBuilder&)>;

  void Append(std::string_view kind, std::int64_t t_s, const Fill& fill = nullptr,
              const std::string& file = "boot") {
    const std::string node = kind == kind::kAttempt ? "@controller" : "n1";
    const std::string folder = Cat(folder_.path(), "/spool/", node);
    std::filesystem::create_directories(folder);
    RecordBuilder record(kind, {t_s * kSecond, t_s * kSecond, node, 1});
    record.Text(key::kCluster, "c");
    record.Int(key::kJob, 7);
    if (fill) fill(record);
    std::ofstream(Cat(folder, "/", file, ".2026010100Z.jsonl"), std::ios::app) << record.Finish();
  }
  void Told(std::string_view kind, std::int64_t t_s) {
    Append(kind, t_s, [](RecordBuilder& record) {
      record.Text(key::kSlurmStep, "0");
      record.Int(key::kTask, 0);
    });
  }
  void Step(std::int64_t step, std::int64_t t_s, const std::string& file = "boot",
            const std::string& slurm_step = "0", std::int64_t task = 0) {
    const auto fill = [&](RecordBuilder& record) {
      record.Text(key::kSlurmStep, slurm_step);
      record.Int(key::kTask, task);
      record.Text(key::kMark, "step");
      record.Text(key::kEdge, "begin");
      record.Int(key::kTrainStep, step);
    };
    Append(kind::kMark, t_s, fill, file);
  }
  void Mark(std::string_view mark, std::string_view edge, std::int64_t t_s) {
    Append(kind::kMark, t_s, [&](RecordBuilder& record) {
      record.Text(key::kSlurmStep, "0");
      record.Int(key::kTask, 0);
      record.Text(key::kMark, mark);
      record.Text(key::kEdge, edge);
    });
  }
  void Starts() {
    Append(kind::kJobProlog, kFirst - 45);
    Told(kind::kTaskStart, kFirst - 40);
  }
  void Trains(std::int64_t steps = 30) {
    for (std::int64_t step = 0; step < steps; ++step) Step(step, kFirst + step * 10);
  }

  // What a glance says, which its timeline does not contradict.
  std::string Glance(Ns now = kNow * kSecond, double stall_factor = 5) {
    EXPECT_TRUE(StoreAccounting(db_, {row_}, 1).ok());
    EXPECT_TRUE(IngestSpool(db_, folder_.path() + "/spool", {"c"}).ok());
    ClusterReader cluster(db_);
    const std::vector<JobKey> jobs = KnownJobs(db_).value();
    const absl::StatusOr<std::optional<RunNow>> glance = GlanceAtNow(db_, cluster, jobs, now, stall_factor);
    EXPECT_TRUE(glance.ok()) << glance.status();
    if (!glance.ok() || !*glance) return "look closer";
    ReportSettings settings;
    settings.now = now;
    settings.timeline.stall_factor = stall_factor;
    const std::vector<Report> reports = MakeReports(db_, cluster, jobs, settings).value();
    const std::optional<RunNow> look = LookAtNow(reports.at(0).timeline);
    const std::string looked = look ? Cat(NowStateName(look->state), " on ", look->gpus, ": ",
                                          EvidenceInWords(reports[0].timeline, *look))
                                    : "over";
    EXPECT_EQ(looked.substr(0, looked.find(':')), Cat("training on ", (*glance)->gpus)) << looked;
    return Cat(NowStateName((*glance)->state), " on ", (*glance)->gpus);
  }

  TempFolder folder_;
  Database db_;
  AccountingRow row_;
};

// A job that does what is drawn: most train, and one in two has something that a glance must see.
TEST_F(GlanceTest, WhateverHappensItsTimelineDoesNotContradict) {
  constexpr unsigned kJobs = 300;
  int trains = 0;
  for (unsigned seed = 0; seed < kJobs; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto one_of = [&](std::int64_t many) { return static_cast<std::int64_t>(random() % many) == 0; };
    const auto up_to = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned long>(most + 1));
    };
    std::filesystem::remove_all(folder_.path() + "/spool");
    db_ = *Database::Open(Cat(folder_.path(), "/", seed), Database::Mode::kReadWrite);
    const std::int64_t takes = 1 + up_to(100);
    const std::int64_t steps = 2 + up_to(60);
    std::int64_t t = kNow - steps * takes - up_to(90);
    row_.submit_s = t - 60;
    row_.start_s = t - 50;
    row_.restarts = one_of(20) ? 1 : 0;
    Append(kind::kJobProlog, t - 45);
    Told(kind::kTaskStart, t - 40);
    // Those of a task's end come last: after it, it marks no steps.
    constexpr std::array kKinds{kind::kTaskStart, kind::kProgramStart, kind::kSignal,   kind::kHost,
                                kind::kPhase,     kind::kHangEvidence, kind::kTaskExit, kind::kStepEnd};
    const auto something = [&](std::int64_t at, std::int64_t of = 8) {
      Told(kKinds.at(static_cast<std::size_t>(up_to(of - 1))), at);
    };
    if (one_of(10)) something(t - 5);
    std::int64_t step = 0;
    std::string file = "boot";
    for (std::int64_t i = 0; i < steps; ++i, ++step, t += takes) {
      if (one_of(300)) step = up_to(step);
      if (one_of(200)) something(t, 6);
      if (one_of(200)) t += up_to(600);
      if (one_of(50)) file = Cat("later", i);
      Step(step, t, file, "0", one_of(500) ? 1 : 0);
      if (one_of(10)) Mark("checkpoint", "begin", t);
      if (one_of(10)) Mark("checkpoint", "end", t);
    }
    if (one_of(10)) something(t - takes + 1);
    if (Glance() != "look closer") ++trains;
  }
  EXPECT_GT(trains, kJobs / 4);
}

TEST_F(GlanceTest, OneThatDoesNothingElseTrains) {
  Starts();
  Mark("init", "begin", kFirst - 30);
  Trains();
  Mark("checkpoint", "begin", kFirst + 101);
  Mark("checkpoint", "end", kFirst + 105);
  Append(kind::kHost, kFirst + 120);
  EXPECT_EQ(Glance(), "training on 8");
}

TEST_F(GlanceTest, MarksOfAnHourAreInAFileOfTheirOwn) {
  Starts();
  Trains(20);
  for (std::int64_t step = 20; step < 30; ++step) Step(step, kFirst + step * 10, "later");
  EXPECT_EQ(Glance(), "training on 8");
}

TEST_F(GlanceTest, AStepWithinTheLastMinuteAndNotInTheFuture) {
  Starts();
  Trains();
  const std::int64_t last = kFirst + 290;
  EXPECT_EQ(Glance((last + 60) * kSecond), "training on 8");
  EXPECT_EQ(Glance((last + 60) * kSecond + 1), "look closer");
  EXPECT_EQ(Glance(last * kSecond), "training on 8");
  EXPECT_EQ(Glance(last * kSecond - 1), "look closer");
}

TEST_F(GlanceTest, OfLongStepsOneIsAwaitedLonger) {
  Starts();
  for (std::int64_t step = 0; step < 16; ++step) Step(step, kFirst + step * 100);
  // A step of 100 s, to 0.025 %: 200 s, of the 500 after which it is stalled.
  const std::int64_t last = kFirst + 1500;
  EXPECT_EQ(Glance((last + 200) * kSecond), "training on 8");
  EXPECT_EQ(Glance((last + 201) * kSecond), "look closer");
  EXPECT_EQ(Glance((last + 100) * kSecond, 2.5), "training on 8");
  EXPECT_EQ(Glance((last + 101) * kSecond, 2.5), "look closer");
}

TEST_F(GlanceTest, HowLongAStepTakesTheNewestTellThatAreEnough) {
  Starts();
  for (std::int64_t step = 0; step < 16; ++step) Step(step, kFirst + step * 100);
  for (std::int64_t step = 16; step < 32; ++step) Step(step, kFirst + step * 100 + (step - 16) * 10, "later");
  for (std::int64_t step = 32; step < 47; ++step) Step(step, kFirst + 3260 + (step - 32) * 500, "too few");
  const std::int64_t last = kFirst + 3260 + 14 * 500;
  EXPECT_EQ(Glance((last + 220) * kSecond), "training on 8");
  EXPECT_EQ(Glance((last + 221) * kSecond), "look closer");
}

TEST_F(GlanceTest, AFewStepsDoNotTellHowLongOneTakes) {
  Starts();
  for (std::int64_t step = 0; step < 15; ++step) Step(step, kFirst + step * 100);
  EXPECT_EQ(Glance((kFirst + 1461) * kSecond), "look closer");
}

TEST_F(GlanceTest, OfVeryLongStepsMarksAreFew) {
  Starts();
  for (std::int64_t step = 0; step < 16; ++step) Step(step, kFirst + step * 1000);
  const std::int64_t last = kFirst + 15000;
  EXPECT_EQ(Glance((last + 600) * kSecond), "training on 8");
  EXPECT_EQ(Glance((last + 601) * kSecond), "look closer");
}

TEST_F(GlanceTest, ImpossibleStepsAreNoSteps) {
  Starts();
  Step(0, kFirst);
  Step(kMaxTrainStep, kFirst + 250);
  EXPECT_EQ(Glance(), "training on 8");
  Step(std::numeric_limits<std::int64_t>::max(), kFirst + 260, "later");
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, NegativeStepsAreNoSteps) {
  Starts();
  Step(std::numeric_limits<std::int64_t>::min(), kFirst);
  Trains();
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, WhoseProgramBeganAgain) {
  Starts();
  Trains(20);
  for (std::int64_t step = 10; step < 20; ++step) Step(step, kFirst + (step + 10) * 10, "later");
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, WhoseProgramBeganAgainWithinAFile) {
  Starts();
  Trains(20);
  for (std::int64_t step = 10; step < 20; ++step) Step(step, kFirst + (step + 10) * 10);
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, TwoProgramsMark) {
  Starts();
  Trains(20);
  for (std::int64_t step = 20; step < 30; ++step) Step(step, kFirst + step * 10, "later", "1");
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, TwoTasksMark) {
  Starts();
  Trains(20);
  for (std::int64_t step = 20; step < 30; ++step) Step(step, kFirst + step * 10, "later", "0", 1);
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, SomethingEndedOrBegan) {
  Starts();
  Trains();
  EXPECT_EQ(Glance(), "training on 8");
  for (const std::string_view kind : {kind::kTaskExit, kind::kTaskStart, kind::kHangEvidence, kind::kSignal,
                                      kind::kProgramStart, kind::kStepEnd, kind::kCollective}) {
    std::filesystem::remove_all(folder_.path() + "/spool");
    db_ = *Database::Open(folder_.path() + "/" + std::string(kind), Database::Mode::kReadWrite);
    Starts();
    Trains();
    Told(kind, kFirst + 295);
    EXPECT_EQ(Glance(), "look closer") << kind;
  }
}

TEST_F(GlanceTest, SomethingEndedBefore) {
  Starts();
  Told(kind::kTaskExit, kFirst - 30);
  Trains();
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, TheQueueWasLookedAtMeanwhile) {
  const auto look = [&](std::int64_t t_s, const std::string& state) {
    Append(kind::kAttempt, t_s, [&](RecordBuilder& record) {
      record.Text(key::kState, state);
      record.Int(key::kSubmitS, row_.submit_s);
    });
  };
  Starts();
  Trains();
  look(row_.submit_s, "PENDING");
  look(kFirst + 100, "RUNNING");
  EXPECT_EQ(Glance(), "training on 8");
  look(kFirst + 295, "RUNNING");
  EXPECT_EQ(Glance(), "training on 8");
  look(kFirst + 296, "SUSPENDED");
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, AccountingHasMoreToSay) {
  Starts();
  Trains();
  const AccountingRow runs = row_;
  row_.restarts = 1;
  EXPECT_EQ(Glance(), "look closer");
  row_ = runs;
  row_.suspended_s = 5;
  EXPECT_EQ(Glance(), "look closer");
  row_ = runs;
  row_.state = "SUSPENDED";
  EXPECT_EQ(Glance(), "look closer");
  row_ = runs;
  row_.job_id_text = "7+0";
  EXPECT_EQ(Glance(), "look closer");
  row_ = runs;
  EXPECT_EQ(Glance(), "training on 8");
  row_.end_s = kNow - 5;
  row_.state = "FAILED";
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, ItWasRequeued) {
  Starts();
  Trains();
  EXPECT_TRUE(StoreAccounting(db_, {row_}, 1).ok());
  row_.submit_s += 10;
  EXPECT_EQ(Glance(), "look closer");
}

TEST_F(GlanceTest, AccountingDoesNotKnowIt) {
  Starts();
  Trains();
  row_.job_id = 8;
  row_.job_id_text = "8";
  EXPECT_TRUE(IngestSpool(db_, folder_.path() + "/spool", {"c"}).ok());
  ClusterReader cluster(db_);
  const auto glance = GlanceAtNow(db_, cluster, {KnownJobs(db_, 7).value().at(0)}, kNow * kSecond, 5);
  EXPECT_TRUE(glance.ok() && !*glance);
}

TEST_F(GlanceTest, TheJobOfThatNumberOnAnotherClusterTrains) {
  row_.cluster = "other";
  EXPECT_TRUE(StoreAccounting(db_, {row_}, 1).ok());
  Starts();
  Trains();
  EXPECT_TRUE(IngestSpool(db_, folder_.path() + "/spool", {"c"}).ok());
  ClusterReader cluster(db_);
  JobKey job;
  job.cluster = "other";
  job.job_id = 7;
  job.heard_s = kNow;
  const auto glance = GlanceAtNow(db_, cluster, {job}, kNow * kSecond, 5);
  EXPECT_TRUE(glance.ok() && !*glance);
}

}  // namespace
}  // namespace goodput
