// Jobs are identified by cluster, job id and the time when they had that id.
#include "sql/tables/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "spank/event.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/accounting.h"
#include "sql/tables/backfill_windows.h"
#include "sql/tables/evidence.h"
#include "sql/tables/owners.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/accounting/runs/load_run.h"

namespace goodput {
namespace {

constexpr std::int64_t kNs = 1'000'000'000;

class JobsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto db = Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite);
    ASSERT_TRUE(db.ok()) << db.status();
    db_.emplace(*std::move(db));
  }
  void Accounted(const std::string& cluster, std::int64_t submit_s, const std::string& state,
                 const std::string& user = "ada", std::optional<std::int64_t> restarts = std::nullopt) {
    AccountingRow row;
    row.cluster = cluster;
    row.job_id = 7;
    row.job_id_text = "7";
    row.submit_s = submit_s;
    row.eligible_s = submit_s;
    row.start_s = submit_s + 1;
    row.end_s = submit_s + 50;
    row.state = state;
    row.user = user;
    row.name = "train";
    row.restarts = restarts;
    ASSERT_TRUE(StoreAccounting(*db_, {row}, 1).ok());
  }
  // `boot`: the boot id of the machine; the controllers of two clusters have different ones.
  void Append(const std::string& node, const std::string& boot, const std::string& record) {
    const std::string folder = Cat(folder_.path(), "/spool/", node);
    std::filesystem::create_directories(folder);
    std::ofstream(Cat(folder, "/", boot, ".2026010100Z.jsonl"), std::ios::app) << record;
  }
  void Watched(const std::string& cluster, std::int64_t submit_s, std::int64_t restart) {
    RecordBuilder builder(kind::kQueue, {(submit_s + 1) * kNs, submit_s * kNs, "@controller", 1});
    builder.Text(key::kCluster, cluster);
    builder.Int(key::kJob, 7);
    builder.Text(key::kState, "RUNNING");
    builder.Text(key::kUser, "ada");
    builder.Text(key::kName, "train");
    builder.Int(key::kSubmitS, submit_s);
    builder.Int(key::kRestart, restart);
    Append("@controller", "boot" + cluster, std::string(builder.Finish()));
  }
  void Marked(const std::string& node, const std::string& cluster, std::int64_t t_s, std::int64_t step,
              const std::string& run = "") {
    RecordBuilder prolog(kind::kJobProlog, {t_s * kNs, t_s * kNs, node, 1});
    prolog.Text(key::kCluster, cluster);
    prolog.Int(key::kJob, 7);
    if (!run.empty()) {
      prolog.OpenObject(key::kOpt);
      prolog.Text(key::kRun, run);
      prolog.CloseObject();
    }
    Append(node, "boot", std::string(prolog.Finish()));
    RecordBuilder mark(kind::kMark, {t_s * kNs, t_s * kNs, node, 1});
    mark.Int(key::kJob, 7);
    mark.Text(key::kSlurmStep, "0");
    mark.Text(key::kMark, "step");
    mark.Text(key::kEdge, "begin");
    mark.Int(key::kTrainStep, step);
    Append(node, "boot", std::string(mark.Finish()));
  }
  std::vector<JobKey> Known() {
    if (std::filesystem::exists(folder_.path() + "/spool")) {
      EXPECT_TRUE(IngestSpool(*db_, folder_.path() + "/spool", {}).ok());
    }
    auto jobs = KnownJobs(*db_);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    return *jobs;
  }
  std::vector<std::int64_t> StepsOf(const JobKey& job) {
    const auto run = LoadRun(*db_, {job}, 10'000 * kNs);
    EXPECT_TRUE(run.ok()) << run.status();
    std::vector<std::int64_t> steps;
    for (const AttemptFacts& attempt : run->facts.attempts) {
      for (const StepMark& mark : attempt.step_marks) steps.push_back(mark.train_step);
    }
    return steps;
  }

  TempFolder folder_;
  std::optional<Database> db_;
};

TEST_F(JobsTest, ARequeuedJobIsOne) {
  Accounted("a", 100, "REQUEUED");
  Accounted("a", 200, "PREEMPTED");
  Accounted("a", 300, "COMPLETED");
  EXPECT_EQ(Known(), (std::vector<JobKey>{{"a", 7}}));
}

TEST_F(JobsTest, TheSameIdOfAnotherUserIsAnotherJob) {
  Accounted("a", 100, "COMPLETED");
  Accounted("a", 300, "REQUEUED", "bob");
  Accounted("a", 400, "COMPLETED", "bob");
  EXPECT_EQ(Known(), (std::vector<JobKey>{{"a", 7}, {"a", 7, 300}}));
  EXPECT_EQ(Known()[0].until_s, 300);
}

TEST_F(JobsTest, ARestartCountDecidesWhereNamesDoNot) {
  Accounted("a", 100, "REQUEUED", "ada", 0);
  Accounted("a", 200, "COMPLETED", "ada", 1);
  Accounted("a", 300, "COMPLETED", "ada", 0);
  EXPECT_EQ(Known(), (std::vector<JobKey>{{"a", 7}, {"a", 7, 300}}));
}

TEST_F(JobsTest, TheWatchsRestartCountDoesAsWell) {
  Accounted("a", 100, "RUNNING");  // its controller lost its state
  Accounted("a", 300, "COMPLETED");
  Watched("a", 300, 0);
  Watched("a", 300, 1);  // requeued while it completes
  Watched("b", 300, 5);
  EXPECT_EQ(Known(), (std::vector<JobKey>{{"a", 7}, {"a", 7, 300}, {"b", 7}}));
}

TEST_F(JobsTest, AResizedJobIsOne) {
  Accounted("a", 100, "RESIZING", "ada", 0);
  Accounted("a", 200, "COMPLETED", "ada", 0);
  EXPECT_EQ(Known().size(), 1U);
}

TEST_F(JobsTest, WithoutAccountingTheWatchTellsThemApart) {
  Watched("a", 100, 0);
  Watched("a", 200, 1);
  Watched("a", 900, 0);
  EXPECT_EQ(Known(), (std::vector<JobKey>{{"a", 7}, {"a", 7, 900}}));
}

TEST_F(JobsTest, EachHasItsOwnStepsAndRun) {
  Accounted("a", 100, "COMPLETED");
  Accounted("a", 300, "COMPLETED", "bob");
  Accounted("b", 100, "COMPLETED");
  Marked("n1", "a", 110, 1, "first");
  Marked("n1", "a", 310, 2, "second");
  Marked("m1", "b", 120, 3, "other");
  const std::vector<JobKey> jobs = Known();
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(StepsOf(jobs[0]), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(StepsOf(jobs[1]), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(StepsOf(jobs[2]), (std::vector<std::int64_t>{3}));
  const auto names = RunNames(*db_, jobs);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->at(jobs[0]), "first");
  EXPECT_EQ(names->at(jobs[1]), "second");
  EXPECT_EQ(names->at(jobs[2]), "other");
}

TEST_F(JobsTest, AReusedIdHasNotTheRunOfTheJobBefore) {
  Accounted("a", 100, "COMPLETED");
  Accounted("a", 300, "COMPLETED", "bob");
  Marked("n1", "a", 110, 1, "first");
  Marked("n1", "a", 310, 2);
  const std::vector<JobKey> jobs = Known();
  ASSERT_EQ(jobs.size(), 2U);
  const auto names = RunNames(*db_, jobs);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->at(jobs[0]), "first");
  EXPECT_EQ(names->count(jobs[1]), 0U);
}

TEST_F(JobsTest, AJobIsOverOnlyInAStateFromWhichSlurmRestartsNone) {
  Accounted("a", 100, "PREEMPTED");
  EXPECT_GT(Known().at(0).over_s, 1'000'000);
  Accounted("a", 100, "FAILED");
  EXPECT_EQ(Known().at(0).over_s, 150);
}

TEST_F(JobsTest, ASpoolFileThatNamesNoClusterIsOfWhicheverHasTheJob) {
  Accounted("a", 100, "COMPLETED");
  Marked("n1", "", 110, 1);
  const std::vector<JobKey> jobs = Known();
  ASSERT_EQ(jobs, (std::vector<JobKey>{{"a", 7}}));
  EXPECT_EQ(StepsOf(jobs[0]), (std::vector<std::int64_t>{1}));
}

// The owner of each job, in the order of `jobs`, looked up individually and all at once.
std::vector<std::string> OwnersIn(Database& db, const std::vector<JobKey>& jobs) {
  const auto few = OwnersOf(db, jobs);
  EXPECT_TRUE(few.ok()) << few.status();
  std::vector<JobKey> many = jobs;
  for (std::int64_t id = 1000; id < 1100; ++id) many.push_back({"a", id});
  const auto all = OwnersOf(db, many);
  EXPECT_TRUE(all.ok()) << all.status();
  std::vector<std::string> users;
  for (const JobKey& job : jobs) {
    users.push_back(few->at(job).user);
    EXPECT_EQ(all->at(job).user, users.back());
  }
  return users;
}

TEST_F(JobsTest, EachUseOfAnIdHasItsOwner) {
  Accounted("a", 100, "REQUEUED", "ada", 0);
  Accounted("a", 200, "COMPLETED", "ada", 1);
  Accounted("a", 300, "COMPLETED", "eve", 0);
  Accounted("b", 120, "COMPLETED", "noah");
  const std::vector<JobKey> jobs = Known();
  EXPECT_EQ(OwnersIn(*db_, jobs), (std::vector<std::string>{"ada", "eve", "noah"}));
}

TEST_F(JobsTest, WithoutAccountingTheWatchKnowsTheOwner) {
  Watched("a", 100, 0);
  EXPECT_EQ(OwnersIn(*db_, Known()), (std::vector<std::string>{"ada"}));
}

TEST_F(JobsTest, WhoseNobodySaysIsNobodys) {
  Marked("n1", "a", 110, 1);
  EXPECT_EQ(OwnersIn(*db_, Known()), (std::vector<std::string>{""}));
}

// Jobs by id; slurmdbd was asked for [0, 1,000,000).
class JobsSinceTest : public JobsTest {
 protected:
  static constexpr std::int64_t kSinceS = 500'000;
  static constexpr std::int64_t kDayS = 86'400;

  void Ran(std::int64_t id, std::int64_t submit_s, std::optional<std::int64_t> end_s,
           const std::string& state = "COMPLETED", const std::string& cluster = "a") {
    AccountingRow row;
    row.cluster = cluster;
    row.job_id = id;
    row.job_id_text = Cat(id);
    row.submit_s = submit_s;
    row.end_s = end_s;
    row.state = state;
    ASSERT_TRUE(StoreAccounting(*db_, {row}, 1).ok());
  }
  void Heard(std::int64_t id, std::int64_t last_s, const std::string& run = "",
             const std::string& cluster = "a") {
    Statement seen = db_->Prepare(
        "INSERT INTO job_seen (job_id, cluster, run, first_t_s, last_t_s) VALUES (?1, ?2, ?3, ?4, ?4)");
    seen.Bind(1, id).Bind(2, cluster).Bind(3, run).Bind(4, last_s);
    ASSERT_TRUE(seen.Run().ok());
    if (!run.empty()) Heard(id, last_s, "", cluster);
  }
  void Asked(std::int64_t from_s, std::int64_t to_s, const std::string& cluster = "a") {
    ASSERT_TRUE(MarkBackfilled(*db_, cluster, {from_s, to_s}).ok());
  }
  std::vector<std::int64_t> Since(std::int64_t since_s) {
    auto jobs = JobsSince(*db_, since_s);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    std::vector<std::int64_t> ids;
    for (const JobKey& job : *jobs) {
      ids.push_back(job.job_id);
      const auto known = KnownJobs(*db_, job.job_id);
      const auto same = std::find(known->begin(), known->end(), job);
      EXPECT_TRUE(same != known->end() && same->over_s == job.over_s && same->heard == job.heard &&
                  same->until_s == job.until_s)
          << job;
    }
    return ids;
  }
};

TEST_F(JobsSinceTest, WhatEndedBeforeIsLeftOut) {
  Asked(0, 1'000'000);
  Ran(1, 100, 200);
  Ran(2, 100, kSinceS - 1);
  Ran(3, 100, kSinceS);
  Ran(4, 100, std::nullopt, "RUNNING");
  Ran(5, 100, 200, "NODE_FAIL");
  Ran(6, 100, 200, "REQUEUED");
  Ran(6, 300, std::nullopt, "PENDING");
  for (std::int64_t id = 1; id <= 6; ++id) Heard(id, 200);
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{3, 4, 6}));
  EXPECT_EQ(Since(0), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(JobsSinceTest, WhatAccountingDoesNotKnowIsOverOnceItWasAskedADayLater) {
  Asked(1000, 300'000);
  Asked(1000, 300'000, "b");
  Heard(1, 999);                  // it was not asked for that time
  Heard(2, 1000);                 // over
  Heard(3, 300'000 - kDayS - 1);  // over
  Heard(4, 300'000 - kDayS);      // it was not asked for the day after
  Heard(5, kSinceS);              // not long ago
  Heard(6, 2000, "", "b");        // over
  Heard(7, 2000, "", "c");        // its cluster was never asked
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{1, 4, 5, 7}));
  EXPECT_EQ(Since(1500), (std::vector<std::int64_t>{1, 3, 4, 5, 6, 7})) << "a record after that time";
}

TEST_F(JobsSinceTest, WhoeverNamesNoClusterAsksForTheOnlyOne) {
  Asked(0, 1'000'000, "");
  Ran(1, 100, 200);
  Heard(1, 200);
  Heard(2, 200);
  Heard(3, 200, "", "b");
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{3}));
  Ran(4, 100, 200, "COMPLETED", "b");
  Heard(4, 200, "", "b");
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{1, 2, 3, 4})) << "which of the two was asked for?";
}

TEST_F(JobsSinceTest, WhereAccountingWasNeverAskedAllAreKept) {
  Ran(1, 100, 200);
  Heard(2, 200);
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(JobsSinceTest, TheOthersOfARunComeAlong) {
  Asked(0, 1'000'000);
  for (const std::int64_t id : {1, 20, 300}) {
    Ran(id, 100, 200);
    Heard(id, 200, "llama");
  }
  Ran(4000, 100, std::nullopt, "RUNNING");
  Heard(4000, 200, "llama");
  Ran(21, 100, 200);
  Heard(21, 200, "other");
  Ran(4002, 100, std::nullopt, "RUNNING");
  EXPECT_EQ(Since(kSinceS), (std::vector<std::int64_t>{1, 20, 300, 4000, 4002}));
}

}  // namespace
}  // namespace goodput
