// What is done to the database beside filling it: who may, copies, and what is done about damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sql/database.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/database_lock.h"
#include "tools/goodputd/housekeeping/damaged_database.h"
#include "tools/goodputd/housekeeping/database_copy.h"
#include "tools/goodputd/housekeeping/housekeeper.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

absl::Time Utc(int day, int hour) {
  return absl::FromCivil(absl::CivilHour(2026, 11, day, hour), absl::UTCTimeZone());
}

void Fill(const std::string& path, int jobs) {
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  for (int job = 1; job <= jobs; ++job) {
    ASSERT_TRUE(db->Execute(Cat("INSERT INTO job_seen VALUES (", job, ", 'c', 'run-", job, "', 1, 2)")).ok());
  }
}

std::int64_t Jobs(const std::string& path) {
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kReadOnly);
  if (!db.ok()) return -1;
  Statement count = db->Prepare("SELECT count(*) FROM job_seen");
  return count.Step() ? count.Int(0) : -1;
}

// Writes over everything but the first page, which says what the file is.
void Spoil(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(0, std::ios::end);
  const auto size = static_cast<std::size_t>(file.tellp());
  ASSERT_GT(size, 8192u);
  file.seekp(4096);
  file << std::string(size - 4096, '\x5a');
}

class HousekeepingTest : public testing::Test {
 protected:
  TempFolder folder_;
  std::string path_ = folder_.path() + "/goodput.db";
  std::string copies_ = folder_.path() + "/copies";
};

TEST_F(HousekeepingTest, OneOfTwoDaemonsHasTheDatabaseAndTheOtherIsToldWho) {
  EXPECT_EQ(DatabaseLock::Holder(path_), "");
  {
    const absl::StatusOr<DatabaseLock> first = DatabaseLock::Take(path_);
    ASSERT_TRUE(first.ok()) << first.status();
    const absl::StatusOr<DatabaseLock> second = DatabaseLock::Take(path_);
    EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
    EXPECT_NE(Message(second.status()).find(Cat("goodputd ", getpid(), " on ")), std::string::npos)
        << second.status();
    EXPECT_EQ(DatabaseLock::Holder(path_).find(Cat("goodputd ", getpid(), " on ")), 0u);
  }
  EXPECT_EQ(DatabaseLock::Holder(path_), "");
  EXPECT_TRUE(DatabaseLock::Take(path_).ok());
}

TEST_F(HousekeepingTest, ALinkInPlaceOfTheLockIsNotFollowed) {
  fs::create_symlink(folder_.path() + "/elsewhere", path_ + ".lock");
  EXPECT_TRUE(absl::IsPermissionDenied(DatabaseLock::Take(path_).status()));
  EXPECT_FALSE(fs::exists(folder_.path() + "/elsewhere"));
}

TEST(CopyIsDue, AtNightOnceADayAndByDayWhenTheLastIsTooOld) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  EXPECT_TRUE(CopyIsDue({}, Utc(10, 14), utc));
  EXPECT_FALSE(CopyIsDue({Utc(10, 3)}, Utc(10, 4), utc));
  EXPECT_FALSE(CopyIsDue({Utc(10, 3)}, Utc(11, 1), utc));
  EXPECT_TRUE(CopyIsDue({Utc(10, 3)}, Utc(11, 2), utc));
  EXPECT_FALSE(CopyIsDue({Utc(10, 3), Utc(11, 2)}, Utc(11, 4), utc));
  EXPECT_FALSE(CopyIsDue({Utc(10, 3)}, Utc(11, 14), utc));
  EXPECT_TRUE(CopyIsDue({Utc(10, 3)}, Utc(12, 14), utc));
}

TEST(CopyIsDue, ACopyFromTheFutureCountsForNothing) {
  EXPECT_TRUE(CopyIsDue({Utc(29, 3)}, Utc(10, 14), absl::UTCTimeZone()));
}

TEST_F(HousekeepingTest, ACopyIsWholeWhileOthersWriteAndTheNewestSevenAreKept) {
  Fill(path_, 100);
  absl::StatusOr<Database> writer = Database::Open(path_, Database::Mode::kReadWrite);
  ASSERT_TRUE(writer.ok());
  Transaction open(*writer);
  ASSERT_TRUE(writer->Execute("INSERT INTO job_seen VALUES (999, 'c', '', 1, 2)").ok());
  for (int day = 1; day <= 9; ++day) {
    const absl::StatusOr<std::string> copy = CopyDatabase(path_, copies_, Utc(day, 3));
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(Jobs(*copy), 100);
    struct stat info {};
    ASSERT_EQ(stat(copy->c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0640u);
  }
  const std::vector<DatabaseCopy> copies = CopiesIn(copies_);
  ASSERT_EQ(copies.size(), 7u);
  EXPECT_EQ(copies.front().made, Utc(3, 3));
  EXPECT_EQ(copies.back().made, Utc(9, 3));
}

TEST_F(HousekeepingTest, ACopyThatCannotBeMadeLeavesNothing) {
  Fill(path_, 3);
  const absl::StatusOr<std::string> copy = CopyDatabase(path_, folder_.path() + "/a/b", Utc(1, 3));
  EXPECT_FALSE(copy.ok());
  EXPECT_TRUE(CopiesIn(folder_.path() + "/a/b").empty());
  EXPECT_FALSE(CopyDatabase(folder_.path() + "/none.db", copies_, Utc(1, 3)).ok());
  EXPECT_TRUE(CopiesIn(copies_).empty());
}

TEST_F(HousekeepingTest, ASoundDatabaseHasNoDamageAndOneThatIsNotThereIsNotCalledDamaged) {
  Fill(path_, 10);
  const absl::StatusOr<std::string> damage = DamageOf(path_);
  ASSERT_TRUE(damage.ok()) << damage.status();
  EXPECT_EQ(*damage, "");
  EXPECT_FALSE(DamageOf(folder_.path() + "/none.db").ok());
}

TEST_F(HousekeepingTest, ASpoiledDatabaseIsSetAsideAndTheNewestGoodCopyTakesItsPlace) {
  Fill(path_, 200);
  ASSERT_TRUE(CopyDatabase(path_, copies_, Utc(1, 3)).ok());
  const absl::StatusOr<std::string> newest = CopyDatabase(path_, copies_, Utc(2, 3));
  ASSERT_TRUE(newest.ok());
  Spoil(*newest);
  Spoil(path_);
  const absl::StatusOr<std::string> damage = DamageOf(path_);
  ASSERT_TRUE(damage.ok()) << damage.status();
  EXPECT_NE(*damage, "");
  const absl::StatusOr<std::string> done = ReplaceDamaged(path_, copies_, Utc(3, 10));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(fs::exists(path_ + ".damaged-20261103T100000Z"));
  EXPECT_NE(done->find("goodput-20261101T030000Z.db takes its place"), std::string::npos) << *done;
  EXPECT_EQ(Jobs(path_), 200);
}

TEST_F(HousekeepingTest, WithoutACopyANewOneBegins) {
  std::ofstream(path_) << "this is no database, and it is long enough that SQLite says so\n";
  const absl::StatusOr<std::string> damage = DamageOf(path_);
  ASSERT_TRUE(damage.ok()) << damage.status();
  EXPECT_NE(*damage, "");
  ASSERT_TRUE(ReplaceDamaged(path_, "", Utc(3, 10)).ok());
  EXPECT_FALSE(fs::exists(path_));
  Fill(path_, 1);
  EXPECT_EQ(Jobs(path_), 1);
}

TEST_F(HousekeepingTest, WhoHasADatabaseOpenKnowsWhenItIsAnotherOne) {
  Fill(path_, 1);
  absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWrite);
  ASSERT_TRUE(db.ok());
  EXPECT_TRUE(db->StillThere());
  ASSERT_TRUE(ReplaceDamaged(path_, "", Utc(3, 10)).ok());
  EXPECT_FALSE(db->StillThere());
  Fill(path_, 1);
  EXPECT_FALSE(db->StillThere());
}

}  // namespace
}  // namespace goodput
