// Checkpoints on disk: which are complete, what is recorded about them, and what a hostile directory can do.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/goodputd/checkpoints/checkpoint_news.h"
#include "tools/goodputd/checkpoints/layout.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTracker = "latest_checkpointed_iteration.txt";

TEST(ExpandPath, KnowsWhatTheOptionPromises) {
  const std::string nul(1, '\0');
  const std::string environment =
      "SLURM_JOB_NAME=pre train" + nul + "SLURM_ARRAY_JOB_ID=70" + nul + "SLURM_ARRAY_TASK_ID=3" + nul;
  EXPECT_EQ(ExpandPath("/ckpt/%u/%x/%A_%a/%j", 72, environment, "ann"), "/ckpt/ann/pre train/70_3/72");
  EXPECT_EQ(ExpandPath("/c/%A", 72, "", "ann"), "/c/72");
  EXPECT_EQ(ExpandPath("100%%/%q/%", 1, "", ""), "100%/%q/%");
}

TEST(ScanAnswer, ReadsWhatItWrites) {
  ScanResult result;
  result.took_ns = 17;
  result.problem = "a line\nand \"more\"";
  result.watched = true;
  result.found.push_back({"megatron", "iter 5\n\xff", 5, 6, 7, 8, 9, false});
  result.found.push_back({"lightning", "last.ckpt", std::nullopt, 8, std::nullopt, 0, 0});
  const auto read = DecodeScan(EncodeScan(result));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->took_ns, 17);
  EXPECT_EQ(read->problem, result.problem);
  ASSERT_EQ(read->found.size(), 2U);
  EXPECT_EQ(read->found[0].name, result.found[0].name);
  EXPECT_EQ(read->found[0].complete_ns, 7);
  EXPECT_EQ(read->found[0].id, 8U);
  EXPECT_EQ(read->found[0].written_ns, 9);
  EXPECT_FALSE(read->found[0].begin_known);
  EXPECT_TRUE(read->found[1].begin_known);
  EXPECT_EQ(read->found[1].train_step, std::nullopt);
  EXPECT_EQ(read->found[1].complete_ns, std::nullopt);
  EXPECT_TRUE(read->watched);
  EXPECT_FALSE(read->whole);
}

TEST(ScanAnswer, WhateverAHelperSaysIsAnAnswerOrAnError) {
  ScanResult result;
  result.problem = "why";
  result.found.push_back({"megatron", "iter_5", 5, 6, 7, 8, 9, false});
  const std::string whole = EncodeScan(result);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = DecodeScan(whole.substr(0, size));
    if (cut.ok()) {
      EXPECT_TRUE(cut->found.empty()) << size;
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = whole;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    static_cast<void>(DecodeScan(changed));
  }
  for (const char* bad : {"", "x", "problem", "\xff\xff\xff\xff", "\x08"})
    EXPECT_FALSE(DecodeScan(bad).ok()) << bad;
}

class RealFolder : public testing::Test {
 protected:
  void Make(const std::string& name) const { fs::create_directories(folder_.path() + "/" + name); }
  void Track(const std::string& text) const { std::ofstream(folder_.path() + "/" + kTracker) << text; }
  TempFolder folder_;
};

TEST_F(RealFolder, TimesAreTheFileSystems) {
  const std::int64_t before = ReadClockNs(CLOCK_REALTIME_COARSE);
  Make("iter_0000004");
  Track("4");
  const std::int64_t after = ReadClockNs(CLOCK_REALTIME);
  const ScanResult result = ScanCheckpoints(folder_.path());
  ASSERT_EQ(result.found.size(), 1U);
  EXPECT_LE(before, result.found[0].begin_ns);
  EXPECT_LE(result.found[0].begin_ns, result.found[0].complete_ns.value());
  EXPECT_LE(result.found[0].complete_ns.value(), after);
}

TEST_F(RealFolder, LinksAndDevicesAreNotFollowed) {
  Make("elsewhere/iter_0000001");
  fs::create_directory_symlink(folder_.path() + "/elsewhere/iter_0000001", folder_.path() + "/iter_0000001");
  std::ofstream(folder_.path() + "/secret") << "2";
  fs::create_symlink(folder_.path() + "/secret", folder_.path() + "/" + kTracker);
  Make("iter_0000002");
  fs::remove_all(folder_.path() + "/elsewhere");
  ScanResult result = ScanCheckpoints(folder_.path());
  ASSERT_EQ(result.found.size(), 1U);
  EXPECT_EQ(result.found[0].name, "iter_0000002");
  EXPECT_EQ(result.found[0].complete_ns, std::nullopt);
  fs::remove(folder_.path() + "/" + kTracker);
  ASSERT_EQ(mkfifo((folder_.path() + "/" + kTracker).c_str(), 0600), 0);
  result = ScanCheckpoints(folder_.path());
  EXPECT_EQ(result.found.at(0).complete_ns, std::nullopt) << "a FIFO nobody writes to does not hold us";
  fs::remove(folder_.path() + "/" + kTracker);
  Track("2" + std::string(1 << 20, ' '));
  EXPECT_EQ(ScanCheckpoints(folder_.path()).found.at(0).complete_ns, std::nullopt)
      << "nor does a huge file fill us";
}

TEST_F(RealFolder, OneThatIsNotThereIsNoTrouble) {
  EXPECT_EQ(ScanCheckpoints(folder_.path() + "/later").problem, "");
  Track("1");
  EXPECT_EQ(ScanCheckpoints(folder_.path() + "/" + kTracker).problem, "Not a directory");
}

// As the parent requests it; a directory that does not exist yet is waited for.
TEST_F(RealFolder, TheHelperLooksAndWaits) {
  const std::string path = folder_.path() + "/%j/later";
  const HelperAnswers ask = ScanHelper({path, "7", std::to_string(getpid()), "0"});
  std::size_t signs = 0;
  const HelperProgress at = [&](std::string_view) { ++signs; };
  auto look = DecodeScan(ask(kLookRequest, at));
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(look->problem, "");
  EXPECT_TRUE(look->found.empty());
  if (!look->watched) GTEST_SKIP() << "not a local file system";
  EXPECT_EQ(ask(kWaitRequest, at), "quiet");
  Make("7/later/iter_0000001");
  EXPECT_EQ(ask(kWaitRequest, at), kCreatedAnswer);
  look = DecodeScan(ask(kLookRequest, at));
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(look->found.size(), 1U);
  EXPECT_EQ(ask(kWaitRequest, at), "quiet");
  Make("7/later/iter_0000002");
  EXPECT_EQ(ask(kWaitRequest, at), "changed");
  // Another directory in its place.
  look = DecodeScan(ask(kLookRequest, at));
  fs::rename(folder_.path() + "/7", folder_.path() + "/8");
  Make("7/later");
  EXPECT_EQ(ask(kWaitRequest, at), "changed");
  EXPECT_GT(signs, 8U);
  EXPECT_EQ(ScanHelper({path})(kLookRequest, at), "") << "too few arguments";
}

// A process with its own mounts, as in a container or with a private /tmp: a tmpfs over `over`, in which a
// shell runs `script` and then waits.
class InOwnMounts {
 public:
  InOwnMounts(const std::string& over, const std::string& script) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const std::string all =
          "mount -t tmpfs none " + over + " && " + script + " && echo ready && exec sleep 60";
      if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        _exit(1);
      dup2(ends[1], STDOUT_FILENO);
      execl("/bin/sh", "sh", "-c", all.c_str(), static_cast<char*>(nullptr));
      _exit(1);
    }
    close(ends[1]);
    std::array<char, 8> word{};
    ready_ = read(ends[0], word.data(), word.size()) == 6;
    close(ends[0]);
  }
  ~InOwnMounts() { End(); }
  InOwnMounts(const InOwnMounts&) = delete;
  InOwnMounts& operator=(const InOwnMounts&) = delete;
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool ready() const { return ready_; }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
  bool ready_ = false;
};

std::vector<std::string> NamesOf(const absl::StatusOr<ScanResult>& result) {
  std::vector<std::string> names;
  if (!result.ok()) return {Message(result.status())};
  for (const CheckpointSeen& seen : result->found) names.push_back(seen.name);
  return names;
}

TEST_F(RealFolder, TheDirectoryIsTheOneTheTaskSees) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string dir = folder_.path() + "/ckpt";
  Make("ckpt/iter_0000007");  // the node's directory of that name, which is not the job's
  InOwnMounts task(folder_.path(), "mkdir -p " + folder_.path() + "/true/iter_0000001 && ln -s " +
                                       folder_.path() + "/true " + dir);
  ASSERT_TRUE(task.ready());
  const HelperProgress at = [](std::string_view) {};
  const HelperAnswers ask = ScanHelper({dir, "7", std::to_string(getpid()), "0"});
  absl::StatusOr<ScanResult> look = DecodeScan(ask(Cat(kLookRequest, " ", task.pid()), at));
  EXPECT_EQ(NamesOf(look), std::vector<std::string>{"iter_0000001"}) << "also through a link";
  EXPECT_EQ(look->view, "task");
  task.End();
  EXPECT_EQ(NamesOf(DecodeScan(ask(kLookRequest, at))), std::vector<std::string>{"iter_0000001"})
      << "what the script has by that name is another";
  // Before any task lives, the script's directory counts.
  look = DecodeScan(ScanHelper({dir, "7", std::to_string(getpid()), "0"})(kLookRequest, at));
  EXPECT_EQ(NamesOf(look), std::vector<std::string>{"iter_0000007"});
  EXPECT_EQ(look->view, "script");
}

TEST_F(RealFolder, WhatWasSeenIsLookedAtOnceMoreWhenNobodyOfTheJobLives) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string dir = folder_.path() + "/ckpt";
  InOwnMounts task(folder_.path(), "mkdir -p " + dir + "/iter_0000001");
  ASSERT_TRUE(task.ready());
  const HelperProgress at = [](std::string_view) {};
  const HelperAnswers ask = ScanHelper({dir, "7", task.pid(), "0"});
  EXPECT_EQ(NamesOf(DecodeScan(ask(kLookRequest, at))), std::vector<std::string>{"iter_0000001"});
  task.End();
  Make("ckpt/iter_0000007");
  EXPECT_EQ(NamesOf(DecodeScan(ask(kLookRequest, at))), std::vector<std::string>{"iter_0000001"});
}

TEST_F(RealFolder, ADirectoryTheTaskDoesNotHaveIsTheScripts) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string dir = folder_.path() + "/ckpt";
  Make("ckpt/iter_0000007");
  InOwnMounts task(folder_.path(), "true");  // the container has it by a different name
  ASSERT_TRUE(task.ready());
  const HelperProgress at = [](std::string_view) {};
  const HelperAnswers ask = ScanHelper({dir, "7", std::to_string(getpid()), "0"});
  EXPECT_EQ(NamesOf(DecodeScan(ask(Cat(kLookRequest, " ", task.pid()), at))),
            std::vector<std::string>{"iter_0000007"});
}

TEST_F(RealFolder, ADirectoryTheTaskDoesNotHaveIsThatOfAContainerItStarted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string dir = folder_.path() + "/ckpt";
  Make("ckpt/iter_0000007");  // the script's directory of that name
  InOwnMounts task(folder_.path(), "{ unshare --mount sh -c 'mount -t tmpfs none " + folder_.path() +
                                       " && mkdir -p " + dir + "/iter_0000001 && exec sleep 20' & } && " +
                                       "while ! [ -d /proc/$!/root" + dir +
                                       "/iter_0000001 ]; do sleep 0.01; done");
  ASSERT_TRUE(task.ready());
  const HelperProgress at = [](std::string_view) {};
  const HelperAnswers ask = ScanHelper({dir, "7", std::to_string(getpid()), "0"});
  absl::StatusOr<ScanResult> look = DecodeScan(ask(Cat(kLookRequest, " ", task.pid()), at));
  EXPECT_EQ(NamesOf(look), std::vector<std::string>{"iter_0000001"});
  EXPECT_EQ(look->view, "container");
  task.End();
  EXPECT_EQ(NamesOf(DecodeScan(ask(kLookRequest, at))), std::vector<std::string>{"iter_0000001"})
      << "what the script has by that name is another";
}

// The message about a directory that no process had, after the end of the job.
std::string SaidOfNone(const std::string& over, const std::string& script) {
  InOwnMounts task(over, script);
  EXPECT_TRUE(task.ready());
  const HelperProgress at = [](std::string_view) {};
  const HelperAnswers ask = ScanHelper({over + "/later/ckpt", "7", task.pid(), "0"});
  absl::StatusOr<ScanResult> look = DecodeScan(ask(Cat(kLookRequest, " ", task.pid()), at));
  EXPECT_EQ(look->problem, "") << "a container may be on its way";
  task.End();
  look = DecodeScan(ask(kLookRequest, at));
  EXPECT_EQ(look->view, "");
  return look->problem;
}

TEST_F(RealFolder, OneThatNobodyHasIsMissedOnlyWhereItCouldHaveBeenSeen) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(SaidOfNone(folder_.path(), "true"), "");
  EXPECT_EQ(SaidOfNone(folder_.path(), "mount -o remount,ro " + folder_.path()),
            "no process of the job sees it, and its user may not create it there");
  EXPECT_EQ(SaidOfNone(folder_.path(), "cp /bin/sleep " + folder_.path() + "/docker && { " + folder_.path() +
                                           "/docker 20 & } && sleep 0.2"),
            "a container of docker cannot be inspected: its processes do not belong to the job");
}

// The node's /tmp may differ from the job's.
TEST(ScanHelper, WhoseTmpItWasIsNotKnownOnceNobodyLives) {
  const HelperAnswers ask = ScanHelper({"/tmp/ckpt", "7", "999999999", "0"});
  const absl::StatusOr<ScanResult> look = DecodeScan(ask(kLookRequest, [](std::string_view) {}));
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(look->problem, "the job ended before the directory could be found");
}

TEST_F(RealFolder, AnAnswerStaysAMessage) {
  for (int i = 1; i <= 1500; ++i) Make("iter_" + std::to_string(i));
  const ScanResult result = ScanCheckpoints(folder_.path());
  EXPECT_EQ(result.found.back().train_step, 1500) << "the newest are told of";
  EXPECT_LT(EncodeScan(result).size(), kMaxHelperMessage);
}

TEST(CheckpointNews, WhoSeesTheDirectoryIsToldAndWhyNobodyCan) {
  NodeJob job;
  job.node = "n1";
  std::vector<std::string> told;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view text) {
    const std::size_t job_ends = text.find("\"uid\":0");
    told.emplace_back(text.substr(job_ends + 8));
    return true;
  });
  news.Saw("", "");
  EXPECT_TRUE(told.empty()) << "it is not there yet";
  news.Saw("", "may not be read");
  news.Saw("", "may not be read");
  news.Saw("task", "");
  news.Saw("task", "");
  news.Saw("", "");
  EXPECT_EQ(told, (std::vector<std::string>{"\"problem\":\"may not be read\"}\n",
                                            "\"view\":\"task\",\"problem\":\"\"}\n"}));
}

TEST(CheckpointNews, EachBeginAndEndIsToldOnce) {
  NodeJob job;
  job.node = "n1";
  job.job = 7;
  job.since_ns = 1000;
  std::vector<std::string> stored;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view record) {
    stored.emplace_back(record);
    return true;
  });
  news.Take({{"megatron", "iter_1", 1, 500, 600, 1, 600}});
  EXPECT_TRUE(stored.empty()) << "another attempt's";
  const CheckpointSeen begun{"megatron", "iter_2", 2, 2000, std::nullopt, 2, 2000};
  news.Take({begun});
  news.Take({begun});
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_NE(stored[0].find("\"t\":2000,"), std::string::npos);
  EXPECT_NE(stored[0].find("\"edge\":\"begin\",\"train_step\":2,\"name\":\"iter_2\",\"layout\":\"megatron\""),
            std::string::npos)
      << stored[0];
  CheckpointSeen complete = begun;
  complete.complete_ns = complete.written_ns = 3000;
  news.Take({complete});
  news.Take({complete});
  news.Take({begun});
  news.Take({complete});
  EXPECT_EQ(stored.size(), 2U);
  news.Take({});
  news.Take({{"megatron", "iter_2", 2, 2000, std::nullopt, 2, 4000}});
  EXPECT_EQ(stored.size(), 2U) << "away for a moment, and then a file of it is removed";
  news.Take({{"megatron", "iter_2", 2, 5000, 6000, 3, 6000}});
  EXPECT_EQ(stored.size(), 4U) << "saved again";
  news.Take({{"megatron", "iter_2", 2, 5000, std::nullopt, 3, 7000}});
  news.Take({{"megatron", "iter_2", 2, 5000, 8000, 3, 8000}});
  ASSERT_EQ(stored.size(), 6U) << "and in place";
  EXPECT_NE(stored[4].find("\"t\":7000,"), std::string::npos) << stored[4];
  EXPECT_NE(stored[5].find("\"t\":8000,"), std::string::npos) << stored[5];
}

TEST(CheckpointNews, AnotherFolderOfTheSameNameIsBegunAnew) {
  NodeJob job;
  job.node = "n1";
  int stored = 0;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view) { return ++stored > 0; });
  news.Take({{"plain", "last.pt", std::nullopt, 100, std::nullopt, 1, 100}}, false, 0);
  EXPECT_EQ(stored, 1);
  news.Take({{"plain", "last.pt", std::nullopt, 100, std::nullopt, 1, 110}}, false, 0);
  EXPECT_EQ(stored, 1) << "it is still being written";
  news.Take({{"plain", "last.pt", std::nullopt, 200, std::nullopt, 2, 200}}, false, 0);
  EXPECT_EQ(stored, 2);
}

TEST(CheckpointNews, ABeginThatNobodyTellsIsAfterTheLastLookThatDidNotFindIt) {
  NodeJob job;
  job.node = "n1";
  job.since_ns = 1000;
  std::vector<std::string> stored;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view record) {
    stored.emplace_back(record);
    return true;
  });
  const auto unborn = [](const char* name, std::int64_t begin_ns, std::optional<std::int64_t> complete_ns) {
    return CheckpointSeen{"megatron", name, 2, begin_ns, complete_ns, 0, 0, false};
  };
  const CheckpointSeen first = unborn("iter_1", 1500, std::nullopt);
  news.Take({first}, true, 2000);
  // An incomplete scan proves nothing about what it did not find.
  news.Take({first}, false, 4000);
  const CheckpointSeen second = unborn("iter_2", 5000, 5400);
  news.Take({first, second}, true, 6000);
  // Whether the file system reports the begin or only the completion was seen, nothing may be earlier.
  CheckpointSeen known = unborn("iter_3", 7000, 7400);
  known.begin_known = true;
  news.Take({first, second, known, unborn("iter_4", 7600, 7600)}, true, 8000);
  std::vector<std::string> earlier;
  for (const std::string& record : stored) {
    if (record.find("\"edge\":\"begin\"") == std::string::npos) continue;
    const std::size_t at = record.find("\"earlier_ns\":");
    earlier.push_back(at == std::string::npos ? "-" : record.substr(at + 13, record.find(',', at) - at - 13));
  }
  EXPECT_EQ(earlier, (std::vector<std::string>{"500", "3000", "-", "-"}));
}

TEST(CheckpointNews, WhatVanishedUnfinishedIsBegunAnewUnlessTheLookWasNotAll) {
  NodeJob job;
  job.node = "n1";
  std::size_t stored = 0;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view) { return ++stored > 0; });
  const CheckpointSeen begun{"nemo", "x", 2, 2000, std::nullopt, 0, 2000};
  news.Take({begun});
  news.Take({}, false);
  news.Take({begun});
  EXPECT_EQ(stored, 1U);
  news.Take({});
  news.Take({begun});
  EXPECT_EQ(stored, 2U);
}

TEST(CheckpointNews, OfAJobThatMakesNamesWithoutEndTheOldestAreForgotten) {
  NodeJob job;
  job.node = "n1";
  std::size_t stored = 0;
  CheckpointNews news(job, [&](const NodeJob&, std::string_view) { return ++stored > 0; });
  const auto look = [&](int number) {
    std::vector<CheckpointSeen> found;
    for (int i = 0; i < 500; ++i)
      found.push_back({"megatron", Cat("iter_", number * 500 + i), i, 5, 6, 1, 6});
    news.Take(found);
  };
  for (int number = 0; number < 30; ++number) look(number);
  EXPECT_EQ(stored, 30'000U) << "a begin and an end each";
  for (int number = 25; number < 30; ++number) look(number);
  EXPECT_EQ(stored, 30'000U) << "the latest are known";
  look(0);
  EXPECT_EQ(stored, 31'000U) << "the earliest are not";
}

}  // namespace
}  // namespace goodput
