#include "spank/job_note.h"

#include <gtest/gtest.h>

#include <fstream>

#include "spank/fixed_text.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

class JobNoteTest : public testing::Test {
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

TEST_F(JobNoteTest, IsReadBackAsItWasWritten) {
  JobNote note;
  note.enabled = false;
  note.gpus = 8;
  note.restart = 0;
  note.job_start_s = 1'700'000'000;
  CopyText("a3", &note.cluster);
  CopyText("s01H", &note.sluid);
  ASSERT_TRUE(WriteJobNote(spool_, 12, note));
  const auto read = ReadJobNote(spool_, 12);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->enabled);
  EXPECT_EQ(read->gpus, 8);
  EXPECT_EQ(read->restart, 0);
  EXPECT_EQ(read->job_start_s, 1'700'000'000);
  EXPECT_FALSE(read->het_job);
  EXPECT_STREQ(read->cluster.data(), "a3");
  EXPECT_STREQ(read->sluid.data(), "s01H");
}

TEST_F(JobNoteTest, IsOfOneJobAndGoneWhenDropped) {
  ASSERT_TRUE(WriteJobNote(spool_, 12, JobNote()));
  EXPECT_FALSE(ReadJobNote(spool_, 13));
  DropJobNote(spool_, 12);
  EXPECT_FALSE(ReadJobNote(spool_, 12));
}

TEST_F(JobNoteTest, OfANewAttemptReplacesTheOldOne) {
  JobNote note;
  note.restart = 0;
  ASSERT_TRUE(WriteJobNote(spool_, 12, note));
  note.restart = 1;
  ASSERT_TRUE(WriteJobNote(spool_, 12, note));
  EXPECT_EQ(ReadJobNote(spool_, 12)->restart, 1);
}

TEST_F(JobNoteTest, ThatIsGarbageSaysNothing) {
  std::ofstream(folder_.path() + "/spool/n1/job.12") << "restart=1\n";
  EXPECT_FALSE(ReadJobNote(spool_, 12));
  std::ofstream(folder_.path() + "/spool/n1/job.12")
      << "goodput=on gpus=many restart= =4 \x01\xff gpus=9999999999999999999999\n";
  const auto note = ReadJobNote(spool_, 12);
  ASSERT_TRUE(note);
  EXPECT_FALSE(note->gpus || note->restart);
}

TEST_F(JobNoteTest, TheClustersNameIsKnownWithoutAProlog) {
  EXPECT_STREQ(NoteOfUnknownJob(spool_).cluster.data(), "");
  JobNote note;
  for (const char* name : {"a3", "renamed"}) {
    CopyText(name, &note.cluster);
    RememberCluster(spool_, note);
    EXPECT_STREQ(NoteOfUnknownJob(spool_).cluster.data(), name);
  }
}

TEST_F(JobNoteTest, RefusesAWordItCouldNotReadBack) {
  JobNote note;
  CopyText("a b", &note.cluster);
  EXPECT_FALSE(WriteJobNote(spool_, 12, note));
}

}  // namespace
}  // namespace goodput
