// Loads the built plugin in a program that is not Slurm, and calls its hooks in Slurm's order. tests/e2e
// tests the plugin in a real Slurm.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/spank/json_check.h"
#include "tests/spank/spank_host.h"
#include "tests/spank/temp_folder.h"

namespace {

class HooksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "the plugin writes as root alone";
    host = SpankHost();
    setenv("SLURMD_NODENAME", "n1", 1);
    setenv("SLURM_CLUSTER_NAME", "a3", 1);
    setenv("SLURM_JOB_GPUS", "0-3,6,7", 1);
    arguments_ = {"spool=" + spool()};
    Load();
  }
  void TearDown() override {
    if (image_ != nullptr) dlclose(image_);
  }
  // Loads a fresh image: the plugin's state belongs to one process of Slurm.
  void Load() {
    if (image_ != nullptr) dlclose(image_);
    const char* path = std::getenv("GOODPUT_PLUGIN");
    image_ = dlopen(path == nullptr ? "spank/.libs/spank_goodput.so" : path, RTLD_LAZY);
    ASSERT_NE(image_, nullptr) << dlerror();
  }
  std::string spool() const { return folder_.path() + "/spool"; }
  void Call(const char* hook) {
    auto* function = reinterpret_cast<spank_f*>(dlsym(image_, hook));
    ASSERT_NE(function, nullptr) << hook;
    std::vector<char*> argv;
    for (std::string& argument : arguments_) argv.push_back(argument.data());
    EXPECT_EQ(function(nullptr, static_cast<int>(argv.size()), argv.data()), 0);
  }
  void Prolog() {
    host.context = S_CTX_JOB_SCRIPT;
    Load();
    Call("slurm_spank_job_prolog");
  }
  void Epilog() {
    host.context = S_CTX_JOB_SCRIPT;
    Load();
    Call("slurm_spank_job_epilog");
  }
  void Step(uint32_t step, int tasks) {
    host.context = S_CTX_REMOTE;
    host.step = step;
    Load();
    Call("slurm_spank_init");
    Call("slurm_spank_init_post_opt");
    for (const char* hook : {"slurm_spank_task_post_fork", "slurm_spank_task_exit"}) {
      for (host.task = 0; host.task < tasks; ++host.task) Call(hook);
    }
    host.task = -1;
    Call("slurm_spank_exit");
  }
  std::vector<json_check::Value> Records() const {
    std::vector<json_check::Value> records;
    if (!std::filesystem::exists(spool() + "/n1")) return records;
    for (const auto& entry : std::filesystem::directory_iterator(spool() + "/n1")) {
      if (entry.path().extension() != ".jsonl") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.empty()) continue;
        const auto record = json_check::Parse(line);
        EXPECT_TRUE(record) << line;
        if (record) records.push_back(*record);
      }
    }
    return records;
  }
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const auto& record : Records()) kinds.push_back(record.at("kind").text);
    return kinds;
  }

  TempFolder folder_;
  std::vector<std::string> arguments_;
  void* image_ = nullptr;
};

using Strings = std::vector<std::string>;

TEST_F(HooksTest, AJobLeavesItsWholeStory) {
  host.submitted["goodput-run"] = "llama";
  Prolog();
  Step(0, 2);
  Epilog();
  EXPECT_EQ(Kinds(), (Strings{"job_prolog", "step_start", "task_start", "task_start", "task_exit",
                              "task_exit", "step_end", "job_epilog"}));
  for (const auto& record : Records()) {
    EXPECT_EQ(record.at("cluster").text, "a3");
    EXPECT_EQ(record.at("job").text, "77");
  }
  EXPECT_EQ(Records()[0].at("opt").at("run").text, "llama");
  const auto start = Records()[1];
  EXPECT_EQ(start.at("gpus").text, "6") << "0-3,6,7 are six";
  EXPECT_EQ(start.at("gpu_ids").text, "0-3,6,7");
  EXPECT_EQ(Records()[0].at("gpu_ids").text, "0-3,6,7");
  EXPECT_EQ(start.at("nnodes").text, "3");
  EXPECT_EQ(start.at("ntasks").text, "24");
  EXPECT_EQ(start.at("local_tasks").text, "8");
  EXPECT_FALSE(start.has("array_job")) << "Slurm answers 0 for a job that is no array";
  EXPECT_EQ(Records()[3].at("task").text, "9");
  EXPECT_TRUE(Records()[6].has("waited_cpu_us") && Records()[6].has("waited_rss"));
  EXPECT_EQ(host.job_env["GOODPUT_SOCKET"], "@goodput");
}

TEST_F(HooksTest, OffAtSubmissionHoldsForEveryStep) {
  host.submitted["goodput"] = "off";
  Prolog();
  Step(0, 1);
  EXPECT_EQ(host.job_env.count("GOODPUT_SOCKET"), 0U);
  EXPECT_EQ(host.job_env["GOODPUT"], "off") << "for a node whose first step is the job's own srun";
  host.job_env["GOODPUT"] = "on";
  Step(1, 1);
  Epilog();
  EXPECT_TRUE(Records().empty());
}

TEST_F(HooksTest, OffThatOnlyTheBatchStepKnowsHoldsFromThere) {
  Prolog();
  host.job_env["GOODPUT"] = "off";
  Step(0xfffffffb, 1);
  host.job_env.clear();
  Step(0, 1);
  Epilog();
  EXPECT_EQ(Kinds(), Strings{"job_prolog"});
}

TEST_F(HooksTest, CalledTwiceInARowAsListedTwiceCountsOnce) {
  host.context = S_CTX_REMOTE;
  const auto twice = [this](const char* hook) {
    Call(hook);
    Call(hook);
  };
  twice("slurm_spank_init");
  EXPECT_EQ(host.options.size(), 11U);
  twice("slurm_spank_init_post_opt");
  for (host.task = 0; host.task < 2; ++host.task) twice("slurm_spank_task_post_fork");
  for (host.task = 1; host.task >= 0; --host.task) twice("slurm_spank_task_exit");
  host.task = -1;
  twice("slurm_spank_exit");
  EXPECT_EQ(Kinds(),
            (Strings{"step_start", "task_start", "task_start", "task_exit", "task_exit", "step_end"}));
}

TEST_F(HooksTest, ASubmissionRegistersRefusesAndPassesTwinsOn) {
  host.context = S_CTX_ALLOCATOR;
  setenv("GOODPUT_RUN", "llama", 1);
  setenv("GOODPUT_PRECISION", "fp9", 1);
  Call("slurm_spank_init");
  ASSERT_EQ(host.options.size(), 11U);
  for (const spank_option& option : host.options) {
    if (std::string(option.name) == "goodput-precision") {
      EXPECT_EQ(option.cb(option.val, "fp9", 0), -1);
      EXPECT_EQ(option.cb(option.val, "fp9", 1), 0) << "on the node it is too late";
      EXPECT_EQ(option.cb(option.val, "fp8", 0), 0);
      EXPECT_EQ(option.cb(option.val, nullptr, 0), -1);
    }
  }
  Call("slurm_spank_init_post_opt");
  Call("slurm_spank_exit");
  unsetenv("GOODPUT_RUN");
  unsetenv("GOODPUT_PRECISION");
  EXPECT_EQ(host.control_env, (std::map<std::string, std::string>{{"GOODPUT_RUN", "llama"}}));
  EXPECT_EQ(host.log.size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(spool())) << "a submission writes nothing";
}

TEST_F(HooksTest, ExternStepHasNoTask) {
  host.step = 0xfffffffc;
  Call("slurm_spank_init");
  Call("slurm_spank_init_post_opt");
  Call("slurm_spank_task_post_fork");
  Call("slurm_spank_exit");
  EXPECT_EQ(Kinds(), (Strings{"step_start", "step_end"}));
  EXPECT_FALSE(Records()[0].has("ntasks"));
}

TEST_F(HooksTest, RecordsEveryOfThreeHundredJobs) {
  host.submitted = {{"goodput-run", "llama"}, {"goodput-tags", "a=b,c=d"}, {"goodput-precision", "bf16"}};
  for (int i = 0; i < 300; ++i) {
    ++host.job;
    Prolog();
    Step(0, 4);
    Epilog();
  }
  EXPECT_EQ(Kinds().size(), 300U * 12U);
}

}  // namespace
