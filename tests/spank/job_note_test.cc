#include <gtest/gtest.h>

#include <fstream>

#include "spank/fixed_text.h"
#include "spank/job_state.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

class JobStateTest : public testing::Test {
 protected:
  void SetUp() override {
    Spool::Config config;
    config.root = folder_.path() + "/spool";
    config.node = "n1";
    config.owner = geteuid();
    ASSERT_EQ(spool_.Open(config), "");
  }
  TempFolder folder_;
  Spool spool_;
};

TEST_F(JobStateTest, IsReadBackAsItWasWritten) {
  JobState note;
  note.enabled = false;
  note.gpus = 8;
  ASSERT_TRUE(CopyText("0-3,6-9", &note.gpu_ids));
  note.restart = 0;
  note.job_start_s = 1'700'000'000;
  CopyText("a3", &note.cluster);
  CopyText("s01H", &note.sluid);
  ASSERT_TRUE(WriteJobState(spool_, 12, note));
  const auto read = ReadJobState(spool_, 12);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->enabled);
  EXPECT_EQ(read->gpus, 8);
  EXPECT_STREQ(read->gpu_ids.data(), "0-3,6-9");
  EXPECT_EQ(read->restart, 0);
  EXPECT_EQ(read->job_start_s, 1'700'000'000);
  EXPECT_FALSE(read->het_job);
  EXPECT_STREQ(read->cluster.data(), "a3");
  EXPECT_STREQ(read->sluid.data(), "s01H");
}

TEST_F(JobStateTest, IsOfOneJobAndGoneWhenDropped) {
  ASSERT_TRUE(WriteJobState(spool_, 12, JobState()));
  EXPECT_FALSE(ReadJobState(spool_, 13));
  DropJobState(spool_, 12);
  EXPECT_FALSE(ReadJobState(spool_, 12));
}

TEST_F(JobStateTest, OfANewAttemptReplacesTheOldOne) {
  JobState note;
  note.restart = 0;
  ASSERT_TRUE(WriteJobState(spool_, 12, note));
  note.restart = 1;
  ASSERT_TRUE(WriteJobState(spool_, 12, note));
  EXPECT_EQ(ReadJobState(spool_, 12)->restart, 1);
}

TEST_F(JobStateTest, ThatIsGarbageSaysNothing) {
  std::ofstream(folder_.path() + "/spool/n1/job.12") << "restart=1\n";
  EXPECT_FALSE(ReadJobState(spool_, 12));
  std::ofstream(folder_.path() + "/spool/n1/job.12")
      << "goodput=on gpus=many restart= =4 \x01\xff gpus=9999999999999999999999\n";
  const auto note = ReadJobState(spool_, 12);
  ASSERT_TRUE(note);
  EXPECT_FALSE(note->gpus || note->restart);
}

TEST_F(JobStateTest, TheClustersNameIsKnownWithoutAProlog) {
  EXPECT_STREQ(StateOfUnknownJob(spool_).cluster.data(), "");
  JobState note;
  for (const char* name : {"a3", "renamed"}) {
    CopyText(name, &note.cluster);
    RememberCluster(spool_, note);
    EXPECT_STREQ(StateOfUnknownJob(spool_).cluster.data(), name);
  }
}

TEST_F(JobStateTest, RefusesAWordItCouldNotReadBack) {
  JobState note;
  CopyText("a b", &note.cluster);
  EXPECT_FALSE(WriteJobState(spool_, 12, note));
}

}  // namespace
}  // namespace goodput
