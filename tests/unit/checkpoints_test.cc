// Checkpoints on disk: which are complete, what is told of them, and what a hostile directory can do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/spank/temp_folder.h"
#include "tools/goodputd/checkpoints/checkpoint_watch.h"
#include "tools/goodputd/checkpoints/layout.h"
#include "tools/goodputd/checkpoints/scan_helper.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTracker = "latest_checkpointed_iteration.txt";

class FakeFolder : public FolderView {
 public:
  std::vector<FolderEntry> Entries() const override { return entries; }
  std::optional<std::string> Read(const std::string& name) const override {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  void Folder(const std::string& name, std::int64_t born) { entries.push_back({name, true, born, born}); }
  void Tracker(const std::string& text, std::int64_t written) {
    entries.push_back({kTracker, false, 1, written});
    texts[kTracker] = text;
  }
  std::vector<FolderEntry> entries;
  std::map<std::string, std::string> texts;
};

TEST(Megatron, OnlyTheOneItsFileNamesIsComplete) {
  FakeFolder folder;
  folder.Folder("iter_0000030", 300);
  folder.Folder("iter_0000010", 100);
  folder.Folder("iter_0000020", 200);
  folder.Folder("release", 5);
  folder.Tracker("20\n", 250);
  const auto found = FindCheckpoints(folder);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].train_step, 10);
  EXPECT_EQ(found[0].complete_ns, std::nullopt) << "perhaps it was interrupted, and 20 written later";
  EXPECT_EQ(found[1].complete_ns, 250);
  EXPECT_EQ(found[1].begin_ns, 200);
  EXPECT_EQ(found[2].complete_ns, std::nullopt);
}

TEST(Megatron, ASaveOverAnOldOneIsNotCompleteYet) {
  FakeFolder folder;
  folder.Folder("iter_0000010", 500);  // removed and made anew, after a run that had got further was set back
  folder.Tracker("10", 250);
  EXPECT_EQ(FindCheckpoints(folder).at(0).complete_ns, std::nullopt);
}

TEST(Megatron, WhatIsNotOneIsLeftOut) {
  FakeFolder folder;
  for (const char* name : {"iter_", "iter_12x", "iter_-5", "iter_99999999999999999999", "xiter_5"})
    folder.Folder(name, 1);
  folder.entries.push_back({"iter_0000005", false, 1, 1});
  for (const char* text : {"", "release", "5 6", "-5", "99999999999999999999"}) {
    folder.texts[kTracker] = text;
    EXPECT_TRUE(FindCheckpoints(folder).empty()) << text;
  }
}

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
  result.found.push_back({"megatron", "iter 5\n\xff", 5, 6, 7});
  result.found.push_back({"megatron", "iter_6", 6, 8, std::nullopt});
  const auto read = DecodeScan(EncodeScan(result));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->took_ns, 17);
  EXPECT_EQ(read->problem, result.problem);
  ASSERT_EQ(read->found.size(), 2U);
  EXPECT_EQ(read->found[0].name, result.found[0].name);
  EXPECT_EQ(read->found[0].complete_ns, 7);
  EXPECT_EQ(read->found[1].complete_ns, std::nullopt);
  for (const char* bad :
       {"x", "took", "took x", "checkpoint a 1 2 3", "checkpoint a 1 2 3 !", "checkpoint a b 2 3 aa"})
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
  ScanResult result = ScanCheckpoints(folder_.path());
  ASSERT_EQ(result.found.size(), 1U);
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

TEST_F(RealFolder, AnAnswerStaysAMessage) {
  for (int i = 1; i <= 1500; ++i) Make("iter_" + std::to_string(i));
  const ScanResult result = ScanCheckpoints(folder_.path());
  EXPECT_EQ(result.found.back().train_step, 1500) << "the newest are told of";
  EXPECT_LT(EncodeScan(result).size(), kMaxHelperMessage);
}

TEST(CheckpointNews, EachBeginAndEndIsToldOnce) {
  NodeJob job;
  job.node = "n1";
  job.job = 7;
  job.since_ns = 1000;
  std::vector<std::string> stored;
  CheckpointNews news(job, [&](const std::string&, std::string_view record) {
    stored.emplace_back(record);
    return true;
  });
  news.Take({{"megatron", "iter_1", 1, 500, 600}});
  EXPECT_TRUE(stored.empty()) << "another attempt's";
  const CheckpointSeen begun{"megatron", "iter_2", 2, 2000, std::nullopt};
  news.Take({begun});
  news.Take({begun});
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_NE(stored[0].find("\"t\":2000,"), std::string::npos);
  EXPECT_NE(stored[0].find("\"edge\":\"begin\",\"train_step\":2,\"name\":\"iter_2\",\"layout\":\"megatron\""),
            std::string::npos)
      << stored[0];
  CheckpointSeen complete = begun;
  complete.complete_ns = 3000;
  news.Take({complete});
  news.Take({complete});
  news.Take({begun});
  EXPECT_EQ(stored.size(), 2U);
  news.Take({{"megatron", "iter_2", 2, 5000, 6000}});
  EXPECT_EQ(stored.size(), 4U) << "saved again";
}

}  // namespace
}  // namespace goodput
