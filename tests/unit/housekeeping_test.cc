// Maintenance of the database: which daemon may write, copies, and handling of damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sql/database.h"
#include "sql/tables/writer.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/database_copy.h"
#include "tools/base/database_lease.h"
#include "tools/goodputd/housekeeping/damaged_database.h"
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

// Overwrites everything except the first page, which identifies the file.
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

constexpr absl::Duration kLease = absl::Seconds(30);

// Checks the lease as often as required for `seconds`; returns the last result.
absl::Status LookFor(DatabaseLease& lease, std::int64_t& now_ns, int seconds) {
  absl::Status last;
  for (int i = 0; i < seconds; ++i) last = lease.Look(now_ns += 1'000'000'000);
  return last;
}

DatabaseLease::Self On(const std::string& host, const std::string& nonce) {
  return {host, "boot-of-" + host, 4711, nonce};
}

TEST_F(HousekeepingTest, OneOfTwoDaemonsHasTheDatabaseAndTheOtherIsToldWho) {
  EXPECT_EQ(LeaseOf(path_).holder, "");
  const std::string me = Cat("goodputd ", getpid(), " on ");
  DatabaseLease second(path_, kLease);
  {
    DatabaseLease first(path_, kLease);
    EXPECT_TRUE(first.Look(1).ok());
    const absl::Status told = second.Look(2);
    EXPECT_TRUE(absl::IsUnavailable(told)) << told;
    EXPECT_EQ(Message(told).find(me), 0u) << told;
    EXPECT_NE(Message(told).find("standing by until it ends or gives no heartbeat for 30s"),
              std::string::npos)
        << told;
    EXPECT_EQ(LeaseOf(path_).holder.find(me), 0u);
    EXPECT_FALSE(LeaseOf(path_).elsewhere);
  }
  // The lease was released.
  EXPECT_EQ(LeaseOf(path_).holder, "");
  EXPECT_TRUE(second.Look(3).ok());
  EXPECT_EQ(second.taken_from(), "");
}

TEST_F(HousekeepingTest, WhoDiesOnThisMachineIsFollowedAtOnce) {
  std::ofstream(path_ + ".lock") << LeaseSign{"goodputd 1 on a", "a", "boot-of-a", "x", 9, 30000}.Text();
  DatabaseLease lease(path_, kLease, On("a", "y"));
  EXPECT_TRUE(lease.Look(1).ok());
  EXPECT_EQ(lease.taken_from(), "goodputd 1 on a");
}

TEST_F(HousekeepingTest, WhoDiesOnAnotherMachineIsFollowedWhenItsLeaseRanOut) {
  // The kernel's lock is free, which proves nothing: NFS may not propagate it.
  std::ofstream(path_ + ".lock") << LeaseSign{"goodputd 1 on a", "a", "boot-of-a", "x", 9, 30000}.Text();
  DatabaseLease lease(path_, kLease, On("b", "y"));
  std::int64_t now_ns = 0;
  EXPECT_TRUE(absl::IsUnavailable(LookFor(lease, now_ns, 30)));
  EXPECT_TRUE(LookFor(lease, now_ns, 1).ok());
  // Without a boot id, the holder is never considered to be on this machine.
  std::ofstream(path_ + ".lock") << LeaseSign{"goodputd 1 on c", "c", "", "x", 9, 30000}.Text();
  DatabaseLease other(path_, kLease, {"c", "", 1, "z"});
  EXPECT_TRUE(absl::IsUnavailable(other.Look(now_ns)));
}

TEST_F(HousekeepingTest, AHolderThatGivesSignsIsLeftInPeace) {
  DatabaseLease holder(path_, kLease, On("a", "x"));
  DatabaseLease standby(path_, kLease, On("b", "y"));
  std::int64_t now_ns = 0;
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_TRUE(LookFor(holder, now_ns, 1).ok());
    EXPECT_TRUE(absl::IsUnavailable(LookFor(standby, now_ns, 7)));
  }
}

TEST_F(HousekeepingTest, AStoppedHolderIsSucceededAndStandsByWhenItGoesOn) {
  DatabaseLease stopped(path_, kLease, On("a", "x"));
  DatabaseLease standby(path_, kLease, On("b", "y"));
  std::int64_t now_ns = 0;
  EXPECT_TRUE(LookFor(stopped, now_ns, 1).ok());
  // The stopped daemon still holds the kernel's lock. The standby checks once more, because another one may
  // take over at the same time.
  EXPECT_TRUE(absl::IsUnavailable(LookFor(standby, now_ns, 31)));
  EXPECT_TRUE(LookFor(standby, now_ns, 1).ok());
  EXPECT_TRUE(absl::IsUnavailable(stopped.Look(now_ns)));
  EXPECT_TRUE(LookFor(standby, now_ns, 5).ok());
  EXPECT_TRUE(absl::IsUnavailable(LookFor(stopped, now_ns, 1)));
}

TEST_F(HousekeepingTest, OfTwoThatTakeOverAtOnceOneHasIt) {
  DatabaseLease stopped(path_, kLease, On("a", "x"));
  DatabaseLease one(path_, kLease, On("b", "y"));
  DatabaseLease two(path_, kLease, On("c", "z"));
  std::int64_t now_ns = 0;
  EXPECT_TRUE(stopped.Look(now_ns).ok());
  int holders = 0;
  for (int i = 0; i < 40; ++i) {
    now_ns += 1'000'000'000;
    holders = static_cast<int>(one.Look(now_ns).ok()) + static_cast<int>(two.Look(now_ns).ok());
    EXPECT_LE(holders, 1);
  }
  EXPECT_EQ(holders, 1);
}

TEST_F(HousekeepingTest, AStandbyThatWasStoppedItselfWatchesAnew) {
  DatabaseLease holder(path_, kLease, On("a", "x"));
  DatabaseLease standby(path_, kLease, On("b", "y"));
  std::int64_t now_ns = 0;
  EXPECT_TRUE(holder.Look(now_ns).ok());
  EXPECT_TRUE(absl::IsUnavailable(LookFor(standby, now_ns, 1)));
  now_ns += 3600'000'000'000;
  EXPECT_TRUE(absl::IsUnavailable(LookFor(standby, now_ns, 29)));
  EXPECT_TRUE(holder.Look(now_ns).ok());
  EXPECT_TRUE(absl::IsUnavailable(LookFor(standby, now_ns, 29)));
}

TEST_F(HousekeepingTest, ALinkInPlaceOfTheLockIsNotFollowed) {
  fs::create_symlink(folder_.path() + "/elsewhere", path_ + ".lock");
  EXPECT_TRUE(absl::IsPermissionDenied(DatabaseLease(path_, kLease).Look(1)));
  EXPECT_FALSE(fs::exists(folder_.path() + "/elsewhere"));
}

TEST_F(HousekeepingTest, WhatAnEarlierWriterGoesOnToWriteIsRefused) {
  absl::StatusOr<Database> old = Database::Open(path_, Database::Mode::kReadWrite);
  absl::StatusOr<Database> next = Database::Open(path_, Database::Mode::kReadWrite);
  ASSERT_TRUE(old.ok() && next.ok());
  ASSERT_TRUE(ClaimDatabase(*old, "goodputd 1 on a x", 1).ok());
  ASSERT_TRUE(ClaimDatabase(*next, "goodputd 2 on b y", 2).ok());
  Transaction refused(*old);
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_FALSE(old->InTransaction());
  Transaction taken(*next);
  EXPECT_TRUE(taken.status().ok()) << taken.status();
  EXPECT_TRUE(taken.Commit().ok());
  // A manual writer is no daemon, and does not wait for a lease.
  absl::StatusOr<Database> person = Database::Open(path_, Database::Mode::kReadWrite);
  ASSERT_TRUE(person.ok());
  Transaction by_hand(*person);
  EXPECT_TRUE(by_hand.Commit().ok());
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
  EXPECT_NE(done->find("goodput-20261101T030000Z.db replaces it"), std::string::npos) << *done;
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
