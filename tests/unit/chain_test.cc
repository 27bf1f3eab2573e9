// Inference of which jobs form one run, from their submit, start and end times in seconds.
#include "tools/accounting/runs/chain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/tables/accounting.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

JobOutline Job(std::int64_t id, std::int64_t submit, std::optional<std::int64_t> start,
               std::optional<std::int64_t> end) {
  JobOutline job;
  job.job = {"c", id};
  job.user = "eve";
  job.account = "acc";
  job.partition = "a3";
  job.name = "train";
  job.submit_s = submit;
  job.start_s = start;
  job.end_s = end;
  return job;
}
JobOutline Waiting(JobOutline job, std::string dependency) {
  job.dependencies.push_back(std::move(dependency));
  return job;
}

std::string Ids(const Chain& chain) {
  return absl::StrJoin(chain.jobs, " ",
                       [](std::string* out, const JobKey& job) { *out += std::to_string(job.job_id); });
}

TEST(Dependency, IsReadFromWhatSlurmWrites) {
  const Dependency one = ReadDependency("afterok:12(unfulfilled),afterany:13:14(unfulfilled)");
  EXPECT_EQ(one.after, (std::vector<std::int64_t>{12, 13, 14}));
  EXPECT_FALSE(one.singleton);
  EXPECT_EQ(ReadDependency("aftercorr:20_*(unfulfilled)?afternotok:21(failed)").after,
            (std::vector<std::int64_t>{20, 21}));
  EXPECT_TRUE(ReadDependency("singleton(unfulfilled)").singleton);
  // Dependencies on a start or on a stage-out do not continue a training run.
  EXPECT_TRUE(ReadDependency("after:12+5(unfulfilled),afterburstbuffer:13,expand:14").after.empty());
  EXPECT_TRUE(ReadDependency("").after.empty());
  EXPECT_TRUE(ReadDependency("afterok:,afterok:x,:::,((").after.empty());
}

TEST(Chain, DependenciesJoinWhateverTheNames) {
  JobOutline second = Waiting(Job(2, 0, 110, 200), "afterok:1(unfulfilled)");
  second.name = "finetune";
  JobOutline third = Waiting(Job(3, 0, std::nullopt, std::nullopt), "afternotok:2(unfulfilled)");
  third.name = "evaluate";
  const std::vector<JobOutline> jobs{Job(1, 0, 10, 100), second, third};
  for (const JobOutline& job : jobs) EXPECT_EQ(Ids(InferChain(jobs, job.job)), "1 2 3");
  EXPECT_EQ(InferChain(jobs, jobs[0].job).inferred, "3 jobs as one run (1, 2, 3), joined 2 by dependency");
}

TEST(Chain, AResubmissionComesOnceTheOneBeforeHasStarted) {
  const std::vector<JobOutline> jobs{Job(1, 0, 10, 100), Job(2, 500, 510, 600), Job(3, 550, 610, 700)};
  EXPECT_EQ(Ids(InferChain(jobs, jobs[1].job)), "1 2 3");
  EXPECT_EQ(InferChain(jobs, jobs[1].job).inferred,
            "3 jobs as one run (1, 2, 3), joined 2 by name 'train', user, account and partition, submitted "
            "after the previous one had started");
}

TEST(Chain, ASweepIsNone) {
  const std::vector<JobOutline> jobs{Job(1, 0, 10, 100), Job(2, 1, 10, 100), Job(3, 2, 110, 200)};
  for (const JobOutline& job : jobs) {
    const Chain chain = InferChain(jobs, job.job);
    EXPECT_EQ(chain.jobs, std::vector<JobKey>{job.job});
    EXPECT_EQ(chain.inferred, "no other known job seems to belong to the same run");
  }
}

TEST(Chain, AJobCancelledWhileItWaitedWasOverThen) {
  EXPECT_EQ(Ids(InferChain({Job(1, 0, std::nullopt, 50), Job(2, 60, 70, 80)}, {"c", 2})), "1 2");
  EXPECT_EQ(Ids(InferChain({Job(1, 0, std::nullopt, 50), Job(2, 40, 70, 80)}, {"c", 2})), "2");
}

TEST(Chain, SingletonsWaitForEachOther) {
  const std::vector<JobOutline> jobs{Job(1, 0, 10, 100),
                                     Waiting(Job(2, 1, 100, 200), "singleton(unfulfilled)")};
  EXPECT_EQ(Ids(InferChain(jobs, jobs[0].job)), "1 2");
  EXPECT_EQ(InferChain(jobs, jobs[0].job).inferred, "2 jobs as one run (1, 2), joined 1 as singleton");
}

TEST(Chain, AnotherUserAccountPartitionNameOrClusterIsAnotherRun) {
  const JobOutline mine = Job(1, 0, 10, 100);
  const auto joined = [&](const auto& change) {
    JobOutline other = Job(2, 200, 210, 300);
    change(other);
    return InferChain({mine, other}, mine.job).jobs.size() == 2;
  };
  EXPECT_TRUE(joined([](JobOutline&) {}));
  EXPECT_FALSE(joined([](JobOutline& job) { job.user = "adam"; }));
  EXPECT_FALSE(joined([](JobOutline& job) {
    job.user = "adam";
    job.dependencies = {"afterok:1"};
  }));
  EXPECT_FALSE(joined([](JobOutline& job) { job.account = "other"; }));
  EXPECT_FALSE(joined([](JobOutline& job) { job.partition = "cpu"; }));
  EXPECT_FALSE(joined([](JobOutline& job) { job.name = "serve"; }));
  EXPECT_FALSE(joined([](JobOutline& job) { job.job.cluster = "d"; }));
  EXPECT_FALSE(joined([](JobOutline& job) { job.run = "named"; }));
  EXPECT_FALSE(joined([](JobOutline& job) {
    job.job.cluster = "d";
    job.dependencies = {"afterok:1"};
  }));
}

TEST(Chain, OfManyOnlySomeAreNamed) {
  std::vector<JobOutline> jobs;
  for (int i = 1; i <= 12; ++i) jobs.push_back(Job(i, i * 100, i * 100 + 1, i * 100 + 50));
  EXPECT_EQ(InferChain(jobs, jobs[5].job).inferred.substr(0, 60),
            "12 jobs as one run (1, 2, 3, 4, 5, 6, 7, 8 and 4 more), join");
}

TEST(FindChain, ReadsAccountingAndWhatTheWatchSaw) {
  TempFolder folder;
  absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  std::vector<AccountingRow> rows;
  const auto accounted = [&](std::int64_t id, std::int64_t submit, std::int64_t start, std::int64_t end,
                             const std::string& user) {
    AccountingRow row;
    row.cluster = "c";
    row.job_id = id;
    row.submit_s = submit;
    row.start_s = start;
    row.end_s = end;
    row.user = user;
    row.account = "acc";
    row.partition = "a3";
    row.name = "train";
    row.state = "COMPLETED";
    row.job_id_text = std::to_string(id);
    rows.push_back(row);
  };
  accounted(1, 0, 10, 100, "eve");
  accounted(2, 200, 210, 300, "eve");
  accounted(3, 400, 410, 500, "adam");
  ASSERT_TRUE(StoreAccounting(*db, rows, 1000).ok());
  const std::string spool = folder.path() + "/spool";
  std::filesystem::create_directories(spool + "/@controller");
  std::ofstream(spool + "/@controller/boot.2026010100Z.jsonl") << R"json(
{"v":1,"t":450000000000,"m":1,"node":"@controller","stepd":1,"kind":"queue","cluster":"c","job":4,"state":"PENDING","submit_s":450,"user":"eve","name":"more","dependency":"afterany:2(unfulfilled)"}

{"v":1,"t":331000000000,"m":1,"node":"@controller","stepd":1,"kind":"attempt","cluster":"c","job":5,"state":"RUNNING","submit_s":320,"start_s":330,"user":"eve","account":"acc","partition":"a3","name":"train"}
)json";
  const auto report = IngestSpool(*db, spool, {"c"});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_TRUE(report->problems.empty()) << report->problems.front();
  for (const std::int64_t id : {1, 2, 4, 5}) {
    const absl::StatusOr<Chain> chain = FindChain(*db, {"c", id});
    ASSERT_TRUE(chain.ok()) << chain.status();
    EXPECT_EQ(Ids(*chain), "1 2 5 4") << id;
  }
  const absl::StatusOr<Chain> other = FindChain(*db, {"c", 3});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(Ids(*other), "3");
  EXPECT_TRUE(absl::IsNotFound(FindChain(*db, {"c", 99}).status()));
}

TEST(FindChain, ARecordThatIsNoJsonStopsNoIngest) {
  TempFolder folder;
  absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  const absl::Status stored = db->Execute(
      "INSERT INTO source (id, cluster, node, file) VALUES (1, 'c', '@controller', 'f');"
      "INSERT INTO event VALUES (1, 9, 2, 'queue', 6, 'no JSON, \"dependency\":\"afterany:2\"')");
  EXPECT_TRUE(stored.ok()) << stored;
}

TEST(FindChain, LooksAtNoJobThatHasNothingToDoWithIt) {
  TempFolder folder;
  absl::StatusOr<Database> db = Database::Open(folder.path() + "/db", Database::Mode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  const auto plan_of = [&](const std::string& sql) {
    Statement plan = db->Prepare("EXPLAIN QUERY PLAN " + sql);
    std::string text;
    while (plan.Step()) text += plan.Text(3) + "\n";
    return text;
  };
  // The same expressions as in sql/tables/chains.cc.
  const std::string named = plan_of(
      "SELECT job_id FROM event WHERE event.job_id IS NOT NULL AND kind IN ('queue', 'attempt')"
      " AND CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END = 'eve'"
      " AND CASE WHEN json_valid(record) THEN json_extract(record, '$.name') END = 'train'");
  EXPECT_NE(named.find("event_by_name"), std::string::npos) << named;
  const std::string waiting = plan_of(
      "SELECT job_id FROM event WHERE event.job_id IS NOT NULL AND kind IN ('queue', 'attempt')"
      " AND instr(record, '\"dependency\":') > 0"
      " AND CASE WHEN json_valid(record) THEN json_extract(record, '$.user') END = 'eve'");
  EXPECT_NE(waiting.find("event_by_dependency"), std::string::npos) << waiting;
  // Of a job with a hundred thousand marks: sql/tables/jobs.cc.
  const std::string watched =
      plan_of("SELECT record FROM event WHERE job_id = ?1 AND kind IN ('queue', 'attempt')");
  EXPECT_NE(watched.find("event_of_watch"), std::string::npos) << watched;
}

}  // namespace
}  // namespace goodput
