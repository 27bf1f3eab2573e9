// Backfill reads everything from slurmdbd exactly once, in bounded windows, despite errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/spank/temp_folder.h"
#include "tools/goodputd/accounting_follower.h"
#include "tools/sources/slurm/backfiller.h"

namespace goodput {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kNow = 1'700'000'000;
constexpr std::int64_t kMinuteNs = 60'000'000'000;

// A slurmdbd with given records.
class FakeSource : public AccountingSource {
 public:
  absl::StatusOr<std::vector<AccountingRow>> Attempts(Stretch stretch) override {
    asked.push_back(stretch);
    if (nobody) return absl::NotFoundError("no sacct");
    if (stretch.to_s - stretch.from_s > longest_s) return absl::UnavailableError("too wide of a date range");
    std::vector<AccountingRow> found;
    for (const AccountingRow& row : rows) {
      if (row.submit_s < stretch.to_s && row.end_s.value_or(kNow) >= stretch.from_s) found.push_back(row);
    }
    return found;
  }
  absl::StatusOr<std::vector<NodeOutage>> Outages(Stretch /*stretch*/) override { return outages; }

  std::vector<AccountingRow> rows;
  std::vector<NodeOutage> outages;
  std::int64_t longest_s = 1000 * kDay;
  bool nobody = false;
  std::vector<Stretch> asked;
};

AccountingRow Row(std::int64_t id, std::int64_t submit_s, std::optional<std::int64_t> end_s) {
  AccountingRow row;
  row.cluster = "c1";
  row.job_id = id;
  row.submit_s = submit_s;
  row.start_s = submit_s;
  row.end_s = end_s;
  row.state = end_s ? "COMPLETED" : "RUNNING";
  return row;
}

class BackfillTest : public testing::Test {
 protected:
  BackfillTest() : db_(Open()) {
    for (int day = 1; day <= 30; ++day)
      source_.rows.push_back(Row(day, kNow - day * kDay + 100, kNow - day * kDay + 2 * kDay));
  }
  Database Open() {
    absl::StatusOr<Database> db = Database::Open(folder_.path() + "/db", Database::Mode::kReadWrite);
    EXPECT_TRUE(db.ok());
    return *std::move(db);
  }
  std::int64_t Count(const std::string& table = "accounting") {
    Statement count = db_.Prepare("SELECT count(*) FROM " + table);
    EXPECT_TRUE(count.Step());
    return count.Int(0);
  }
  // Fills everything that is missing. Returns the number of windows.
  int Fill(Stretch wanted) {
    Backfiller backfiller(db_, source_, "c1");
    int steps = 0;
    for (bool more = true; more && steps < 10'000; ++steps) {
      const absl::StatusOr<bool> step = backfiller.Step(wanted, kNow);
      if (step.ok()) more = *step;
    }
    return steps;
  }
  std::string Done() {
    const auto done = LoadBackfilled(db_, "c1");
    EXPECT_TRUE(done.ok());
    std::string text;
    for (const Stretch& one : *done)
      text += (text.empty() ? "" : " ") + std::to_string(one.from_s - kNow) + ".." +
              std::to_string(one.to_s - kNow);
    return text;
  }

  TempFolder folder_;
  Database db_;
  FakeSource source_;
};

TEST_F(BackfillTest, TheLatestWindowComesFirstAndTheNextAreLongerWhereThereIsLittle) {
  EXPECT_EQ(Fill({kNow - 200 * kDay, kNow}), 11);
  std::string days;
  for (const Stretch& one : source_.asked)
    days += " " + std::to_string((one.to_s - one.from_s + kDay / 2) / kDay);
  EXPECT_EQ(days, " 1 2 4 8 16 32 32 32 32 32 9");
  EXPECT_EQ(source_.asked.front().to_s, kNow - Backfiller::kSettleS);
  EXPECT_EQ(source_.asked.back().from_s, kNow - 200 * kDay);
  EXPECT_EQ(Count(), 30);
}

TEST_F(BackfillTest, WhatHadBegunBeforeAndStillRanIsRead) {
  EXPECT_EQ(Fill({kNow - 10 * kDay, kNow}), 4);
  EXPECT_EQ(Count(), 12);
  EXPECT_EQ(Done(), "-864000..-3600");
}

TEST_F(BackfillTest, WindowsOfABusyClusterAreADay) {
  source_.rows.clear();
  constexpr std::int64_t kAgo = 6;  // days; until then it had many jobs
  for (int job = 1; job <= 1000; ++job)
    source_.rows.push_back(Row(job, kNow - 40 * kDay, kNow - kAgo * kDay));
  Fill({kNow - 30 * kDay, kNow});
  for (const Stretch& one : source_.asked) {
    if (one.to_s <= kNow - kAgo * kDay) {
      EXPECT_LE(one.to_s - one.from_s, kDay);
    }
  }
  EXPECT_LT(source_.asked.size(), 30U);
}

TEST_F(BackfillTest, WhatWasReadIsNotAskedForAgain) {
  Fill({kNow - 5 * kDay, kNow - 2 * kDay});
  source_.asked.clear();
  Fill({kNow - 7 * kDay, kNow});
  for (const Stretch& one : source_.asked) {
    EXPECT_TRUE(one.to_s <= kNow - 5 * kDay || one.from_s >= kNow - 2 * kDay)
        << one.from_s - kNow << ".." << one.to_s - kNow;
  }
  source_.asked.clear();
  EXPECT_EQ(Fill({kNow - 7 * kDay, kNow}), 1);
  EXPECT_TRUE(source_.asked.empty());
}

TEST_F(BackfillTest, AWindowThatIsTooLongIsHalvedUntilItIsAnswered) {
  source_.longest_s = kDay / 10;
  EXPECT_GT(Fill({kNow - 10 * kDay, kNow}), 100);
  EXPECT_EQ(Count(), 12);
  EXPECT_EQ(Done(), "-864000..-3600");
}

TEST_F(BackfillTest, AnErrorThatLastsIsSaidAndNothingIsTakenForRead) {
  source_.longest_s = 0;
  Backfiller backfiller(db_, source_, "c1");
  int tries = 0;
  for (; backfiller.can_ask_for_less() && tries < 100; ++tries)
    EXPECT_FALSE(backfiller.Step({kNow - 10 * kDay, kNow}, kNow).ok());
  EXPECT_LT(tries, 20);
  EXPECT_EQ(Done(), "");
}

TEST_F(BackfillTest, TwiceIsOnce) {
  Backfiller backfiller(db_, source_, "c1");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(backfiller.Take({kNow - 3 * kDay, kNow}, kNow).ok());
  EXPECT_EQ(Count(), 5);
}

TEST_F(BackfillTest, AnEndThatSlurmdbdLostIsKept) {
  ASSERT_TRUE(StoreAccounting(db_, {Row(1, kNow - kDay, kNow - 10)}, kNow).ok());
  ASSERT_TRUE(StoreAccounting(db_, {Row(1, kNow - kDay, std::nullopt)}, kNow).ok());
  ASSERT_TRUE(StoreOutages(db_, {{"c1", "n1", "DOWN", kNow - 50, kNow - 20, "Xid"}}).ok());
  ASSERT_TRUE(StoreOutages(db_, {{"c1", "n1", "DOWN", kNow - 50, std::nullopt, "Xid"}}).ok());
  const auto rows = LoadAccounting(db_, {"c1", 1});
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  EXPECT_EQ(rows->front().end_s, kNow - 10);
  EXPECT_EQ(rows->front().state, "COMPLETED");
  const auto outages = LoadOutages(db_, "c1", 0, kNow);
  ASSERT_TRUE(outages.ok() && outages->size() == 1);
  EXPECT_EQ(outages->front().end_s, kNow - 20);
}

TEST(Missing, IsWhatIsInNoneOfTheStretches) {
  const auto tell = [](Stretch wanted, const std::vector<Stretch>& done) {
    std::string text;
    for (const Stretch& one : MissingOf(wanted, done))
      text += std::to_string(one.from_s) + "-" + std::to_string(one.to_s) + " ";
    return text;
  };
  EXPECT_EQ(tell({0, 10}, {}), "0-10 ");
  EXPECT_EQ(tell({0, 10}, {{2, 4}, {6, 8}}), "0-2 4-6 8-10 ");
  EXPECT_EQ(tell({3, 7}, {{2, 4}, {6, 8}}), "4-6 ");
  EXPECT_EQ(tell({2, 4}, {{0, 10}}), "");
  EXPECT_EQ(tell({5, 5}, {}), "");
}

// ---- the daemon ----

TEST_F(BackfillTest, TheDaemonFollowsEveryMinuteAndFillsInBetween) {
  AccountingFollower follower(source_, "c1", 7 * kDay);
  std::int64_t mono = kMinuteNs;
  ASSERT_TRUE(follower.Turn(db_, mono, kNow).ok());
  EXPECT_EQ(source_.asked.size(), 1U) << "one window a turn";
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(follower.Turn(db_, ++mono, kNow).ok());
  EXPECT_EQ(Done(), std::to_string(-7 * kDay) + "..-3600");
  const std::size_t asked = source_.asked.size();
  EXPECT_LE(asked, 8U) << "and then nothing is missing";
  ASSERT_TRUE(follower.Turn(db_, mono + kMinuteNs, kNow + 60).ok());
  ASSERT_EQ(source_.asked.size(), asked + 1);
  EXPECT_EQ(source_.asked.back().from_s, kNow - Backfiller::kSettleS);
}

TEST_F(BackfillTest, AChangeInTheQueueBringsTheNextLookForward) {
  AccountingFollower follower(source_, "c1", 3600);
  std::int64_t mono = kMinuteNs;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(follower.Turn(db_, ++mono, kNow).ok());
  const std::size_t asked = source_.asked.size();
  follower.Expect(mono);
  ASSERT_TRUE(follower.Turn(db_, mono + 4'000'000'000, kNow + 4).ok());
  EXPECT_EQ(source_.asked.size(), asked);
  ASSERT_TRUE(follower.Turn(db_, mono + 6'000'000'000, kNow + 6).ok());
  EXPECT_EQ(source_.asked.size(), asked + 1);
}

TEST_F(BackfillTest, ADaemonThatWasAwayForAMonthGoesOnWhereItHadCome) {
  ASSERT_TRUE(MarkBackfilled(db_, "c1", {kNow - 40 * kDay, kNow - 30 * kDay}).ok());
  AccountingFollower follower(source_, "c1", 7 * kDay);
  std::int64_t mono = kMinuteNs;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(follower.Turn(db_, ++mono, kNow).ok());
  EXPECT_EQ(Done(), std::to_string(-40 * kDay) + "..-3600");
}

TEST_F(BackfillTest, WhereThereIsNoSlurmdbdItIsAskedOnce) {
  source_.nobody = true;
  AccountingFollower follower(source_, "c1", 7 * kDay);
  EXPECT_TRUE(absl::IsNotFound(follower.Turn(db_, kMinuteNs, kNow)));
  EXPECT_TRUE(absl::IsNotFound(follower.Turn(db_, 3 * kMinuteNs, kNow)));
  EXPECT_EQ(source_.asked.size(), 1U);
}

TEST_F(BackfillTest, TroubleLastsUntilItIsTriedAgainAMinuteLater) {
  source_.longest_s = 3600;
  AccountingFollower follower(source_, "c1", 3600);
  EXPECT_FALSE(follower.Turn(db_, kMinuteNs, kNow).ok());
  EXPECT_FALSE(follower.Turn(db_, kMinuteNs + 1, kNow).ok());
  EXPECT_EQ(source_.asked.size(), 1U);
  source_.longest_s = kDay;
  EXPECT_TRUE(follower.Turn(db_, 2 * kMinuteNs, kNow).ok());
}

TEST_F(BackfillTest, AnotherDatabaseIsFilledAnew) {
  AccountingFollower follower(source_, "c1", 3 * kDay);
  std::int64_t mono = kMinuteNs;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(follower.Turn(db_, ++mono, kNow).ok());
  ASSERT_TRUE(db_.Execute("DELETE FROM accounting; DELETE FROM backfilled").ok());
  follower.StartOver();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(follower.Turn(db_, ++mono, kNow).ok());
  EXPECT_EQ(Done(), std::to_string(-3 * kDay) + "..-3600");
  EXPECT_EQ(Count(), 5);
}

}  // namespace
}  // namespace goodput
