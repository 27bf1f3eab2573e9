// Code shared by daemon and command: other programs' output, configuration, marks, and number formats.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "spank/event.h"
#include "sql/ingest/ingest.h"
#include "sql/record.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/runs/allocated_nodes.h"
#include "tools/accounting/runs/components.h"
#include "tools/accounting/runs/concurrent_jobs.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/base/hostlist.h"
#include "tools/base/mark_message.h"
#include "tools/base/option_lists.h"
#include "tools/base/subprocess.h"
#include "tools/sources/slurm/recovery.h"
#include "tools/sources/slurm/sacct.h"
#include "tools/sources/slurm/sacctmgr.h"
#include "tools/sources/slurm/tres.h"

namespace goodput {
namespace {

// ---- sacct ----

constexpr const char* kHeader =
    "Cluster|JobIDRaw|JobID|Submit|Eligible|Start|End|State|ExitCode|User|Account|Partition|QOS|NNodes|"
    "NodeList|"
    "AllocTRES|ReqTRES|Reason|AdminComment|Suspended|Restarts|FailedNode|JobName\n";

std::vector<AccountingRow> Rows(const std::string& lines, std::int64_t bad = 0) {
  const auto text = ParseSacct(kHeader + lines, "|");
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return {};
  EXPECT_EQ(text->bad_lines, bad);
  return text->rows;
}

TEST(Sacct, WhoCancelledAndWhatAStepDiedOf) {
  const auto text = ParseSacct(
      "JobIDRaw|Submit|Start|End|State|ExitCode|DerivedExitCode\n"
      "7|100|110|200|CANCELLED by 0|0:15|0:0\n"
      "8|100|110|200|CANCELLED by 4000000001|0:15|0:0\n"
      "9|100|110|200|FAILED|1:0|0:125\n",
      "|");
  ASSERT_TRUE(text.ok() && text->rows.size() == 3);
  EXPECT_EQ(text->rows[0].cancelled_by, "root");
  EXPECT_EQ(text->rows[0].state, "CANCELLED");
  EXPECT_FALSE(text->rows[0].derived_signal);
  EXPECT_EQ(text->rows[1].cancelled_by, "user 4000000001");
  EXPECT_EQ(text->rows[2].cancelled_by, "");
  EXPECT_EQ(text->rows[2].derived_signal, kStepRanOutOfMemory);
}

TEST(Sacct, ALineIsAnAttempt) {
  const auto rows = Rows(
      "c1|17|15_2|100|101|110|200|NODE_FAIL|1:9|ada|ml|a3|normal|2|n[1-2]|cpu=8,gres/gpu=16,gres/gpu:h100=16|"
      "cpu=8|Resources|look at n1|00:01:30|2|n1|train\n");
  ASSERT_EQ(rows.size(), 1U);
  const AccountingRow& row = rows[0];
  EXPECT_EQ(row.cluster, "c1");
  EXPECT_EQ(row.job_id, 17);
  EXPECT_EQ(row.job_id_text, "15_2");
  EXPECT_EQ(row.submit_s, 100);
  EXPECT_EQ(row.eligible_s, 101);
  EXPECT_EQ(row.start_s, 110);
  EXPECT_EQ(row.end_s, 200);
  EXPECT_EQ(row.state, "NODE_FAIL");
  EXPECT_EQ(row.exit_code, 1);
  EXPECT_EQ(row.exit_signal, 9);
  EXPECT_EQ(row.user, "ada");
  EXPECT_EQ(row.account, "ml");
  EXPECT_EQ(row.partition, "a3");
  EXPECT_EQ(row.qos, "normal");
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(row.node_list, "n[1-2]");
  EXPECT_EQ(row.gpus, 16);
  EXPECT_EQ(row.gpu_type, "h100");
  EXPECT_EQ(row.reason, "Resources");
  EXPECT_EQ(row.admin_comment, "look at n1");
  EXPECT_EQ(row.suspended_s, 90);
  EXPECT_EQ(row.restarts, 2);
  EXPECT_EQ(row.failed_node, "n1");
  EXPECT_EQ(row.name, "train");
}

TEST(Sacct, TimesMayBeLocalAsSacctPrintsThemByDefault) {
  setenv("TZ", "UTC", 1);
  tzset();
  const auto rows = Rows(
      "c1|17|17|2026-01-02T03:04:05|Unknown|2026-01-02T03:04:06|Unknown|RUNNING|0:0|ada|ml|a3|normal|1|n1||||"
      "|||j|job\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(*rows[0].start_s - rows[0].submit_s, 1);
  EXPECT_FALSE(rows[0].eligible_s);
  EXPECT_FALSE(rows[0].end_s);
  EXPECT_FALSE(rows[0].exit_code) << "a running job's 0:0 is no exit";
}

TEST(Sacct, ARequeuedJobIsARowAnAttempt) {
  const auto rows = Rows(
      "c1|17|17|100|101|110|200|REQUEUED|0:0|ada|ml|a3|normal|1|n1|||||||0|job\n"
      "c1|17|17|200|321|330|400|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||1|job\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].state, "REQUEUED");
  EXPECT_EQ(rows[1].submit_s, 200);
}

TEST(Sacct, CancelledByIsOneWord) {
  EXPECT_EQ(
      Rows("c1|17|17|100|101|110|200|CANCELLED by 1000|0:15|ada|ml|a3|normal|1|n1|||||||0|job\n")[0].state,
      "CANCELLED");
}

TEST(Sacct, AJobCancelledBeforeItRanNeverStarted) {
  const auto rows = Rows(
      "c1|17|17|100|101|200|200|CANCELLED by 0|0:0|ada|ml|a3|normal|1|None "
      "assigned||gres/gpu=4|Priority||||0|job\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows[0].start_s);
  EXPECT_EQ(rows[0].end_s, 200);
  EXPECT_EQ(rows[0].node_list, "");
  EXPECT_EQ(rows[0].gpus, 4) << "it asked for them";
}

TEST(Sacct, APendingJobHasTheGpusItAskedFor) {
  const auto rows = Rows(
      "c1|17|17|100|101|Unknown|Unknown|PENDING|0:0|ada|ml|a3|normal|1|None "
      "assigned||gres/gpu=4|Priority||||0|job\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].gpus, 4);
}

// A sacct that logs what it is asked for; `known`: its fields.
class SacctProgramTest : public testing::Test {
 protected:
  SacctProgramTest() {
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
    Install("Cluster JobID JobIDRaw Submit Start End State", 0);
  }
  ~SacctProgramTest() override { setenv("PATH", path_.c_str(), 1); }
  void Install(const std::string& known, int exit_code) const {
    const std::string program = folder_.path() + "/sacct";
    std::ofstream(program) << "#!/bin/sh\n"
                           << "echo \"$*\" >>" << folder_.path() << "/log\n"
                           << "[ \"$1\" != --helpformat ] || { echo " << known << "; exit; }\n"
                           << "for word; do case $word in --delimiter=*) d=${word#*=} ;; esac; done\n"
                           << "echo JobID${d}Submit${d}Start${d}End${d}State\nexit " << exit_code << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  // What was asked for since the last call: 'f' for the fields, 'r' for rows, 'R' for rows with reservations.
  std::string Asked() const {
    std::ifstream log(folder_.path() + "/log");
    std::string asked;
    for (std::string line; std::getline(log, line);)
      asked += line == "--helpformat" ? 'f' : line.find("Reservation") == std::string::npos ? 'r' : 'R';
    std::filesystem::remove(folder_.path() + "/log");
    return asked;
  }

  const std::string path_ = std::getenv("PATH");
  TempFolder folder_;
};

TEST_F(SacctProgramTest, ItsFieldsAreAskedForOnce) {
  static std::int64_t now_ns = 0;
  Sacct sacct({[]() noexcept { return now_ns; }, []() noexcept { return now_ns; }});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(sacct.Run({}).ok());
  EXPECT_EQ(Asked(), "frrr");
  Install("JobID Submit Start End State Reservation", 0);
  now_ns += 599 * kSecondNs;
  EXPECT_TRUE(sacct.Run({}).ok());
  EXPECT_EQ(Asked(), "r");
  now_ns += kSecondNs;
  EXPECT_TRUE(sacct.Run({}).ok());
  EXPECT_EQ(Asked(), "fR") << "an upgraded Slurm may know more";
}

TEST_F(SacctProgramTest, ItsFieldsAreAskedForAgainOnceItFailed) {
  Sacct sacct;
  EXPECT_TRUE(sacct.Run({}).ok());
  Install("JobID Submit Start End State Reservation", 1);
  EXPECT_FALSE(sacct.Run({}).ok());
  Install("JobID Submit Start End State Reservation", 0);
  EXPECT_TRUE(sacct.Run({}).ok());
  EXPECT_EQ(Asked(), "frrfR");
}

TEST(Sacct, StubsAndStepsAreLeftOut) {
  EXPECT_TRUE(Rows("c1|17|17|100||110|200|COMPLETED|0:0|ada|ml||normal|1|n1|||||||0|job\n"
                   "c1|17.batch|17.batch|100|100|110|200|COMPLETED|0:0|||||1|n1|||||||0|batch\n")
                  .empty());
}

TEST(Sacct, NamesOfUsersCannotShiftOrForgeAnything) {
  const std::string before = "c1|17|17|100|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||0|";
  auto rows = Rows(before + "evil|COMPLETED|name\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, "COMPLETED");
  // An unpredictable delimiter, and a name with several lines.
  std::string header(kHeader);
  std::string line =
      before + "first\nc1|18|18|100|101|110|200|COMPLETED|0:0|root|ml|a3|normal|1|n1|||||||0|forged";
  const std::string delimiter =
      "\x1f"
      "12345678\x1f";
  const auto replace = [&](std::string text, std::size_t limit) {
    for (std::size_t at = text.find('|'); at != std::string::npos && at < limit; at = text.find('|', at)) {
      text.replace(at, 1, delimiter);
    }
    return text;
  };
  header = replace(header, header.size() * 20);
  const std::size_t name = line.find("first");
  line = replace(line.substr(0, name), 100'000) + line.substr(name);
  const auto text = ParseSacct(header + line + "\n", delimiter);
  ASSERT_TRUE(text.ok());
  ASSERT_EQ(text->rows.size(), 1U);
  EXPECT_EQ(text->rows[0].name.substr(0, 6), "first\n");
}

TEST(Sacct, ASuspensionThatCannotBeIsNone) {
  const auto suspended = [](const std::string& text) {
    const auto read =
        ParseSacct("JobIDRaw|Submit|Start|End|State|Suspended\n17|100|110|200|COMPLETED|" + text + "\n", "|");
    return read.ok() && read->rows.size() == 1 ? read->rows[0].suspended_s : -1;
  };
  EXPECT_EQ(suspended("1-02:03:04.5"), 93784);
  for (const char* text : {"9223372036854775807-00:00:00", "1-9223372036854775807:00:00", "-1-00:00:00",
                           "00:-5:00", "9999999:9999999:9999999:9999999:9999999"}) {
    EXPECT_EQ(suspended(text), 0) << text;
  }
}

TEST(Sacct, TheLastLineNeedsNoNewline) {
  EXPECT_EQ(Rows("c1|17|17|100|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||0|job").size(), 1U);
}

TEST(Sacct, WhatIsNoJobIsCounted) {
  EXPECT_TRUE(Rows("sacct: error: something\n", 1).empty());
  EXPECT_TRUE(Rows("c1|x|17|100|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||0|job\n", 1).empty());
  EXPECT_TRUE(Rows("c1|-4|17|100|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||0|job\n", 1).empty());
  EXPECT_TRUE(
      Rows("c1|17|17|Unknown|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|||||||0|job\n", 1).empty());
}

TEST(Sacct, OlderReleasesLackColumnsAndSomeNothingCanBeDoneWithout) {
  const auto text = ParseSacct("JobIDRaw|Submit|Start|End|State\n17|100|110|200|COMPLETED\n", "|");
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_EQ(text->rows.size(), 1U);
  EXPECT_EQ(text->rows[0].gpus, 0);
  EXPECT_FALSE(text->rows[0].restarts);
  const auto without = ParseSacct("JobIDRaw|Submit|Start|End\n17|100|110|200\n", "|");
  ASSERT_FALSE(without.ok());
  EXPECT_NE(std::string(without.status().message()).find("State"), std::string::npos);
  EXPECT_FALSE(ParseSacct("", "|").ok());
  EXPECT_FALSE(ParseSacct("\n", "|").ok());
}

TEST(Sacct, AFileSaysByItsHeaderWhatSeparatesFields) {
  for (const char* between :
       {"|", ",", "\x1f", " ", "@@", "9c5e2c6a-5cf0-4d3a-9c39-6b9f3f5d3f21", "|Node|"}) {
    const std::string text = absl::StrReplaceAll(
        "JobIDRaw#JobID#Submit#Start#End#State\n17#17#100#110#200#COMPLETED\n", {{"#", between}});
    const auto read = ParseSacctFile(text);
    ASSERT_TRUE(read.ok()) << between << ": " << read.status();
    ASSERT_EQ(read->rows.size(), 1U) << between;
    EXPECT_EQ(read->rows[0].end_s, 200);
  }
  for (const char* none : {"", "\n", "17|17|100|110|200|COMPLETED\n", "JobID\n", "{}\n"})
    EXPECT_FALSE(ParseSacctFile(none).ok()) << none;
}

TEST(Sacct, ANameThatForgesALineIsRefused) {
  const std::string forged =
      "JobIDRaw#Submit#Start#End#State#JobName\n17#100#110#200#COMPLETED#x\n18#100#110#200#COMPLETED#root\n";
  for (const char* between : {"|", ",", "\x1f", "@1234@@"}) {
    const auto read = ParseSacctFile(absl::StrReplaceAll(forged, {{"#", between}}));
    ASSERT_FALSE(read.ok()) << between;
    EXPECT_NE(std::string(read.status().message()).find("--delimiter"), std::string::npos);
  }
  // By a delimiter that nobody could guess, the second line is a part of the name.
  const std::string uuid = "9c5e2c6a-5cf0-4d3a-9c39-6b9f3f5d3f21";
  const auto read = ParseSacctFile("JobIDRaw" + uuid + "Submit" + uuid + "Start" + uuid + "End" + uuid +
                                   "State" + uuid + "JobName\n17" + uuid + "100" + uuid + "110" + uuid +
                                   "200" + uuid + "COMPLETED" + uuid + "x\n18|100|110|200|COMPLETED|root\n");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->rows.size(), 1U);
  EXPECT_EQ(read->rows[0].name, "x\n18|100|110|200|COMPLETED|root");
}

TEST(Sacct, RandomTextNeverCrashes) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string line =
        "c1|17|17|100|101|110|200|COMPLETED|0:0|ada|ml|a3|normal|1|n1|gres/gpu=1|||||00:00:01|0|job\n";
    for (int i = 0; i < 5; ++i) line[random() % line.size()] = static_cast<char>(random());
    ASSERT_TRUE(ParseSacct(kHeader + line, "|").ok());
  }
}

TEST(Sacctmgr, NodesThatWereDownAreNamedWithTheReason) {
  const auto outages = ParseNodeEvents(
      "c1|n1|DOWN|100|200|Not responding|at all\nc1||DOWN|1|2|cluster\nc1|n2|DRAIN|150|Unknown|x\n\n", '|');
  ASSERT_EQ(outages.size(), 2U);
  EXPECT_EQ(outages[0].node, "n1");
  EXPECT_EQ(outages[0].end_s, 200);
  EXPECT_EQ(outages[0].reason, "Not responding|at all");
  EXPECT_FALSE(outages[1].end_s);
}

TEST(Sacctmgr, OfEachQosThoseThatPreemptItAreNamed) {
  EXPECT_EQ(ParsePreemptors("normal|\nurgent|normal,low\nhigh|normal\nlow|\n\n"),
            (Preemptors{{"normal", {"high", "urgent"}}, {"low", {"urgent"}}, {"urgent", {}}, {"high", {}}}));
  EXPECT_TRUE(ParsePreemptors("").empty());
}

// ---- host lists and resources ----

using Names = std::vector<std::string>;

TEST(HostList, NamesAreCompressed) {
  EXPECT_EQ(CompressHostList({}), "");
  EXPECT_EQ(CompressHostList({"n1"}), "n1");
  EXPECT_EQ(CompressHostList({"n3", "n1", "n2", "n1"}), "n[1-3]");
  EXPECT_EQ(CompressHostList({"n9", "n10", "n12"}), "n[9-10,12]");
  EXPECT_EQ(CompressHostList({"n07", "n08", "n7"}), "n[7,07-08]");
  EXPECT_EQ(CompressHostList({"a1-ib", "a2-ib", "login", "b1"}), "a[1-2]-ib,b1,login");
  EXPECT_EQ(CompressHostList({"n99999999999999999999"}), "n99999999999999999999");
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::set<std::string> names;
    for (auto count = random() % 12; count > 0; --count) {
      std::string name = std::string(1, "ab"[random() % 2]) + std::string(random() % 3, '0') +
                         std::to_string(random() % 30) + (random() % 4 == 0 ? "-x" : "");
      names.insert(name);
    }
    const std::string list = CompressHostList({names.begin(), names.end()});
    const std::vector<std::string> again = ExpandHostList(list);
    EXPECT_EQ(again.size(), names.size()) << list;
    EXPECT_EQ((std::set<std::string>(again.begin(), again.end())), names) << list;
  }
}

TEST(HostList, CompressedListsExpandInOrder) {
  EXPECT_EQ(ExpandHostList(""), Names{});
  EXPECT_EQ(ExpandHostList("n1"), Names{"n1"});
  EXPECT_EQ(ExpandHostList("n1,n2"), (Names{"n1", "n2"}));
  EXPECT_EQ(ExpandHostList("n[1-3]"), (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(ExpandHostList("n[08-11,3],login"), (Names{"n08", "n09", "n10", "n11", "n3", "login"}));
  EXPECT_EQ(ExpandHostList("r[1-2]n[1-2]-x"), (Names{"r1n1-x", "r1n2-x", "r2n1-x", "r2n2-x"}));
}

TEST(HostList, WhatCannotBeUnderstoodStaysAsItIs) {
  EXPECT_EQ(ExpandHostList("n[1-"), Names{"n[1-"});
  EXPECT_EQ(ExpandHostList("n]1"), Names{"n]1"});
  EXPECT_EQ(ExpandHostList("n[a-b]"), Names{"na-b"});
  EXPECT_EQ(ExpandHostList("n[3-1]"), Names{"n3-1"});
}

TEST(HostList, AHugeRangeIsCutAtTheLimit) {
  EXPECT_EQ(ExpandHostList("n[1-999999999999]", 10).size(), 10U);
  EXPECT_EQ(ExpandHostList("n[9223372036854775806-9223372036854775807]", 10).size(), 2U);
  EXPECT_EQ(ExpandHostList("a[1-99999]b[1-99999]c[1-99999]", 5).size(), 5U);
}

TEST(HostList, BracketsOverBracketsEndAtTheLimitToo) {
  std::string list;
  for (int i = 0; i < 64; ++i) list += "[a,b]";
  EXPECT_EQ(ExpandHostList(list, 10).size(), 10U) << "and not after 2^64 attempts";
  EXPECT_EQ(ExpandHostList("n[1-999999999999][3-1]", 10).size(), 10U);
  for (int i = 0; i < 100'000; ++i) list += "[a]";
  EXPECT_EQ(ExpandHostList(list, 10).size(), 10U) << "and not so deep that the stack ends";
}

TEST(Sacct, ANumberOfNodesBelowNoneIsNone) {
  const auto read =
      ParseSacct("JobIDRaw|Submit|Start|End|State|NNodes|Restarts\n17|100|110|200|COMPLETED|-5|-1\n", "|");
  ASSERT_TRUE(read.ok() && read->rows.size() == 1);
  EXPECT_EQ(read->rows[0].nodes, 0);
  EXPECT_FALSE(read->rows[0].restarts);
}

TEST(Recovery, IsWhatTheJobAskedFor) {
  EXPECT_EQ(RecoveryAskedFor(R"({"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 1}})", false),
            "ajr");
  EXPECT_EQ(RecoveryAskedFor(R"({"APS": {"auto_resume_mode": "requeue"}})", true), "expedite");
  EXPECT_EQ(RecoveryAskedFor("", true), "expedite");
  for (const std::string& comment :
       {std::string(), std::string("requeue me"), std::string(R"({"APS": {"auto_resume_mode": "off"}})"),
        std::string(R"({"APS": "requeue"})"), std::string(R"(["APS"])"),
        std::string(R"({"APS": {"auto_resume_mode)"),
        R"({"APS": {"auto_resume_mode": "requeue"}, "x": ")" + std::string(5000, 'x') + "\"}"})
    EXPECT_EQ(RecoveryAskedFor(comment, false), "") << comment.substr(0, 60);
}

TEST(Tres, GpusAreCountedWithAndWithoutType) {
  EXPECT_EQ(GpusOfTres("").gpus, 0);
  EXPECT_EQ(GpusOfTres("cpu=8,mem=4G,node=1").gpus, 0);
  EXPECT_EQ(GpusOfTres("cpu=8,gres/gpu=16").gpus, 16);
  EXPECT_EQ(GpusOfTres("gres/gpu=16,gres/gpu:h100=16").type, "h100");
  EXPECT_EQ(GpusOfTres("gres/gpu:h100=16").gpus, 16);
  EXPECT_EQ(GpusOfTres("gres/gpu:a=2,gres/gpu:b=3").gpus, 5);
  EXPECT_EQ(GpusOfTres("gres/gpumem=80G,gres/gpuutil=3,gres/gpu=2").gpus, 2);
  EXPECT_EQ(GpusOfTres("gres/gpu=x,gres/gpu:=,=,gres/gpu=-4").gpus, 0);
}

TEST(Tres, ANumberThatCannotBeDoesNotOverflow) {
  const std::string most = "gres/gpu:a=9223372036854775807,gres/gpu:b=9223372036854775807";
  EXPECT_EQ(GpusOfTres(most).gpus, 0);
  EXPECT_GE(GpusOfGres("gpu:a:9223372036854775807,gpu:b:9223372036854775807").gpus, 0);
}

TEST(Gres, GpusAreCountedAsJobsAskForThem) {
  EXPECT_EQ(GpusOfGres("gpu:h100:16").gpus, 16);
  EXPECT_EQ(GpusOfGres("gpu:h100:16").type, "h100");
  EXPECT_EQ(GpusOfGres("gres:gpu:8").gpus, 8);
  EXPECT_EQ(GpusOfGres("gres/gpu:h100:8").type, "h100");
  EXPECT_EQ(GpusOfGres("gpu").gpus, 1);
  EXPECT_EQ(GpusOfGres("gpu:h100").gpus, 1);
  EXPECT_EQ(GpusOfGres("gpu:2(IDX:0-1),nic:1").gpus, 2);
  for (const char* text : {"", ",", ":", "gres", "gres:", "(", "nic:4"})
    EXPECT_EQ(GpusOfGres(text).gpus, 0) << text;
}

// ---- configuration ----

TEST(Config, EveryKeyCanBeSet) {
  const auto config = ParseConfig(
      "# a comment\n"
      "spool = /a/spool\n"
      " database=/b/goodput.db   # local disk\n"
      "cluster = c1\r\n"
      "\n"
      "socket = @marks\n"
      "role = controller\n"
      "queue_interval = 250ms\n"
      "busbw = 185.5\n"
      "spool_max = 2G",
      "goodput.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->spool, "/a/spool");
  EXPECT_EQ(config->database, "/b/goodput.db");
  EXPECT_EQ(config->cluster, "c1");
  EXPECT_EQ(config->socket, "@marks");
  EXPECT_FALSE(config->node_role);
  EXPECT_TRUE(config->controller_role);
  EXPECT_EQ(config->queue_interval, absl::Milliseconds(250));
  EXPECT_EQ(config->spool_max, std::int64_t{2} << 30);
  EXPECT_EQ(config->busbw, 185.5);
  const auto both = ParseConfig("role = node, controller\n", "x");
  EXPECT_TRUE(both->node_role && both->controller_role);
  EXPECT_TRUE(ParseConfig("", "x").ok());
}

TEST(Config, AMistakeIsNamedWithItsLineAndHowToMendIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"spool = relative", "absolute path"},
      {"database =", "absolute path"},
      {"socket = marks", "@name"},
      {"socket = @", "@name"},
      {"role = boss", "use node, controller, or node,controller"},
      {"role =", "use node, controller, or node,controller"},
      {"queue_interval = 5", "5s"},
      {"queue_interval = -5s", "5s"},
      {"queue_interval = 1ms", "5s"},
      {"queue_interval = 2h", "5s"},
      {"spool_max = lots", "256M"},
      {"spool_max = 0", "256M"},
      {"spool_max = -1M", "256M"},
      {"spool_max = 99999999999999999999", "256M"},
      {"spool_max = 1099511627776T", "256M"},
      {"spool_max = M", "256M"},
      {"busbw = fast", "185"},
      {"busbw = 0", "185"},
      {"busbw = nan", "185"},
      {"colour = red", "known keys"},
      {"just words", "key = value"},
  };
  for (const auto& [line, mend] : cases) {
    const auto config = ParseConfig(std::string("# first\n\n") + line + "\n", "goodput.conf");
    ASSERT_FALSE(config.ok()) << line;
    const std::string message(config.status().message());
    EXPECT_EQ(message.find("goodput.conf:3: "), 0U) << message;
    EXPECT_NE(message.find(mend), std::string::npos) << message;
  }
}

TEST(Config, TheFileMayBeMissingUnlessItWasNamed) {
  TempFolder folder;
  const std::string path = folder.path() + "/goodput.conf";
  setenv("GOODPUT_CONF", path.c_str(), 1);
  EXPECT_TRUE(absl::IsNotFound(LoadConfig("").status()));
  EXPECT_TRUE(absl::IsNotFound(LoadConfig(path).status()));
  std::ofstream(path) << "cluster = c9\n";
  EXPECT_EQ(LoadConfig("")->cluster, "c9");
  EXPECT_EQ(LoadConfig(path)->cluster, "c9");
  std::ofstream(path) << std::string((1U << 20U) + 1, '#');
  EXPECT_FALSE(LoadConfig(path).ok());
  EXPECT_FALSE(LoadConfig(folder.path()).ok()) << "a folder is no configuration";
  unsetenv("GOODPUT_CONF");
}

// ---- marks ----

TEST(Mark, WhatAClientSendsIsWhatTheDaemonReads) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    MarkMessage mark;
    mark.kind = static_cast<MarkMessage::Kind>(random() % 5);
    mark.begin = random() % 2 == 0;
    mark.job = 1 + static_cast<std::int64_t>(random() % 100'000);
    if (mark.kind == MarkMessage::Kind::kStep || random() % 2 == 0) {
      mark.train_step = static_cast<std::int64_t>(random() % ((std::uint64_t{1} << 53) + 1));
    }
    if (mark.kind == MarkMessage::Kind::kStep && !mark.begin) mark.name = kStepFailed;
    if (mark.kind == MarkMessage::Kind::kPhase) mark.name = "eval \"quick\\slow\" \xc3\xa9";
    if (mark.kind == MarkMessage::Kind::kWorld) {
      mark.world = 1 + static_cast<std::int64_t>(random() % 1000);
      if (random() % 2 == 0) mark.wanted = mark.world + static_cast<std::int64_t>(random() % 3);
      if (random() % 2 == 0) mark.spares = static_cast<std::int64_t>(random() % 3);
      if (random() % 2 == 0) mark.tokens = 1 + static_cast<std::int64_t>(random() % 1000);
    }
    if (random() % 2 == 0) mark.slurm_step = random() % 2 == 0 ? "batch" : "12";
    if (random() % 2 == 0) mark.task = static_cast<std::int64_t>(random() % 1000);
    if (random() % 2 == 0) mark.node = "n1";
    if (random() % 2 == 0) mark.mono_ns = static_cast<std::int64_t>(random());
    const auto back = ParseMark(FormatMark(mark));
    ASSERT_TRUE(back.ok()) << FormatMark(mark) << " " << back.status();
    EXPECT_EQ(back->kind, mark.kind);
    EXPECT_EQ(back->begin, mark.begin);
    EXPECT_EQ(back->job, mark.job);
    EXPECT_EQ(back->train_step, mark.train_step);
    EXPECT_EQ(back->name, mark.name);
    EXPECT_EQ(back->slurm_step, mark.slurm_step);
    EXPECT_EQ(back->task, mark.task);
    EXPECT_EQ(back->node, mark.node);
    EXPECT_EQ(back->mono_ns, mark.mono_ns);
    EXPECT_EQ(back->world, mark.world);
    EXPECT_EQ(back->wanted, mark.wanted);
    EXPECT_EQ(back->spares, mark.spares);
    EXPECT_EQ(back->tokens, mark.tokens);
  }
}

TEST(Mark, WhatIsWrongWithAMessageIsSaidInAFewWords) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{\"v\":1", "not a JSON object"},
      {std::string(4097, ' '), "longer than 4096 bytes"},
      {R"({"mark":"step","job":1,"train_step":1})", "`v` is not 1"},
      {R"({"v":2,"mark":"step","job":1,"train_step":1})", "`v` is not 1"},
      {R"({"v":1,"job":1})", "no `mark`"},
      {R"({"v":1,"mark":"lunch","job":1})", "`mark` is not step, checkpoint, phase, restore or world"},
      {R"({"v":1,"mark":"step","edge":"middle","job":1,"train_step":1})", "`edge` is not begin or end"},
      {R"({"v":1,"mark":"step","train_step":1})", "no `job`"},
      {R"({"v":1,"mark":"step","job":0,"train_step":1})", "no `job`"},
      {R"({"v":1,"mark":"step","job":-5,"train_step":1})", "no `job`"},
      {R"({"v":1,"mark":"step","job":1})", "a step mark without `train_step`"},
      {R"({"v":1,"mark":"step","job":1,"train_step":-1})", "`train_step` is out of range"},
      {R"({"v":1,"mark":"step","job":1,"train_step":9007199254740993})", "`train_step` is out of range"},
      {R"({"v":1,"mark":"step","job":1,"train_step":1,"slurm_step":"../x"})",
       "`slurm_step` is not a Slurm step"},
      {R"({"v":1,"mark":"step","job":1,"train_step":1,"task":-1})", "`task` is out of range"},
      {R"({"v":1,"mark":"phase","job":1})", "a phase mark without `name`"},
      {R"({"v":1,"mark":"world","job":1})", "`world` is not a number of GPUs"},
      {R"({"v":1,"mark":"world","job":1,"world":0})", "`world` is not a number of GPUs"},
      {R"({"v":1,"mark":"world","job":1,"world":16777217})", "`world` is not a number of GPUs"},
      {R"({"v":1,"mark":"world","job":1,"world":8,"wanted":7})",
       "`wanted` is less than `world`, or no number of GPUs"},
      {R"({"v":1,"mark":"world","job":1,"world":8,"spares":-1})", "`spares` is not a number of GPUs"},
      {R"({"v":1,"mark":"world","job":1,"world":8,"tokens":0})", "`tokens` is out of range"},
      {R"({"v":1,"mark":"phase","job":1,"name":")" + std::string(129, 'x') + "\"}",
       "`name` is longer than 128 bytes"},
  };
  for (const auto& [message, words] : cases) {
    const auto mark = ParseMark(message);
    ASSERT_FALSE(mark.ok()) << message;
    EXPECT_EQ(std::string(mark.status().message()), words) << message;
  }
}

TEST(Mark, ControlCharactersOfANameDoNotBreakTheMessage) {
  MarkMessage mark;
  mark.kind = MarkMessage::Kind::kPhase;
  mark.job = 1;
  mark.name = std::string("a\0b\n\x1b[31m", 9);
  const auto read = ParseMark(FormatMark(mark));
  ASSERT_TRUE(read.ok()) << FormatMark(mark);
  EXPECT_EQ(read->name, mark.name);
}

TEST(Mark, BytesThatAreNoUtf8StillMakeAMark) {
  MarkMessage mark;
  mark.kind = MarkMessage::Kind::kPhase;
  mark.job = 1;
  mark.name = "caf\xe9";
  const auto read = ParseMark(FormatMark(mark));
  ASSERT_TRUE(read.ok()) << FormatMark(mark);
  EXPECT_EQ(read->name, "caf\xc3\xa9") << "the character of that number";
}

TEST(Mark, ALongNodeNameIsCutBetweenCharacters) {
  MarkMessage mark;
  mark.job = 1;
  mark.train_step = 1;
  mark.node = std::string(255, 'n') + "\xc3\xa9";
  const auto read = ParseMark(FormatMark(mark));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->node, std::string(255, 'n'));
  EXPECT_TRUE(ParseMark(FormatMark(*read)).ok());
}

TEST(Mark, RandomBytesNeverCrash) {
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string message =
        R"({"v":1,"mark":"step","edge":"begin","train_step":7,"m":12,"job":12,"slurm_step":"0"})";
    for (int flips = 0; flips < 4; ++flips) message[random() % message.size()] = static_cast<char>(random());
    ParseMark(message).IgnoreError();
  }
}

// ---- other programs ----

TEST(Command, ItsOutputAndExitCodeComeBack) {
  const auto result = RunCommand({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(RunCommand({"sh", "-c", "kill -9 $$"})->exit_code, 128 + 9);
}

TEST(Command, ArgumentsAreNotAShells) {
  EXPECT_EQ(RunCommand({"printf", "%s", "$HOME `id` ; x"})->out, "$HOME `id` ; x");
}

TEST(Command, ItsEnvironmentIsOursAndWhatIsAdded) {
  CommandOptions options;
  options.env = {{"GOODPUT_A", "1"}, {"HOME", "/nowhere"}};
  EXPECT_EQ(RunCommand({"sh", "-c", "echo $GOODPUT_A $HOME"}, options)->out, "1 /nowhere\n");
}

TEST(Command, AMissingProgramIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(RunCommand({"/nonexistent/program"}).status()));
  EXPECT_TRUE(absl::IsNotFound(RunCommand({"goodput-no-such-program"}).status()));
}

TEST(Command, OneThatHangsIsKilledWithWhatItStarted) {
  CommandOptions options;
  options.timeout = absl::Milliseconds(200);
  const absl::Time begin = absl::Now();
  // A time that no other copy of this test sleeps.
  const std::string sleep = "sleep 1234." + std::to_string(getpid());
  const auto result = RunCommand({"sh", "-c", sleep + " & " + sleep}, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  EXPECT_NE(RunCommand({"sh", "-c", "ps -eo args | grep -x '" + sleep + "'"})->exit_code, 0)
      << "nothing of it is left";
}

TEST(Command, OneThatClosesItsOutputAndHangsIsKilledToo) {
  CommandOptions options;
  options.timeout = absl::Milliseconds(300);
  const absl::Time begin = absl::Now();
  const auto result = RunCommand({"sh", "-c", "exec >&- 2>&-; sleep 30"}, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status()));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST(Command, ItReadsItsInput) {
  CommandOptions options;
  options.input = std::string(300'000, 'x');
  EXPECT_EQ(RunCommand({"wc", "-c"}, options)->out, "300000\n");
  EXPECT_EQ(RunCommand({"true"}, options)->exit_code, 0) << "it need not";
  EXPECT_EQ(RunCommand({"wc", "-c"})->out, "0\n");
}

TEST(Command, WhatIsTooMuchCanBeDropped) {
  CommandOptions options;
  options.max_output = 10;
  options.cut_output = true;
  const auto result = RunCommand({"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 4"}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "xxxxxxxxxx");
  EXPECT_EQ(result->exit_code, 4);
}

TEST(Command, TooMuchOutputIsAnError) {
  CommandOptions options;
  options.max_output = 1000;
  const auto result = RunCommand({"yes"}, options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(std::string(result.status().message()).find("more than 1000 bytes"), std::string::npos);
  EXPECT_TRUE(RunCommand({"sh", "-c", "yes | head -c 1000"}, options).ok());
}

// ---- formatting ----

TEST(Format, DurationsAreShort) {
  const std::pair<double, const char*> cases[] = {
      {0, "0.0s"},      {0.44, "0.4s"},     {12.34, "12.3s"},    {59.94, "59.9s"}, {59.96, "1m00s"},
      {245, "4m05s"},   {3599.4, "59m59s"}, {3599.6, "1h00m"},   {11520, "3h12m"}, {86399, "23h59m"},
      {86400, "1d00h"}, {187200, "2d04h"},  {8640000, "100d00h"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(FormatDuration(static_cast<Ns>(seconds * 1e9)), text);
  EXPECT_EQ(FormatDuration(std::optional<Ns>()), "-");
  FormatDuration(std::numeric_limits<Ns>::max());
  FormatDuration(std::numeric_limits<Ns>::min());
}

TEST(Format, UnknownIsSaidAsSacctDoes) {
  EXPECT_EQ(FormatTime(std::optional<Ns>()), "Unknown");
  EXPECT_EQ(FormatPercent(std::nullopt), "-");
  EXPECT_EQ(FormatPercent(0.7134), "71.3%");
}

TEST(Format, NothingAJobIsCalledCanSteerATerminal) {
  EXPECT_EQ(Printable("plain \xc3\xa9\xe2\x82\xac"), "plain \xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f"), "a?[31mb??");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "the C1 form of ESC [";
  EXPECT_EQ(Printable("\xff\xc3"), "??");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  // Right-to-left override, isolates and marks; line and paragraph separator.
  for (const char* turn : {"\u202e", "\u202a", "\u2066", "\u2069", "\u200e", "\u200f", "\u2028", "\u2029"})
    EXPECT_EQ(Printable(std::string("a") + turn + "b"), "a?b");
  for (const char* plain : {"\u2027", "\u202f", "\u2065", "\u206a", "\u200d"})
    EXPECT_EQ(Printable(plain), plain);
}

TEST(Format, WhatIsPrintedHasAnEnd) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(Printable("abcde\xc3\xa9", 6), "abcde...") << "no half of a character";
  EXPECT_EQ(Printable(std::string(1 << 20U, 'x')).size(), kMostPrintable + 3);
}

TEST(Format, ASpreadsheetRunsNoCell) {
  EXPECT_EQ(CsvLine({"=1+1", "+cmd|'/C calc'!A0", "-2+cmd()", "@SUM(A1)", "\tx", "a=b"}),
            "'=1+1,'+cmd|'/C calc'!A0,'-2+cmd(),'@SUM(A1),'\tx,a=b\n");
  EXPECT_EQ(CsvLine({"-", "-1.5", "+3.2%", "-2:30", "+10.4s"}), "-,-1.5,+3.2%,-2:30,+10.4s\n")
      << "numbers are numbers";
}

TEST(Format, AParsableLineKeepsItsColumns) {
  const std::string longest(50000, 'n');
  EXPECT_EQ(ParsableLine({"a|b", "", "c\n\x1b", longest}), "a?b||c??|" + longest + "\n");
}

TEST(OptionLists, StatesHaveSlurmsNames) {
  EXPECT_EQ(*SplitStates({"CD,running", "", "nf,"}),
            (std::vector<std::string>{"COMPLETED", "RUNNING", "NODE_FAIL"}));
  EXPECT_EQ(SplitStates({"CD,XX"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Format, ATableFitsItsContent) {
  Table table(
      {{"JobID", Table::Align::kLeft, 0}, {"Name", Table::Align::kLeft, 5}, {"SG", Table::Align::kRight, 0}});
  EXPECT_TRUE(table.empty());
  table.Add({"1", "abcdefgh", "9.1%"});
  table.Add({"123456", "\xc3\xa9\xc3\xa9", "100.0%"});
  EXPECT_EQ(table.Render(true),
            "JobID   Name       SG\n"
            "------  -----  ------\n"
            "1       abcd+    9.1%\n"
            "123456  \xc3\xa9\xc3\xa9     100.0%\n");
  EXPECT_EQ(table.Render(false, "  ").find("  1 "), 0U);
}

// ---- loading runs from the database ----

class LoadRunTest : public testing::Test {
 protected:
  LoadRunTest() : db_(*Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite)) {}

  // A record of the queue watch about job 7, or another.
  class Watched {
   public:
    Watched(LoadRunTest& test, std::string_view kind, std::int64_t t_s, const char* state,
            std::int64_t ahead_s = 0, std::int64_t job = 7)
        : test_(test), builder_(kind, {(t_s + ahead_s) * kSecond, t_s * kSecond, "@controller", 1}) {
      builder_.Text(key::kCluster, "c1");
      builder_.Int(key::kJob, job);
      builder_.Text(key::kState, state);
    }
    ~Watched() { test_.Append("@controller", std::string(builder_.Finish())); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    Watched& Int(std::string_view name, std::int64_t value) { return builder_.Int(name, value), *this; }
    Watched& Text(std::string_view name, std::string_view value) { return builder_.Text(name, value), *this; }
    Watched& Flag(const std::string& flag) {
      return builder_.Texts(key::kFlags, std::vector<std::string>{flag}), *this;
    }

   private:
    LoadRunTest& test_;
    RecordBuilder builder_;
  };
  void Marked(std::int64_t t_s, std::int64_t step, std::int64_t ahead_s = 0, std::string_view end = {}) {
    RecordBuilder builder(kind::kMark, {(t_s + ahead_s) * kSecond, t_s * kSecond, "n1", 1});
    builder.Int(key::kJob, 7);
    builder.Text(key::kSlurmStep, "0");
    builder.Int(key::kTask, 0);
    builder.Text(key::kMark, "step");
    builder.Text(key::kEdge, end.empty() ? "begin" : "end");
    if (!end.empty()) builder.Text(key::kName, end);
    builder.Int(key::kTrainStep, step);
    Append("n1", std::string(builder.Finish()));
  }
  // The begin of the watch, written after its records of jobs at the same time.
  void BeginWatch(std::int64_t t_s) {
    RecordBuilder record(kind::kWatch, {t_s * kSecond, 1, "@controller", 1});
    record.Text(key::kCluster, "c1");
    record.Text(key::kEdge, "begin");
    Append("@controller", std::string(record.Finish()));
  }
  void Append(const std::string& node, const std::string& record) {
    const std::string folder = folder_.path() + "/spool/" + node;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/boot.2026010100Z.jsonl", std::ios::app | std::ios::binary) << record;
  }
  static AccountingRow Accounted(std::int64_t submit, std::int64_t start, std::optional<std::int64_t> end,
                                 const std::string& state) {
    AccountingRow row;
    row.cluster = "c1";
    row.job_id = 7;
    row.job_id_text = "7";
    row.submit_s = submit;
    row.eligible_s = submit;
    row.start_s = start;
    row.end_s = end;
    row.state = state;
    row.nodes = 1;
    row.gpus = 8;
    row.node_list = "n1";
    row.partition = "a3";
    return row;
  }
  goodput::Run Load(Ns now_s = 10'000) {
    if (std::filesystem::exists(folder_.path() + "/spool")) {
      const auto report = IngestSpool(db_, folder_.path() + "/spool", {});
      EXPECT_TRUE(report.ok() && report->bad == 0);
    }
    auto run = LoadRun(db_, {{"c1", 7}}, now_s * kSecond);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : goodput::Run{};
  }

  TempFolder folder_;
  Database db_;
};

TEST(Sacct, ATimeLimitIsInMinutesAndGpusAreThoseThatItGot) {
  const auto text = ParseSacct(
      "JobID|Submit|Start|End|State|NodeList|AllocTRES|ReqTRES|TimelimitRaw\n"
      "7|100|110|200|COMPLETED|n1|cpu=4|cpu=4,gres/gpu=8|90\n"
      "8|100|Unknown|Unknown|PENDING|None assigned||cpu=4,gres/gpu=8|UNLIMITED\n",
      "|");
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_EQ(text->rows.size(), 2U);
  EXPECT_EQ(text->rows[0].time_limit_s, 90 * 60);
  EXPECT_EQ(text->rows[0].gpus, 0) << "it ran without any";
  EXPECT_EQ(text->rows[1].time_limit_s, std::nullopt);
  EXPECT_EQ(text->rows[1].gpus, 8) << "what it asks for while it waits";
}

TEST_F(LoadRunTest, AnUnknownJobIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(LoadRun(db_, {{"c1", 7}}, 0).status()));
}

TEST_F(LoadRunTest, AccountingAloneMakesAttempts) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  EXPECT_EQ(run.facts.attempts[0].end, 200 * kSecond);
  EXPECT_EQ(run.facts.attempts[1].state, "COMPLETED");
  EXPECT_EQ(run.facts.attempts[1].gpus, 8);
  EXPECT_EQ(run.info.partition, "a3");
}

TEST_F(LoadRunTest, OfTheEndsOfStepsTheLastCountsAndEachFailure) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  Marked(120, 0);
  for (const std::int64_t t : {130, 140}) Marked(t, 0, 0, kStepFailed);
  Marked(150, 0, 0, kMayBeMore);
  Marked(151, 1);
  Marked(160, 1, 0, kMayBeMore);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  const AttemptFacts& attempt = run.facts.attempts[0];
  using Marks = std::vector<std::pair<Mark::Kind, Ns>>;
  Marks marks;
  for (const Mark& mark : attempt.marks) marks.emplace_back(mark.kind, mark.t / kSecond);
  EXPECT_EQ(
      marks,
      (Marks{{Mark::Kind::kStepFailed, 130}, {Mark::Kind::kStepFailed, 140}, {Mark::Kind::kStepEnd, 160}}));
  EXPECT_EQ(attempt.step_ends.size(), 2U) << "a step that failed has not ended";
}

// Accounting ends it at the requeue.
TEST_F(LoadRunTest, AJobThatWasRequeuedWhenItWasOverEndedBefore) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Watched(*this, kind::kAttempt, 131, "COMPLETED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Int(key::kEndS, 130);
  Watched(*this, kind::kAttempt, 391, "COMPLETED")
      .Int(key::kSubmitS, 200)
      .Int(key::kStartS, 330)
      .Int(key::kEndS, 390);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  const AttemptFacts& first = run.facts.attempts[0];
  const AttemptFacts& second = run.facts.attempts[1];
  EXPECT_EQ(std::make_pair(first.end, first.state),
            std::make_pair(std::optional<Ns>(130 * kSecond), std::string("REQUEUED")));
  EXPECT_TRUE(first.requeued_when_over);
  EXPECT_EQ(second.end, 400 * kSecond) << "accounting knows the end of a job that was not requeued";
  EXPECT_FALSE(second.requeued_when_over);
}

TEST_F(LoadRunTest, AJobThatAFederationRevokedNeverStarted) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 160, 160, "REVOKED")}, 1).ok());
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  EXPECT_FALSE(run.facts.attempts[0].start);
  const Timeline timeline = BuildTimeline(run.facts);
  ASSERT_EQ(timeline.intervals.size(), 1U);
  EXPECT_EQ(timeline.intervals[0].bucket, Bucket::kHold);
  EXPECT_EQ(timeline.intervals[0].part, "federation");
  EXPECT_TRUE(timeline.interruptions.empty());
}

TEST_F(LoadRunTest, AJobThatTheWatchSawRevokedWaitsHereNoMore) {
  Watched(*this, kind::kQueue, 101, "PENDING").Int(key::kSubmitS, 100).Text(key::kReason, "Resources");
  Watched(*this, kind::kAttempt, 110, "REVOKED").Int(key::kSubmitS, 100);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  const Timeline timeline = BuildTimeline(run.facts);
  ASSERT_EQ(timeline.intervals.size(), 1U);
  EXPECT_EQ(timeline.intervals[0].part, "federation");
}

TEST_F(LoadRunTest, TheWatchAloneMakesAttemptsClosedByTheNextSubmit) {
  Watched(*this, kind::kQueue, 101, "PENDING").Int(key::kSubmitS, 100).Text(key::kReason, "Priority");
  Watched(*this, kind::kAttempt, 111, "RUNNING")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Int(key::kEligibleS, 100);
  Watched(*this, kind::kQueue, 206, "PENDING").Int(key::kSubmitS, 200).Text(key::kReason, "BeginTime");
  Watched(*this, kind::kAttempt, 335, "RUNNING")
      .Int(key::kSubmitS, 200)
      .Int(key::kStartS, 330)
      .Int(key::kEligibleS, 321);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  const AttemptFacts& first = run.facts.attempts[0];
  EXPECT_EQ(first.start, 110 * kSecond);
  EXPECT_EQ(first.end, 200 * kSecond) << "it was over when the next was submitted";
  EXPECT_EQ(first.state, "REQUEUED");
  ASSERT_EQ(first.pending.size(), 1U);
  EXPECT_EQ(first.pending[0].reason, "Priority");
  const AttemptFacts& second = run.facts.attempts[1];
  EXPECT_EQ(second.eligible, 321 * kSecond);
  EXPECT_FALSE(second.end);
  EXPECT_EQ(second.evidence, Evidence::kScheduler);
}

// Job 7 is requeued at 200, and the waiting job 8 starts on its node in the same second.
struct Rival {
  const char* preempt;  // preempt in the record of job 7
  std::int64_t tier;    // of job 8; that of job 7 is 1
  const char* partition;
  const char* qos;
  const char* outcome;  // the fact that names job 8
};

class RivalTest : public LoadRunTest, public testing::WithParamInterface<Rival> {};

TEST_P(RivalTest, PreemptsOnlyWhatItMay) {
  const Rival& rival = GetParam();
  AccountingRow own = Accounted(100, 110, 200, "REQUEUED");
  own.qos = "normal";
  AccountingRow other = Accounted(150, 200, 260, "COMPLETED");
  other.job_id = 8;
  other.job_id_text = "8";
  other.partition = rival.partition;
  other.qos = rival.qos;
  ASSERT_TRUE(StoreAccounting(db_, {own, other}, 1).ok());
  if (*rival.preempt != '\0') {
    Watched(*this, kind::kAttempt, 111, "RUNNING")
        .Int(key::kSubmitS, 100)
        .Int(key::kStartS, 110)
        .Text(key::kPreempt, rival.preempt)
        .Int(key::kPriorityTier, 1);
    Watched(*this, kind::kAttempt, 201, "RUNNING", 0, 8)
        .Int(key::kSubmitS, 150)
        .Int(key::kStartS, 200)
        .Text(key::kNodes, "n1")
        .Int(key::kPriorityTier, rival.tier);
  }
  const AttemptFacts attempt = Load().facts.attempts.at(0);
  const std::string outcome = !attempt.preempted_by.empty() ? "preempted"
                              : !attempt.taken_by.empty()   ? "taken"
                                                            : "";
  EXPECT_EQ(outcome, rival.outcome) << rival.preempt << " " << rival.partition << " " << rival.qos;
}

INSTANTIATE_TEST_SUITE_P(
    Rivals, RivalTest,
    testing::Values(Rival{"off", 10, "high", "high", ""},
                    Rival{"partition", 10, "high", "normal", "preempted"},
                    Rival{"partition", 1, "other", "normal", ""}, Rival{"partition", 1, "a3", "high", ""},
                    Rival{"qos", 1, "a3", "normal", ""}, Rival{"qos", 1, "a3", "high", "preempted"},
                    Rival{"qos:urgent,high", 1, "a3", "high", "preempted"},
                    Rival{"qos:urgent", 1, "a3", "high", ""}, Rival{"qos:", 1, "a3", "high", ""},
                    Rival{"qos:normal", 1, "a3", "normal", "preempted"},
                    Rival{"qos:urgent", 1, "a3", "", "taken"}, Rival{"qos", 1, "a3", "", "taken"},
                    Rival{"", 0, "a3", "normal", ""}, Rival{"", 0, "high", "normal", "taken"},
                    Rival{"", 0, "a3", "high", "taken"}));

TEST_F(LoadRunTest, ThePrologKnowsTheRestartOfAnAttemptTheWatchMissed) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Watched(*this, kind::kAttempt, 335, "RUNNING")
      .Int(key::kSubmitS, 200)
      .Int(key::kStartS, 330)
      .Int(key::kRestart, 1);
  RecordBuilder prolog(kind::kJobProlog, {111 * kSecond, 1, "n1", 1});
  prolog.Int(key::kJob, 7);
  prolog.Int(key::kRestart, 0);
  Append("n1", std::string(prolog.Finish()));
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  EXPECT_EQ(run.facts.attempts[0].restart, 0);
  EXPECT_EQ(run.facts.attempts[1].restart, 1);
}

TEST_F(LoadRunTest, ATestOfTheNetworkThatNamesItsHostsIsOneWhereverItsLinesWereRead) {
  AccountingRow row = Accounted(100, 110, 200, "COMPLETED");
  row.node_list = "n[1-2]";
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  const auto measured = [&](std::int64_t t_s, const char* step, std::int64_t bytes, const char* hosts,
                            bool first) {
    RecordBuilder record(kind::kCollective, {t_s * kSecond, t_s * kSecond, "n1", 1});
    record.Int(key::kJob, 7);
    record.Text(key::kSlurmStep, step);
    for (const std::string_view number : {key::kBytes, key::kAlgbw, key::kBusbw}) record.Int(number, bytes);
    if (first) record.Text(key::kEdge, "begin");
    if (*hosts != 0) record.Text(key::kHosts, hosts);
    Append("n1", std::string(record.Finish()));
  };
  measured(120, "0", 1, "n[1-2]", true);
  measured(121, "1", 2, "n[1-2]", false);  // read late
  measured(122, "1", 3, "n2", true);
  measured(123, "1", 4, "n2", true);  // another test on it
  measured(124, "1", 5, "", false);
  measured(125, "2", 6, "", false);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  std::vector<std::string> tests;
  for (const CollectiveTest& test : run.facts.attempts[0].collectives)
    tests.push_back(Cat(test.bytes, " ", CompressHostList(test.nodes)));
  EXPECT_EQ(tests, (std::vector<std::string>{"2 n[1-2]", "3 n2", "4 n2", "5 n[1-2]", "6 n[1-2]"}));
}

TEST_F(LoadRunTest, AJobCancelledBeforeItStartedHasNoStart) {
  Watched(*this, kind::kQueue, 101, "PENDING").Int(key::kSubmitS, 100).Text(key::kReason, "Priority");
  Watched(*this, kind::kAttempt, 151, "CANCELLED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 150)
      .Int(key::kEndS, 150);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  EXPECT_FALSE(run.facts.attempts[0].start);
  EXPECT_EQ(run.facts.attempts[0].end, 150 * kSecond);
}

TEST_F(LoadRunTest, AJobThatEndedWhileNobodyLookedWasOverByTheNextLook) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  BeginWatch(111);
  {
    const auto run = Load();
    ASSERT_EQ(run.facts.attempts.size(), 1U);
    EXPECT_FALSE(run.facts.attempts[0].end) << "that watch has it";
    EXPECT_EQ(run.info.state, "RUNNING");
  }
  BeginWatch(300);
  {
    const auto run = Load();
    EXPECT_EQ(run.facts.attempts.at(0).end, 300 * kSecond);
    EXPECT_EQ(run.info.state, "GONE");
  }
  // Its node recorded the end itself.
  for (const auto& [kind, t] : {std::pair(kind::kJobProlog, 111), std::pair(kind::kJobEpilog, 250)}) {
    RecordBuilder record(kind, {t * kSecond, t * kSecond, "n1", 1});
    record.Int(key::kJob, 7);
    Append("n1", std::string(record.Finish()));
  }
  EXPECT_EQ(Load().facts.attempts.at(0).end, 250 * kSecond);
  // Accounting takes precedence.
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).end, 200 * kSecond);
  EXPECT_EQ(run.info.state, "COMPLETED");
}

TEST_F(LoadRunTest, AJobThatTheNextWatchStillSeesGoesOn) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 300, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  BeginWatch(300);
  const auto run = Load();
  EXPECT_FALSE(run.facts.attempts.at(0).end);
  EXPECT_EQ(run.info.state, "RUNNING");
}

TEST_F(LoadRunTest, AJobTheControllerForgotWasOverByThen) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kGone, 300, "GONE").Int(key::kSubmitS, 100);
  {
    const auto run = Load();
    ASSERT_EQ(run.facts.attempts.size(), 1U);
    EXPECT_EQ(run.facts.attempts[0].end, 300 * kSecond);
    EXPECT_EQ(run.info.state, "GONE");
    EXPECT_EQ(BuildTimeline(run.facts).interruptions.at(0).cause, "unknown");
  }
  // Accounting takes precedence.
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).end, 200 * kSecond);
  EXPECT_EQ(run.info.state, "COMPLETED");
}

TEST_F(LoadRunTest, ReservationAndTimeLimitComeFromWhoeverKnowsThem) {
  Watched(*this, kind::kAttempt, 111, "RUNNING")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Text(key::kReservation, "llm")
      .Int(key::kTimeLimitS, 3600);
  EXPECT_EQ(Load().facts.attempts.at(0).reservation, "llm");
  EXPECT_EQ(Load().facts.attempts.at(0).time_limit, 3600 * kSecond);
  AccountingRow row = Accounted(500, 510, 600, "COMPLETED");
  row.reservation = "other";
  row.time_limit_s = 60;
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  EXPECT_EQ(run.facts.attempts[1].reservation, "other");
  EXPECT_EQ(run.facts.attempts[1].time_limit, 60 * kSecond);
}

// A record of a node of job 7 that was drained at 190 and seen at 192.
std::string DrainedNode(const std::string& node, const std::string& by, const std::string& reason) {
  RecordBuilder record(kind::kNodeState, {192 * kSecond, 192 * kSecond, "@controller", 1});
  record.Text(key::kCluster, "c1");
  record.Text(key::kNodeName, node);
  record.Text(key::kState, "DRAINING");
  record.Texts(key::kFlags, std::vector<std::string>{"DRAIN"});
  record.Int(key::kReasonS, 190);
  record.Text(key::kReasonBy, by);
  record.Text(key::kReason, reason);
  return std::string(record.Finish());
}

TEST_F(LoadRunTest, WhoDrainedANodeOfARequeuedJobActed) {
  AccountingRow first = Accounted(100, 110, 200, "REQUEUED");
  AccountingRow second = Accounted(200, 330, 400, "COMPLETED");
  first.user = second.user = "ada";
  ASSERT_TRUE(StoreAccounting(db_, {first, second}, 1).ok());
  Append("@controller", DrainedNode("n2", "root", "another node"));
  Append("@controller", DrainedNode("n1", "ada", "her own"));
  Append("@controller", DrainedNode("n1", "slurm", "Kill task failed"));
  EXPECT_EQ(Load().facts.attempts.at(0).operator_acted, "");
  Append("@controller", DrainedNode("n1", "root", "swap the NIC"));
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).operator_acted,
            "node n1 was drained by root 10 s before the end: swap the NIC");
  EXPECT_EQ(run.facts.attempts.at(1).operator_acted, "");
}

TEST_F(LoadRunTest, AnAdministratorWhoHeldTheJobActed) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Watched(*this, kind::kQueue, 205, "PENDING").Int(key::kSubmitS, 200).Text(key::kReason, "JobHeldAdmin");
  EXPECT_EQ(Load().facts.attempts.at(0).operator_acted, "an administrator held the job right afterwards");
}

TEST_F(LoadRunTest, ANodeWhoseMachineWasPreemptedIsNamed) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "NODE_FAIL")}, 1).ok());
  ASSERT_TRUE(StoreOutages(db_, {{"c1", "n1", "DOWN*", 199, 260, "Preempted instance"}}).ok());
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).taken_node, "n1");
  EXPECT_EQ(run.facts.attempts.at(0).failed_node, "n1");
}

TEST_F(LoadRunTest, WhenALostNodeWasSetDownIsKnownThoughTheJobsEndIsToldAsEarlier) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 120, "NODE_FAIL"), Accounted(190, 330, 400, "COMPLETED")}, 1)
          .ok());
  ASSERT_TRUE(StoreOutages(db_, {{"c1", "n1", "DOWN*", 190, 260, "Not responding"}}).ok());
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).noticed, 190 * kSecond);
  EXPECT_EQ(run.facts.attempts.at(0).failed_node, "n1");
  EXPECT_EQ(run.facts.attempts.at(1).noticed, std::nullopt);
}

// The controller reboots while the job runs: its monotonic clock starts again.
TEST_F(LoadRunTest, ARebootOfTheControllerMovesNothing) {
  for (const auto& [first, second] : {std::pair("one", "two"), std::pair("unknown-boot", "unknown-boot")}) {
    const std::string folder = folder_.path() + "/spool/@controller";
    std::filesystem::create_directories(folder);
    const auto write = [&](const char* boot, std::int64_t t_s, std::int64_t m_s, const char* state) {
      RecordBuilder record(kind::kAttempt, {t_s * kSecond, m_s * kSecond, "@controller", 1});
      record.Text(key::kCluster, "c1");
      record.Int(key::kJob, 7);
      record.Text(key::kState, state);
      record.Int(key::kSubmitS, 5100);
      record.Int(key::kStartS, 5110);
      std::ofstream(folder + "/" + boot + ".2026010101Z.jsonl", std::ios::app | std::ios::binary)
          << record.Finish();
    };
    write(first, 5111, 2600, "RUNNING");
    write(second, 5180, 30, "RUNNING");
    write(second, 5260, 110, "COMPLETED");
    ASSERT_TRUE(StoreAccounting(db_, {Accounted(5100, 5110, 5259, "COMPLETED")}, 1).ok());
    const auto run = Load();
    ASSERT_EQ(run.facts.attempts.size(), 1U) << first;
    EXPECT_EQ(run.facts.attempts[0].submit, 5100 * kSecond) << first;
    EXPECT_EQ(run.facts.attempts[0].start, 5110 * kSecond) << first;
    EXPECT_EQ(run.facts.attempts[0].end, 5259 * kSecond) << first;
    EXPECT_TRUE(run.facts.warnings.empty()) << first;
  }
}

TEST_F(LoadRunTest, WhileAJobCompletesItsTimesAreNotBelieved) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 150, "COMPLETED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 149)
      .Int(key::kEndS, 9999)
      .Flag("COMPLETING");
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].start, 110 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].end, 150 * kSecond) << "seen to be over then";
}

TEST_F(LoadRunTest, TheControllerTellsTheEndOfACompletingJobThatIsNotRequeued) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 150, "COMPLETED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Int(key::kEndS, 147)
      .Flag("COMPLETING");
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].end, 147 * kSecond) << "not when it was seen";
}

TEST_F(LoadRunTest, AnEndThatIsToldAfterCompletingReplacesTheTimeOfTheLook) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 150, "COMPLETED").Int(key::kSubmitS, 100).Flag("COMPLETING");
  Watched(*this, kind::kAttempt, 160, "COMPLETED").Int(key::kSubmitS, 100).Int(key::kEndS, 147);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].end, 147 * kSecond);
}

TEST_F(LoadRunTest, AccountingBeatsTheWatchWhoseReasonsStay) {
  Watched(*this, kind::kQueue, 101, "PENDING").Int(key::kSubmitS, 100).Text(key::kReason, "Resources");
  Watched(*this, kind::kAttempt, 111, "RUNNING")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 112)
      .Int(key::kGpus, 4);
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  const AttemptFacts& attempt = run.facts.attempts[0];
  EXPECT_EQ(attempt.start, 110 * kSecond);
  EXPECT_EQ(attempt.end, 200 * kSecond);
  EXPECT_EQ(attempt.state, "COMPLETED");
  EXPECT_EQ(attempt.gpus, 8);
  EXPECT_EQ(attempt.pending.size(), 1U);
}

TEST_F(LoadRunTest, MarksGoToTheAttemptTheyWereMadeIn) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Marked(120, 0);
  Marked(130, 1);
  Marked(205, 2);  // it was still alive while completing
  Marked(340, 1);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 2U);
  EXPECT_EQ(run.facts.attempts[0].step_marks.size(), 3U);
  EXPECT_EQ(run.facts.attempts[1].step_marks.size(), 1U);
  const StepMark& mark = run.facts.attempts[0].step_marks[0];
  EXPECT_EQ(mark.slurm_step, 0);
  ASSERT_GE(mark.ref.source, 0);
  EXPECT_EQ(run.facts.sources[static_cast<std::size_t>(mark.ref.source)].name, "n1/boot.2026010100Z.jsonl");
}

TEST_F(LoadRunTest, ANodesClockThatWasSetMovesNoStep) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  Marked(120, 0);
  Marked(130, 1);
  Marked(140, 2, 3600);
  Marked(150, 3, -3600);
  Marked(160, 4);
  const auto run = Load();
  std::vector<Ns> times;
  for (const StepMark& mark : run.facts.attempts.at(0).step_marks) times.push_back(mark.t / kSecond);
  EXPECT_EQ(times, (std::vector<Ns>{120, 130, 140, 150, 160}));
  ASSERT_EQ(run.facts.warnings.size(), 3U);
  EXPECT_NE(run.facts.warnings[1].find("the clock of node n1 was set by -7200.0 s"), std::string::npos)
      << run.facts.warnings[1];
}

TEST_F(LoadRunTest, BlocksOfStepsAreMovedWithTheClockAndSplitBetweenAttempts) {
  ASSERT_TRUE(StoreAccounting(
                  db_, {Accounted(100, 110, 1000, "REQUEUED"), Accounted(1000, 1330, 3000, "COMPLETED")}, 1)
                  .ok());
  for (int i = 0; i < 200; ++i) Marked(120 + i, i);
  for (int i = 200; i < 400; ++i) Marked(120 + i, i, 3600);
  // In one block, because the clock is the same and the numbers continue.
  for (int i = 400; i < 800; ++i) Marked(120 + i, i);
  for (int i = 800; i < 1000; ++i) Marked(600 + i, i);
  const auto run = Load();
  EXPECT_FALSE(run.facts.attempts.at(0).step_blocks.empty());
  const std::string by_blocks = RunBuilder::Tell(BuildTimeline(run.facts));
  ASSERT_TRUE(db_.Execute("UPDATE step_block SET stride = NULL").ok());
  const auto marks = Load();
  EXPECT_TRUE(marks.facts.attempts.at(0).step_blocks.empty());
  EXPECT_EQ(by_blocks, RunBuilder::Tell(BuildTimeline(marks.facts)));
  EXPECT_NE(by_blocks.find("productive"), std::string::npos);
  EXPECT_EQ(run.facts.warnings, marks.facts.warnings);
}

TEST_F(LoadRunTest, AControllersClockThatWasSetMakesNoJobLonger) {
  // 90 s by the monotonic clock; an hour and 90 s in accounting.
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 3800, "COMPLETED")}, 1).ok());
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 201, "COMPLETED", 3600).Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Marked(120, 0);
  Marked(130, 1);
  const auto run = Load();
  const AttemptFacts& attempt = run.facts.attempts.at(0);
  EXPECT_EQ(attempt.start, 3710 * kSecond);
  EXPECT_EQ(attempt.end, 3800 * kSecond);
  ASSERT_EQ(attempt.step_marks.size(), 2U) << "the nodes, which nobody set, are brought after it";
  EXPECT_EQ(attempt.step_marks[1].t - attempt.step_marks[0].t, 10 * kSecond);
  EXPECT_GE(attempt.step_marks[0].t, *attempt.start);
  EXPECT_FALSE(run.facts.warnings.empty());
  EXPECT_NE(run.facts.warnings[0].find("the controller's clock was set by +3600.0 s"), std::string::npos);
}

TEST_F(LoadRunTest, ASuspensionIsPlacedAtTheEnd) {
  AccountingRow row = Accounted(100, 110, 200, "COMPLETED");
  row.suspended_s = 30;
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).suspended.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].begin, 170 * kSecond);
}

TEST_F(LoadRunTest, ASuspensionTheWatchSawIsWhereItWas) {
  AccountingRow row = Accounted(100, 110, 200, "COMPLETED");
  row.suspended_s = 21;
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  Watched(*this, kind::kAttempt, 131, "SUSPENDED").Int(key::kSubmitS, 100).Int(key::kSuspendS, 130);
  Watched(*this, kind::kAttempt, 152, "RUNNING").Int(key::kSubmitS, 100).Int(key::kSuspendS, 150);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).suspended.size(), 1U) << "accounting's second more is rounding";
  EXPECT_EQ(run.facts.attempts[0].suspended[0].begin, 130 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].end, 150 * kSecond);
  EXPECT_TRUE(run.facts.attempts[0].suspended[0].placed);
}

TEST_F(LoadRunTest, ASuspensionBetweenTwoLooksEndedWhenItWasResumed) {
  AccountingRow row = Accounted(100, 110, 200, "COMPLETED");
  row.suspended_s = 3;
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  Watched(*this, kind::kAttempt, 152, "RUNNING").Int(key::kSubmitS, 100).Int(key::kSuspendS, 150);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).suspended.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].begin, 147 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].end, 150 * kSecond);
}

TEST_F(LoadRunTest, ADependencyIsTheRunsOwnWhenAllItNamesAre) {
  const std::pair<const char*, bool> cases[] = {{"afterok:7(unfulfilled)", true},
                                                {"afterok:7(unfulfilled),afterany:8(unfulfilled)", false},
                                                {"afterany:7_*(unfulfilled)", true},
                                                {"afterany:9(unfulfilled)", false},
                                                {"afterany:7:9(unfulfilled)", false},
                                                {"singleton(unfulfilled)", false},
                                                {"", false}};
  std::int64_t t_s = 101;
  for (const auto& [dependency, own] : cases)
    Watched(*this, kind::kQueue, t_s++, "PENDING").Int(key::kSubmitS, 100).Text(key::kDependency, dependency);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).pending.size(), std::size(cases));
  for (std::size_t i = 0; i < std::size(cases); ++i)
    EXPECT_EQ(run.facts.attempts[0].pending[i].within_run, cases[i].second) << cases[i].first;
}

TEST_F(LoadRunTest, ATaskWaitsForItsRunIfTheArraysLimitKeepsItBackAndAnotherTaskIsOfTheRun) {
  AccountingRow first = Accounted(100, 110, 150, "COMPLETED");
  first.job_id = 8;
  first.job_id_text = "7_1";
  ASSERT_TRUE(StoreAccounting(db_, {first}, 1).ok());
  const auto waits = [&](std::int64_t t_s, const char* reason) {
    Watched(*this, kind::kQueue, t_s, "PENDING")
        .Int(key::kSubmitS, 100)
        .Int(key::kArrayJob, 7)
        .Text(key::kReason, reason);
  };
  waits(101, "JobArrayTaskLimit");
  waits(102, "Resources");
  const auto alone = Load();
  ASSERT_EQ(alone.facts.attempts.at(0).pending.size(), 2U);
  EXPECT_FALSE(alone.facts.attempts[0].pending[0].within_run || alone.facts.attempts[0].array_of_run);
  const auto run = LoadRun(db_, {{"c1", 7}, {"c1", 8}}, 300 * kSecond);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->facts.attempts.size(), 2U);
  const auto& pending = run->facts.attempts[0].pending;
  ASSERT_EQ(pending.size(), 2U);
  EXPECT_TRUE(pending[0].within_run);
  EXPECT_FALSE(pending[1].within_run);
  EXPECT_TRUE(run->facts.attempts[0].array_of_run && run->facts.attempts[1].array_of_run);
}

TEST_F(LoadRunTest, AJobThatGaveNodesBackIsOneAttempt) {
  AccountingRow before = Accounted(100, 110, 150, "RESIZING");
  before.gpus = 16;
  // Its submit and eligible times are the time of the resize, its start is the original one.
  AccountingRow after = Accounted(150, 110, 200, "COMPLETED");
  ASSERT_TRUE(StoreAccounting(db_, {before, after}, 1).ok());
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  const AttemptFacts& attempt = run.facts.attempts[0];
  EXPECT_EQ(attempt.submit, 100 * kSecond);
  EXPECT_EQ(attempt.eligible, 100 * kSecond);
  EXPECT_EQ(attempt.end, 200 * kSecond);
  EXPECT_EQ(attempt.state, "COMPLETED");
  EXPECT_EQ(attempt.gpus, 8);
  ASSERT_EQ(attempt.resizes.size(), 1U);
  EXPECT_EQ(attempt.resizes[0].t, 150 * kSecond);
  EXPECT_EQ(attempt.resizes[0].gpus_before, 16);
}

TEST_F(LoadRunTest, WithoutAccountingTheWatchSeesAResize) {
  for (const auto& [t_s, gpus] : {std::pair{111, 16}, std::pair{140, 16}, std::pair{151, 8}}) {
    Watched(*this, kind::kAttempt, t_s, "RUNNING")
        .Int(key::kSubmitS, 100)
        .Int(key::kStartS, 110)
        .Int(key::kGpus, gpus)
        .Int(key::kNnodes, gpus / 8);
  }
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).resizes.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].resizes[0].t, 151 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].resizes[0].gpus_before, 16);
  EXPECT_EQ(run.facts.attempts[0].gpus, 8);
}

TEST_F(LoadRunTest, TheTimeNodesBootedBeforeTheStartIsAllocated) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 150, 200, "COMPLETED")}, 1).ok());
  Watched(*this, kind::kAttempt, 112, "RUNNING")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Flag("CONFIGURING");
  Watched(*this, kind::kAttempt, 151, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 150);
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).start, 150 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].allocated, 110 * kSecond);
}

TEST_F(LoadRunTest, ANodeThatTheJobDidNotHaveSaysNothingOfIt) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "COMPLETED")}, 1).ok());
  const auto record = [&](const std::string& node, const std::string& more) {
    Append(node,
           "\n{\"v\":1,\"t\":150000000000,\"m\":1,\"node\":\"" + node +
               "\",\"stepd\":1,\"cluster\":\"c1\",\"job\":7,\"uid\":1000,\"slurm_step\":\"0\",\"task\":0," +
               more + "}\n");
  };
  for (const char* node : {"n1", "n9"}) {
    record(node, R"("kind":"signal","signal":15,"pid":5,"target":"task")");
    record(node, R"("kind":"mark","mark":"step","edge":"begin","train_step":1)");
    record(node, R"("kind":"mark","mark":"checkpoint","edge":"begin","train_step":1)");
  }
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.size(), 1U);
  const AttemptFacts& attempt = run.facts.attempts[0];
  ASSERT_EQ(attempt.signals.size(), 1U);
  EXPECT_EQ(attempt.signals[0].node, "n1");
  EXPECT_EQ(attempt.step_marks.size(), 1U);
  EXPECT_EQ(attempt.marks.size(), 1U);
  ASSERT_EQ(run.facts.warnings.size(), 1U);
  EXPECT_EQ(run.facts.warnings[0],
            "job 7: ignored 3 records from node n9, which Slurm did not give to this job");
}

TEST_F(LoadRunTest, ComponentsOfAHeterogeneousJobAreOneAttemptWhicheverIsAskedFor) {
  AccountingRow first = Accounted(100, 110, 200, "COMPLETED");
  first.job_id_text = "7+0";
  AccountingRow second = Accounted(100, 112, 199, "COMPLETED");
  second.job_id = 8;
  second.job_id_text = "7+1";
  second.gpus = 4;
  second.node_list = "n2";
  AccountingRow stranger = Accounted(100, 110, 200, "COMPLETED");
  stranger.job_id = 9;
  stranger.job_id_text = "9";
  ASSERT_TRUE(StoreAccounting(db_, {first, second, stranger}, 1).ok());
  for (const std::int64_t asked : {7, 8}) {
    const auto run = LoadRun(db_, {{"c1", asked}}, 10'000 * kSecond);
    ASSERT_TRUE(run.ok());
    EXPECT_EQ(run->info.job_id, 7);
    EXPECT_EQ(run->info.job_id_text, "7");
    ASSERT_EQ(run->facts.attempts.size(), 1U);
    const AttemptFacts& attempt = run->facts.attempts[0];
    EXPECT_EQ(attempt.job_id, 7);
    EXPECT_EQ(attempt.start, 112 * kSecond) << "up when the last is";
    EXPECT_EQ(attempt.end, 200 * kSecond);
    EXPECT_EQ(attempt.gpus, 12);
    EXPECT_EQ(attempt.nodes, 2);
    EXPECT_EQ(attempt.node_list, "n1,n2");
  }
}

TEST_F(LoadRunTest, JobsThatHadResourcesAtOnceAreSeveralRuns) {
  const auto job = [](std::int64_t id, std::int64_t start, std::int64_t end) {
    AccountingRow row = Accounted(100, start, end, "COMPLETED");
    row.job_id = id;
    row.job_id_text = std::to_string(id);
    return row;
  };
  // 8 follows 7 within the second, 9 overlaps both, 10 follows 9.
  ASSERT_TRUE(
      StoreAccounting(db_, {job(7, 110, 200), job(8, 199, 300), job(9, 150, 250), job(10, 260, 280)}, 1)
          .ok());
  ClusterReader cluster(db_);
  const auto runs =
      LoadConcurrentRuns(db_, {{"c1", 7}, {"c1", 8}, {"c1", 9}, {"c1", 10}}, 10'000 * kSecond, cluster);
  ASSERT_TRUE(runs.ok() && runs->size() == 2);
  const auto jobs = [](const goodput::Run& run) {
    std::vector<std::int64_t> ids;
    for (const AttemptFacts& attempt : run.facts.attempts) ids.push_back(attempt.job_id);
    return ids;
  };
  EXPECT_EQ(jobs((*runs)[0]), (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(jobs((*runs)[1]), (std::vector<std::int64_t>{9, 10}));
  EXPECT_EQ((*runs)[1].info.run, "#2") << "of a run that has no name here";
  EXPECT_EQ(StrandOfName("a#b#2"), (std::pair<std::string, std::size_t>("a#b", 1)));
  for (const char* name : {"a", "a#", "a#1", "a#x", "#2", "a#-2"})
    EXPECT_EQ(StrandOfName(name), (std::pair<std::string, std::size_t>(name, 0))) << name;
}

TEST_F(LoadRunTest, APreemptionTimeGoesToTheAttemptItEnded) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "PREEMPTED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Watched(*this, kind::kAttempt, 196, "RUNNING").Int(key::kSubmitS, 100).Int(key::kPreemptS, 195);
  const auto run = Load();
  EXPECT_EQ(run.facts.attempts.at(0).preempt_time, 195 * kSecond);
  EXPECT_FALSE(run.facts.attempts.at(1).preempt_time);
}

TEST_F(LoadRunTest, APreemptionTimeAfterAnAttemptIsNotItsOwn) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Watched(*this, kind::kQueue, 251, "PENDING").Int(key::kSubmitS, 200).Int(key::kPreemptS, 250);
  EXPECT_FALSE(Load().facts.attempts.at(0).preempt_time);
}

TEST_F(LoadRunTest, ARecordWithinTheSecondOfAStartBelongsToIt) {
  ASSERT_TRUE(
      StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), Accounted(200, 330, 400, "COMPLETED")}, 1)
          .ok());
  Marked(329, 5);
  EXPECT_EQ(Load().facts.attempts.at(1).step_marks.size(), 1U);
}

TEST_F(LoadRunTest, AJobThatEndedWhileItWasSuspendedWasNotResumed) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 131, "SUSPENDED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Int(key::kSuspendS, 130);
  Watched(*this, kind::kAttempt, 181, "CANCELLED")
      .Int(key::kSubmitS, 100)
      .Int(key::kStartS, 110)
      .Int(key::kSuspendS, 130)
      .Int(key::kEndS, 180)
      .Text(key::kNodes, "n1");
  const auto run = Load();
  ASSERT_EQ(run.facts.attempts.at(0).suspended.size(), 1U);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].begin, 130 * kSecond);
  EXPECT_EQ(run.facts.attempts[0].suspended[0].end, 180 * kSecond);
}

TEST_F(LoadRunTest, AJobThatAccountingKnowsIsNotGone) {
  ASSERT_TRUE(StoreAccounting(db_, {Accounted(100, 110, std::nullopt, "RUNNING")}, 1).ok());
  Watched(*this, kind::kGone, 300, "RUNNING").Int(key::kSubmitS, 100);
  EXPECT_FALSE(Load().facts.attempts.at(0).end) << "the controller may have lost its state";
}

TEST_F(LoadRunTest, AnAttemptThatTheNextReplacedKeepsItsNodeFailure) {
  Watched(*this, kind::kAttempt, 111, "RUNNING").Int(key::kSubmitS, 100).Int(key::kStartS, 110);
  Watched(*this, kind::kAttempt, 150, "NODE_FAIL").Int(key::kSubmitS, 100).Flag("COMPLETING");
  Watched(*this, kind::kQueue, 151, "PENDING").Int(key::kSubmitS, 150);
  EXPECT_EQ(Load().facts.attempts.at(0).state, "NODE_FAIL");
}

// Job 8 is another's; it starts on the node of job 7, which is requeued at 200.
TEST_F(LoadRunTest, OnlyAJobThatWaitedAndStartedAtOnceTookTheNodes) {
  const auto taken = [&](std::int64_t submit, std::int64_t start) {
    AccountingRow other = Accounted(submit, start, start + 60, "COMPLETED");
    other.job_id = 8;
    other.job_id_text = "8";
    other.partition = "high";
    EXPECT_TRUE(db_.Execute("DELETE FROM accounting").ok());
    EXPECT_TRUE(StoreAccounting(db_, {Accounted(100, 110, 200, "REQUEUED"), other}, 1).ok());
    return !Load().facts.attempts.at(0).taken_by.empty();
  };
  EXPECT_TRUE(taken(150, 200));
  EXPECT_FALSE(taken(200, 200)) << "it was submitted afterwards";
  EXPECT_FALSE(taken(150, 290)) << "it started much later";
}

TEST_F(LoadRunTest, OnlyNodesThatWentDownAtTheEndExplainIt) {
  AccountingRow row = Accounted(100, 110, 200, "NODE_FAIL");
  row.node_list = "n[1-2]";
  row.failed_node = "n2";
  ASSERT_TRUE(StoreAccounting(db_, {row}, 1).ok());
  const auto down = [&](const char* node, std::int64_t since_s) {
    RecordBuilder record(kind::kNodeState, {201 * kSecond, 1, "@controller", 1});
    record.Text(key::kCluster, "c1");
    record.Text(key::kNodeName, node);
    record.Text(key::kState, "DOWN*");
    record.Int(key::kReasonS, since_s);
    record.Text(key::kReason, "Not responding");
    Append("@controller", std::string(record.Finish()));
  };
  down("n1", 50);   // before the job
  down("n3", 199);  // of another job
  EXPECT_EQ(Load().facts.attempts.at(0).down_nodes, "");
  down("n2", 260);
  EXPECT_EQ(Load().facts.attempts.at(0).down_nodes, "node n2 went down: Not responding");
  ASSERT_TRUE(StoreOutages(db_, {{"c1", "n1", "DOWN*", 260, 300, "repair"}}).ok());
  EXPECT_EQ(Load().facts.attempts.at(0).down_nodes, "node n2 went down: Not responding")
      << "a minute later another node's outage has nothing to do with it";
}

TEST_F(LoadRunTest, WhatAnOperatorDidLongBeforeOrAfterExplainsNoRequeue) {
  AccountingRow first = Accounted(100, 110, 2000, "REQUEUED");
  ASSERT_TRUE(StoreAccounting(db_, {first, Accounted(2000, 2330, 2400, "COMPLETED")}, 1).ok());
  RecordBuilder record(kind::kNodeState, {1990 * kSecond, 1, "@controller", 1});
  record.Text(key::kCluster, "c1");
  record.Text(key::kNodeName, "n1");
  record.Text(key::kState, "DRAINING");
  record.Texts(key::kFlags, std::vector<std::string>{"DRAIN"});
  record.Int(key::kReasonS, 1000);
  record.Text(key::kReasonBy, "root");
  record.Text(key::kReason, "later");
  Append("@controller", std::string(record.Finish()));
  Watched(*this, kind::kQueue, 2200, "PENDING").Int(key::kSubmitS, 2000).Text(key::kReason, "JobHeldAdmin");
  EXPECT_EQ(Load().facts.attempts.at(0).operator_acted, "");
}

TEST(AllocatedNodes, AreKnownUnlessTheJobWasResizedOrIsAComponent) {
  Drafts drafts;
  AttemptFacts& facts = drafts.Of(100).facts;
  facts.start = 110 * kSecond;
  facts.node_list = "n1";
  AllocatedNodes known(drafts, false);
  EXPECT_TRUE(known.Believe("n1"));
  EXPECT_FALSE(known.Believe("n2"));
  EXPECT_TRUE(known.Believe("@import"));
  AllocatedNodes component(drafts, true);
  EXPECT_TRUE(component.Believe("n2")) << "a task may report by the id of another component";
  facts.resizes.push_back({150 * kSecond, 16});
  AllocatedNodes resized(drafts, false);
  EXPECT_TRUE(resized.Believe("n2")) << "it may have given that node back";
  facts.resizes.clear();
  drafts.Of(100).nodes_changed = true;
  AllocatedNodes changed(drafts, false);
  EXPECT_TRUE(changed.Believe("n2")) << "the queue watch saw other nodes";
}

TEST(Components, TheirTasksAreDifferentOnes) {
  std::vector<AttemptFacts> attempts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    attempts[i].job_id = 7 + static_cast<std::int64_t>(i);
    attempts[i].het_job = 7;
    attempts[i].step_marks.push_back(StepMark{});
    attempts[i].step_marks[0].task = 3;
  }
  JoinComponents(attempts);
  ASSERT_EQ(attempts.size(), 1U);
  ASSERT_EQ(attempts[0].step_marks.size(), 2U);
  EXPECT_EQ(attempts[0].step_marks[0].task, 3);
  EXPECT_NE(attempts[0].step_marks[1].task, 3);
}

TEST(Record, MembersOfAnotherTypeAreAbsent) {
  RecordReader reader;
  EXPECT_FALSE(reader.Parse("[1]"));
  EXPECT_FALSE(reader.Int("a"));
  ASSERT_TRUE(reader.Parse(R"({"a":1,"b":"x","c":["y",2],"opt":{"run":"r"}})"));
  EXPECT_EQ(reader.Int("a"), 1);
  EXPECT_FALSE(reader.Int("b"));
  EXPECT_EQ(reader.Text("a"), "");
  EXPECT_EQ(reader.Texts("c"), Names{"y"});
  EXPECT_EQ(reader.OptText("run"), "r");
  EXPECT_FALSE(reader.Parse("{"));
  EXPECT_EQ(reader.OptText("run"), "");
}

}  // namespace
}  // namespace goodput
