// Which jobs are looked at, and what is found and recorded about them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spank/event.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/config.h"
#include "tools/goodputd/hang/hang_helper.h"
#include "tools/goodputd/hang/hang_watcher.h"
#include "tools/goodputd/hang/job_progress.h"
#include "tools/goodputd/hang/last_output.h"
#include "tools/goodputd/hang/process_look.h"
#include "tools/goodputd/hang/py_spy.h"
#include "tools/goodputd/hang/ras_report.h"
#include "tools/goodputd/hang/stalled_jobs.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kS = 1'000'000'000;
constexpr Clock kClock = {[]() noexcept { return 1000 * kS; }, []() noexcept { return 100 * kS; }};

class StalledJobsTest : public testing::Test {
 protected:
  NodeJobs::LiveTask Task(std::int64_t job, int task, const std::string& step = "0", uid_t uid = 1000,
                          std::int64_t began_s = 0) {
    auto one = std::make_shared<NodeJob>();
    one->node = "n1";
    one->job = job;
    one->uid = uid;
    return {one, static_cast<pid_t>(job * 100 + task), began_s * kS, step, task};
  }
  void Step(std::int64_t job, std::int64_t second) { progress_.Note({"n1", job}, true, second * kS); }

  JobProgress progress_;
  StalledJobs stalled_{{60 * kS}, progress_};
};

TEST_F(StalledJobsTest, AStallIsLookedAtOnce) {
  const std::vector<NodeJobs::LiveTask> live{Task(7, 0, "batch"), Task(7, 1), Task(7, 0),
                                             Task(7, 0, "extern")};
  Step(7, 1);
  Step(7, 2);
  EXPECT_TRUE(stalled_.Find(live, 61 * kS).empty());
  const std::vector<StalledJob> found = stalled_.Find(live, 62 * kS);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].slurm_step, "0");
  EXPECT_EQ(found[0].last_mono_ns, 2 * kS);
  EXPECT_EQ(found[0].batch_pid, 700);
  ASSERT_EQ(found[0].tasks.size(), 2U);
  EXPECT_EQ(found[0].tasks[0].task, 0);
  EXPECT_EQ(found[0].tasks[1].pid, 701);
  EXPECT_TRUE(stalled_.Find(live, 500 * kS).empty()) << "the same stall";
  Step(7, 500);
  EXPECT_TRUE(stalled_.Find(live, 2000 * kS).empty()) << "it has often waited that long";
  EXPECT_EQ(stalled_.Find(live, (500 + 5 * 498) * kS).size(), 1U) << "another one";
}

TEST_F(StalledJobsTest, LongStepsAreNoStall) {
  for (const std::int64_t second : {0, 300, 600}) Step(7, second);
  EXPECT_TRUE(stalled_.Find({Task(7, 0)}, 2000 * kS).empty());
  EXPECT_EQ(stalled_.Find({Task(7, 0)}, 2100 * kS).size(), 1U);
}

TEST_F(StalledJobsTest, WithoutStepsNothingIsKnown) {
  progress_.Note({"n1", 7}, false, kS);
  EXPECT_TRUE(stalled_.Find({Task(7, 0)}, 5000 * kS).empty());
  Step(8, 1);
  EXPECT_TRUE(stalled_.Find({Task(8, 0, "0", 1000, 2)}, 5000 * kS).empty()) << "it was started since then";
}

TEST_F(StalledJobsTest, OneUserIsLookedAtThirtyTimesAnHour) {
  std::vector<NodeJobs::LiveTask> live{Task(1000, 0, "0", 2000)};
  Step(1000, 1);
  for (std::int64_t job = 1; job <= 100; ++job) {
    live.push_back(Task(job, 0));
    Step(job, 1);
  }
  EXPECT_EQ(stalled_.Find(live, 100 * kS).size(), 31U) << "30 and the other user's";
  EXPECT_EQ(stalled_.Find(live, 100 * kS).size(), 0U);
  EXPECT_EQ(stalled_.Find(live, (100 + 1800) * kS).size(), 15U) << "half an hour later";
}

TEST(JobProgressTest, WhatHasEndedIsForgotten) {
  JobProgress progress;
  progress.Note({"n1", 7}, true, 5);
  progress.Note({"n1", 7}, false, 3);
  ASSERT_TRUE(progress.Of({"n1", 7}));
  EXPECT_EQ(progress.Of({"n1", 7})->last_mono_ns, 5) << "marks come out of order";
  progress.KeepOnly({{"n1", 8}});
  EXPECT_FALSE(progress.Of({"n1", 7}));
}

void Put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string Stat(int pid, const std::string& name, char state, int ticks) {
  return std::to_string(pid) + " (" + name + ") " + state + " 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) +
         " 0 0 0 20 0 3 0 100\n";
}

TEST(ProcessLookTest, TellsWhatTheProcessesOfATaskDo) {
  const TempFolder folder;
  const fs::path proc = folder.path();
  const auto process = [&](int pid, const std::string& name, char state, const std::string& wchan,
                           const std::string& children) {
    const fs::path at = proc / std::to_string(pid);
    Put(at / "comm", name + "\n");
    Put(at / "stat", Stat(pid, name, state, 10));
    Put(at / "wchan", wchan);
    Put(at / "task" / std::to_string(pid) / "children", children);
    Put(at / "task" / std::to_string(pid) / "stat", Stat(pid, name, state, 10));
  };
  process(10, "bash", 'S', "do_wait", "11 12");
  process(11, "a) S (b", 'R', "0", "");
  process(12, "python3", 'S', "futex_do_wait", "");
  Put(proc / "12" / "task" / "99" / "stat", Stat(99, "worker", 'D', 0));
  Put(proc / "12" / "task" / "99" / "wchan", "nfs_wait");
  process(20, "python3", 'S', "poll_schedule_timeout", "");
  const auto pause = [&] {
    Put(proc / "11" / "stat", Stat(11, "a) S (b", 'R', 40));
    fs::remove_all(proc / "20");
  };
  const std::vector<ProcessLook> looks = LookAtProcesses({{0, 10}, {1, 20}}, 8, pause, proc);
  ASSERT_EQ(looks.size(), 3U) << "without the shell";
  EXPECT_EQ(looks[0].program, "a) S (b");
  EXPECT_EQ(looks[0].state, "R");
  EXPECT_EQ(looks[0].cpu_ms, 30'000 / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(looks[0].wchan, "");
  EXPECT_EQ(looks[1].state, "D");
  EXPECT_EQ(looks[1].wchan, "nfs_wait") << "of the thread that cannot be interrupted";
  EXPECT_EQ(looks[1].threads, 3);
  EXPECT_EQ(looks[2].task, 1);
  EXPECT_EQ(looks[2].state, "") << "gone meanwhile";
  EXPECT_EQ(LookAtProcesses(
                {{0, 10}, {1, 20}}, 1, [] {}, proc)
                .size(),
            1U);
}

TEST(LastOutputTest, TheLastLinesAndTheLastStateOfAProgressBar) {
  EXPECT_EQ(LastLines("one\ntwo\r\n\n  \nthree"), "one\ntwo\nthree");
  EXPECT_EQ(LastLines("1\n2\n3\n4\n5\n6\n7\n"), "3\n4\n5\n6\n7");
  EXPECT_EQ(LastLines("before\n 1%\r 2%\r 3%"), "before\n 3%");
  EXPECT_EQ(LastLines(std::string(1000, 'x')).size(), kMostLineBytes);
  EXPECT_EQ(LastLines(""), "");
}

TEST(LastOutputTest, OnlyWhatEveryoneMayReadIsKept) {
  // TempFolder is closed to others.
  const TempFolder folder;
  const std::string path = folder.path() + "/out";
  Put(path, "loss 1.5\n");
  fs::create_symlink(path, folder.path() + "/link");
  const std::vector<std::string> links{folder.path() + "/link", folder.path() + "/link", "/nonexistent"};
  chmod(path.c_str(), 0644);
  ASSERT_EQ(LastOutputs(links, 4).size(), 1U);
  EXPECT_FALSE(LastOutputs(links, 4)[0].is_public) << "the folder is not open to everyone";
  EXPECT_EQ(LastOutputs(links, 4)[0].text, "");
  chmod(folder.path().c_str(), 0711);
  EXPECT_EQ(LastOutputs(links, 4)[0].text, "loss 1.5");
  chmod(path.c_str(), 0640);
  EXPECT_EQ(LastOutputs(links, 4)[0].text, "");
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0644), 0);
  EXPECT_TRUE(LastOutputs({folder.path() + "/pipe"}, 4).empty()) << "would block, and take what is in it";
}

TEST(HangHelperTest, AnAnswerArrivesAsItWasSent) {
  HangFinding process;
  process.task = 3;
  process.process = ProcessLook{3, 42, "python3", "S", "futex_do_wait", 7, 120};
  process.look_ms = 300;
  HangFinding lines;
  lines.text = "a\nb";
  lines.problem = "none";
  const auto decoded = DecodeFindings(EncodeFindings({process, lines}));
  ASSERT_TRUE(decoded.ok());
  ASSERT_EQ(decoded->size(), 2U);
  EXPECT_EQ((*decoded)[0].task, 3);
  EXPECT_EQ((*decoded)[0].process->wchan, "futex_do_wait");
  EXPECT_EQ((*decoded)[0].process->cpu_ms, 120);
  EXPECT_FALSE((*decoded)[1].process);
  EXPECT_EQ((*decoded)[1].text, "a\nb");
  EXPECT_TRUE(DecodeFindings("")->empty());
}

TEST(HangHelperTest, WhateverAHelperSaysIsAnAnswerOrAnError) {
  HangFinding big;
  big.text = std::string(kMostFindingBytes + 1, 'x');
  EXPECT_FALSE(DecodeFindings(EncodeFindings({big})).ok());
  EXPECT_FALSE(DecodeFindings(EncodeFindings(std::vector<HangFinding>(kMostFindings + 1))).ok());
  big.text.resize(kMostFindingBytes);
  EXPECT_FALSE(DecodeFindings(EncodeFindings(std::vector<HangFinding>(11, big))).ok()) << "more than 16 KiB";
  const std::string good = EncodeFindings(std::vector<HangFinding>(2));
  for (std::size_t i = 1; i < good.size(); ++i) static_cast<void>(DecodeFindings(good.substr(i)));
  EXPECT_FALSE(DecodeFindings("nonsense").ok());
}

TEST(HangHelperTest, ReadsItsOrder) {
  HangOrder order;
  order.tasks = {{5, getpid()}};
  const HelperAnswers answers = HangHelper(ToArguments(order));
  const auto found = DecodeFindings(answers("proc", [](std::string_view) {}));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].task, 5);
  EXPECT_EQ((*found)[0].process->pid, getpid());
  EXPECT_FALSE((*found)[0].process->state.empty());
  EXPECT_EQ(HangHelper({"x", "y", ""})("proc", [](std::string_view) {}), "");
}

TEST(HangRecordsTest, WhateverAJobSaysFitsIntoARecord) {
  StalledJob stalled;
  auto job = std::make_shared<NodeJob>();
  job->node = "n1";
  job->job = 7;
  stalled.job = job;
  stalled.slurm_step = "0";
  for (const char byte : {'"', '\\', '\x1b', '\xff', '\n', 'x'}) {
    HangFinding finding;
    finding.text = std::string(kMostFindingBytes, byte);
    finding.problem = std::string(kMostFindingBytes, byte);
    finding.process =
        ProcessLook{1, 2, std::string(128, byte), std::string(128, byte), std::string(128, byte), 1, 1};
    const std::vector<std::string> records = HangRecords(stalled, "output", {finding}, 5, kClock);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_LE(records[0].size(), kMaxRecordBytes);
    EXPECT_EQ(records[0].find("\"trunc\""), std::string::npos) << byte;
    EXPECT_EQ(records[0].find("\\u00"), std::string::npos) << records[0];
    EXPECT_NE(records[0].find("\"since_ns\":5"), std::string::npos);
  }
  HangFinding lines;
  lines.text = "a\n\nb";
  EXPECT_NE(HangRecords(stalled, "ras", {lines}, 5, kClock)[0].find("\"text\":\"a\\u000ab\""),
            std::string::npos);
}

// As py-spy prints it (py_spy.h).
TEST(PySpyTest, WhereTheThreadsAre) {
  const std::string report =
      "Process 4711: python3 -u train.py\nPython v3.11.2 (/usr/bin/python3.11)\n\n"
      "Thread 4800 (idle): \"pin\"\n    wait (threading.py:327)\n"
      "Thread 4711 (idle): \"MainThread\"\n    all_reduce (torch/distributed/distributed_c10d.py:2501)\n"
      "    <lambda> (a b.py:7)\n        Arguments:\n            secret: 42\n    <module> (train.py:200)\n"
      "Thread 4801 (active+gil)\n    decode (native.so)\n";
  EXPECT_EQ(
      PySpySummary(report),
      "MainThread (idle): all_reduce (torch/distributed/distributed_c10d.py:2501) < <lambda> (a b.py:7) < "
      "<module> (train.py:200)\nThread 4801 (active+gil): decode (native.so)");
  std::string deep = "Process 1: python3\n\nThread 1 (idle): \"MainThread\"\n";
  for (int i = 0; i < 100; ++i) deep += Cat("    f", i, std::string(500, 'x'), " (t.py:1)\n");
  for (int i = 0; i < 100; ++i)
    deep += Cat("Thread ", i, " (active): \"", std::string(500, 'n'), "\x1b\"\n    f (t.py:1)\n");
  EXPECT_LE(PySpySummary(deep).size(), kMostFindingBytes);
  EXPECT_EQ(PySpySummary(deep).find('\x1b'), std::string::npos);
  for (const char* none :
       {"", "Error: Permission Denied", "Process 1: x\nThread", "Process 1: x\n    f (t.py:1)\n"})
    EXPECT_EQ(PySpySummary(none), "") << none;
}

TEST(PySpyTest, OnlyWhatNobodyButRootCanChangeIsRun) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const TempFolder folder;
  const std::string path = folder.path() + "/py-spy";
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(FindPySpy(path), "") << "not executable";
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(FindPySpy(path), path);
  EXPECT_EQ(chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(FindPySpy(path), "");
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(chown(path.c_str(), 1, 1), 0);
  EXPECT_EQ(FindPySpy(path), "");
  EXPECT_EQ(FindPySpy("/nonexistent"), "");
}

TEST(PySpyTest, IsAskedByJobsThatWantItWhereTheSiteAllowsIt) {
  EXPECT_TRUE(ParseConfig("", "c")->hang_evidence.py_spy);
  EXPECT_FALSE(ParseConfig("hang_evidence = proc", "c")->hang_evidence.py_spy);
  EXPECT_FALSE(ParseConfig("hang_evidence = off", "c")->hang_evidence.any());
  EXPECT_EQ(HangSourcesName(ParseConfig("hang_evidence = py-spy,ras", "c")->hang_evidence), "ras,py-spy");
  EXPECT_EQ(ParseConfig("py_spy = /opt/py-spy", "c")->py_spy, "/opt/py-spy");
}

// Made of the format strings of NCCL (ras_report.h).
constexpr std::string_view kHead =
    "NCCL version 2.30.1 compiled with CUDA 13.0\nCUDA runtime version 13000, driver version 13000\n\n"
    "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
    "(total)   per node  per process    (total)  (total)\n      4          8            1         32       "
    "32\n"
    "\nCommunicators... (0.00s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n";

std::string Report(const std::string& row, const std::string& errors, const std::string& warnings) {
  return std::string(kHead) + row + "\nErrors\n======\n\n" + errors + "Warnings\n========\n\n" + warnings;
}

TEST(RasReportTest, NamesTheRankThatIsBehind) {
  EXPECT_EQ(RasSummary(Report(
                "    0         1         4         8        32        32   RUNNING  MISMATCH\n", "",
                "#0-0 (27a079b828ff1a75) MISMATCH\n"
                "  Communicator ranks have different AllReduce operation counts\n"
                "  31 ranks have launched up to operation 6650\n"
                "  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 483075 on node "
                "172.16.64.210\n\n")),
            "rank 3 (GPU 3 managed by process 483075 on node 172.16.64.210) is behind in AllReduce: "
            "operation 6649, "
            "31 have operation 6650, communicator #0-0");
}

TEST(RasReportTest, SeveralRanksAndSeveralCommunicators) {
  EXPECT_EQ(
      RasSummary(
          Report("", "",
                 "#0-0 (01) MISMATCH\n"
                 "  Communicator ranks have different status\n"
                 "  26 ranks have status RUNNING\n  6 ranks have status ABORT\n"
                 "  Communicator ranks have different collective operation counts\n"
                 "  30 ranks have launched up to operation 7\n  2 ranks have not launched any operations\n"
                 "  Rank 4 -- GPU 4 managed by process 1 on node a\n"
                 "  Rank 5 -- [process information not found]\n\n"
                 "#1-2 (02) MISMATCH\n"
                 "  Communicator ranks have different Broadcast operation counts\n"
                 "  3 ranks have launched up to operation 1\n"
                 "  Rank 0 has launched up to operation 2 -- GPU 0 managed by process 9 on node b\n")),
      "6 ranks differ: status ABORT, 26 have status RUNNING, communicator #0-0\n"
      "rank 4 (GPU 4 managed by process 1 on node a) is behind in collective: no operation, 30 have "
      "operation 7, "
      "communicator #0-0\n"
      "rank 5 ([process information not found]) is behind in collective: no operation, 30 have operation 7, "
      "communicator #0-0\n"
      "rank 0 (GPU 0 managed by process 9 on node b) is ahead in Broadcast: operation 2, 3 have operation 1, "
      "communicator #1-2");
}

TEST(RasReportTest, ProcessesThatAreMissingOrDead) {
  EXPECT_EQ(
      RasSummary(
          Report("",
                 "INCOMPLETE\n  Missing communicator data from 1 job process\n"
                 "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n"
                 "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                 "  Process 7 on node c managing GPU 1\n\n"
                 "#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                 "  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213\n\n",
                 "TIMEOUT\n  Encountered 2 communication timeouts while gathering communicator data\n\n")),
      "Missing communicator data from 1 job process\n"
      "process 3487984 on node 172.16.64.213 managing GPU 5 gives no answer\n"
      "1 job process is considered dead (unreachable via the RAS network)\n"
      "process 7 on node c managing GPU 1 is dead or cannot be reached\n"
      "Missing communicator data from 1 rank, communicator #0-0\n"
      "rank 21 (GPU 5 managed by process 3487984 on node 172.16.64.213) gives no answer, communicator #0-0\n"
      "Encountered 2 communication timeouts while gathering communicator data");
}

TEST(RasReportTest, NothingIsWrongOrItIsNoReport) {
  EXPECT_EQ(RasSummary(Report("    0         8         4         1         4        32   RUNNING      OK\n",
                              "", "")),
            "every rank answers, and has launched what the others have");
  EXPECT_EQ(RasSummary("HTTP/1.1 400 Bad Request\r\n\r\n"), "");
  EXPECT_EQ(RasSummary(""), "");
  std::string many = "#0-0 (1) INCOMPLETE\n";
  for (int rank = 0; rank < 100; ++rank) many += "  Rank " + std::to_string(rank) + " -- GPU 0\n";
  const std::string summary = RasSummary(Report("", many, ""));
  EXPECT_EQ(std::count(summary.begin(), summary.end(), '\n') + 1, kMostRasLines);
  EXPECT_NE(summary.find("and 89 lines more"), std::string::npos) << summary;
}

TEST(RasReportTest, WhoListens) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 "
      "100\n"
      "   1: 0100007F:6D7C 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 "
      "100\n"
      "   2: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5 1 0 100\n"
      "   3: 00000000000000000000000001000000:6D7C 00000000000000000000000000000000:0000 0A 0:0 0:0 0 1001 0 "
      "6 1\n";
  const std::vector<ListeningSocket> found = ListeningSockets(table, 28028);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].inode, 4711U);
  EXPECT_EQ(found[0].uid, 1000U);
  EXPECT_EQ(found[0].address, std::string("\x7f\0\0\1", 4));
  EXPECT_TRUE(found[1].v6);
  EXPECT_EQ(found[1].address, std::string(15, '\0') + "\1");
  EXPECT_EQ(RasPort(""), 28028);
  EXPECT_EQ(RasPort("localhost:5000"), 5000);
  EXPECT_EQ(RasPort("[::1]:5001"), 5001);
  EXPECT_EQ(RasPort("localhost"), 0);
  EXPECT_EQ(RasPort("localhost:99999"), 0);
}

}  // namespace
}  // namespace goodput
