#include "spank/step_use.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

// A mount of cgroups in version 2 as Slurm uses it, of files.
class StepUseTest : public testing::Test {
 protected:
  void Self(const std::string& text) const { std::ofstream(self()) << text; }
  void Say(const std::string& file, const std::string& text) const {
    const std::string user = mount() + kStep + "/user";
    std::filesystem::create_directories(user);
    std::ofstream(user + "/" + file) << text;
  }
  StepUse Read() const { return ReadStepUse(RealFiles(), self().c_str(), mount().c_str()); }
  std::string self() const { return folder_.path() + "/self"; }
  std::string mount() const { return folder_.path() + "/cgroup"; }

  static constexpr const char* kStep = "/system.slice/slurmstepd.scope/job_7/step_0";
  static constexpr const char* kOfStepd = "0::/system.slice/slurmstepd.scope/job_7/step_0/slurm\n";
  TempFolder folder_;
};

TEST_F(StepUseTest, IsThatOfTheTasksGroup) {
  Self(std::string("1:name=systemd:/\n") + kOfStepd);
  Say("cpu.stat", "usage_usec 123456789\nuser_usec 120000000\nsystem_usec 3456789\nnr_periods 0\n");
  Say("memory.peak", "68719476736\n");
  Say("io.stat",
      "259:0 rbytes=1000 wbytes=20 rios=3 wios=4 dbytes=5 dios=6\n8:0 rbytes=1 wbytes=2 rios=3 wios=4 "
      "dbytes=0 "
      "dios=0\n");
  const StepUse use = Read();
  EXPECT_EQ(use.cpu_us, 123'456'789);
  EXPECT_EQ(use.memory_peak, 68'719'476'736);
  EXPECT_EQ(use.read_bytes, 1001);
  EXPECT_EQ(use.written_bytes, 22);
}

TEST_F(StepUseTest, WhatTheKernelDoesNotSayIsAbsent) {
  Self(kOfStepd);
  Say("cpu.stat", "user_usec 1\n");
  Say("io.stat", "");
  const StepUse use = Read();
  EXPECT_FALSE(use.cpu_us || use.memory_peak || use.read_bytes || use.written_bytes);
  Say("cpu.stat", "usage_usec -5\n");
  Say("memory.peak", "max\n");
  EXPECT_FALSE(Read().cpu_us || Read().memory_peak);
  // A part of the devices would be a wrong sum.
  Say("io.stat", "8:0 rbytes=1 wbytes=2\n" + std::string(5000, ' ') + "8:16 rbytes=1 wbytes=2\n");
  EXPECT_FALSE(Read().read_bytes);
}

TEST_F(StepUseTest, OtherGroupsAreNotRead) {
  Say("cpu.stat", "usage_usec 1\n");
  for (const std::string& line :
       {std::string("1:cpu:") + kStep + "/slurm\n", std::string("0::/\n"), std::string(),
        std::string("0::") + kStep + "/user/task_0\n", std::string("0::") + kStep + "/other\n",
        "0::/" + std::string(2000, 'a') + "/step_0/slurm\n"}) {
    Self(line);
    EXPECT_FALSE(Read().cpu_us) << line;
  }
  std::filesystem::remove(self());
  EXPECT_FALSE(Read().cpu_us);
}

// On a machine that has cgroups of version 2, alone or beside version 1.
TEST_F(StepUseTest, TheKernelsOwnGroupsAreRead) {
  namespace fs = std::filesystem;
  std::string root = "/sys/fs/cgroup";
  if (fs::exists(root + "/unified/cgroup.procs")) root += "/unified";
  const std::string step = "/goodput-test-" + std::to_string(getpid()) + "/step_0";
  const std::string user = root + step + "/user";
  std::error_code error;
  if (geteuid() != 0 || !fs::exists(root + "/cgroup.procs") || !fs::create_directories(user, error))
    GTEST_SKIP() << "no cgroups of version 2 that a test may create";
  Self("0::" + step + "/slurm\n");
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream(user + "/cgroup.procs") << getpid();
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 200'000'000U; ++i) sum = sum + i;
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  const StepUse use = ReadStepUse(RealFiles(), self().c_str(), root.c_str());
  for (fs::path path = user; path != fs::path(root); path = path.parent_path()) fs::remove(path, error);
  EXPECT_GT(use.cpu_us.value_or(0), 20'000);
  EXPECT_LT(use.cpu_us.value_or(0), 60'000'000);
}

TEST_F(StepUseTest, ProcessesThatWereWaitedForAreKnownWithoutGroups) {
  const int64_t before = Read().waited_cpu_us.value_or(0);
  const pid_t child = fork();
  if (child == 0) {
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 200'000'000U; ++i) sum = sum + i;
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_GT(Read().waited_cpu_us.value_or(0) - before, 20'000);
  EXPECT_GT(Read().waited_rss.value_or(0), 100'000);
}

TEST_F(StepUseTest, IsAddedToARecord) {
  StepUse use;
  use.cpu_us = 1;
  use.written_bytes = 0;
  RecordBuilder record(kind::kStepEnd, {1, 2, "n1", 3});
  AddStepUse(use, &record);
  EXPECT_NE(record.Finish().find(R"("kind":"step_end","cpu_us":1,"written_bytes":0})"),
            std::string_view::npos);
}

}  // namespace
}  // namespace goodput
