// Container output from Cloud Logging: lines in order, generations of pods, and Kubernetes' events.
#include "tools/sources/import_export/cloud_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/tables/jobs.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/sources/import_export/log_import.h"

namespace goodput {
namespace {

// RunBuilder tells times since this.
constexpr Ns kBegin = kRunBegan;

class CloudLogTest : public testing::Test {
 protected:
  CloudLogTest() : db_(*Database::Open(folder_.path() + "/goodput.db", Database::Mode::kReadWrite)) {}

  // An entry, `s` seconds after the begin.
  std::string Entry(double s, const std::string& pod, const std::string& members,
                    const std::string& labels = "") {
    const std::string time = absl::FormatTime(
        "%Y-%m-%dT%H:%M:%E9SZ", absl::FromUnixNanos(kBegin + static_cast<Ns>(std::llround(s * 1e9))),
        absl::UTCTimeZone());
    return absl::StrFormat(
        R"({"insertId":"%d","timestamp":"%s",%s"resource":{"type":"k8s_container","labels":{"pod_name":"%s"}},%s})",
        ++id_, time, labels, pod, members);
  }
  void Say(double s, const std::string& pod, const std::string& text) {
    entries_.push_back(Entry(s, pod, R"("textPayload":")" + text + R"(\n")"));
  }
  void Event(double s, const std::string& pod, const std::string& reason) {
    entries_.push_back(Entry(s, "",
                             R"("jsonPayload":{"kind":"Event","reason":")" + reason +
                                 R"(","involvedObject":{"kind":"Pod","name":")" + pod + R"("}})"));
  }
  Input Written(bool newest_first) {
    std::vector<std::string> entries = entries_;
    if (newest_first) std::reverse(entries.begin(), entries.end());
    const std::string path = folder_.path() + "/log.json";
    std::ofstream(path) << "[\n" << absl::StrJoin(entries, ",\n") << "\n]\n";
    return *Input::Open(path);
  }
  // The lines, without times.
  std::vector<std::string> Lines(bool newest_first = true) {
    const Input input = Written(newest_first);
    absl::StatusOr<CloudLog> log = ReadCloudLog(input);
    EXPECT_TRUE(log.ok()) << log.status();
    if (!log.ok()) return {};
    std::string text(static_cast<std::size_t>(log->lines.size()), '\0');
    EXPECT_TRUE(log->lines.Read(0, text.data(), text.size()).ok());
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
      lines.emplace_back(line.substr(line.find(' ') + 1));
    return lines;
  }
  std::string Story() { return StoryOf(Written(true)); }
  std::string StoryOf(const Input& input) {
    LogImportOptions log;
    log.profile = "auto";
    FileImportOptions options;
    options.run = "r";
    const absl::StatusOr<FileImportReport> report = ImportLog(db_, input, options, log);
    EXPECT_TRUE(report.ok()) << report.status();
    const auto jobs = KnownJobs(db_);
    EXPECT_TRUE(jobs.ok());
    const absl::StatusOr<goodput::Run> run = LoadRun(db_, *jobs, kBegin + 86'400 * kSecond);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? RunBuilder::Tell(BuildTimeline(run->facts)) : "";
  }

  TempFolder folder_;
  Database db_;
  std::vector<std::string> entries_;
  int id_ = 0;
};

TEST_F(CloudLogTest, LinesAreInTheOrderOfTimeWhateverTheOrderOfTheFile) {
  Say(0, "p", "one");
  Say(1, "p", "two");
  Say(1, "p", "three");
  Say(2, "p", "four\\nfive");
  const std::vector<std::string> lines{"one", "two", "three", "four", "five"};
  EXPECT_EQ(Lines(true), lines) << "newest first, as gcloud prints";
  EXPECT_EQ(Lines(false), lines);
}

TEST_F(CloudLogTest, TakesTheMessageOfAStructuredPayloadAndSkipsDuplicates) {
  entries_.push_back(Entry(0, "p", R"("jsonPayload":{"message":"step 1","levelname":"INFO"})"));
  entries_.push_back(entries_.back());
  entries_.push_back(Entry(1, "p", R"("jsonPayload":{"step":2})"));
  entries_.push_back(R"({"timestamp":"yesterday","textPayload":"no time"})");
  entries_.push_back("7");
  EXPECT_EQ(Lines(), (std::vector<std::string>{"step 1", R"({"step":2})"}));
}

TEST_F(CloudLogTest, APodThatIsCreatedAnewBeginsAGeneration) {
  Say(0, "t-0-0-x7k2p", "a");
  Say(0.5, "t-0-1-b9dzq", "b");
  Say(10, "t-0-1-k2vxn", "c");
  Say(10.5, "t-0-0-x7k2p", "late");
  Say(11, "t-0-0-mm4jw", "d");
  Say(11.5, "t-0-0-x7k2p", "later");
  Say(500, "t-0-0-w5w5w", "e");
  EXPECT_EQ(Lines(), (std::vector<std::string>{"a", "b", "kubernetes: generation 2", "c", "late", "d",
                                               "later", "kubernetes: generation 3", "e"}));
}

TEST_F(CloudLogTest, PodsWithoutAnIndexAreNoGenerations) {
  Say(0, "t-x7k2p", "a");
  Say(1, "t-b9dzq", "b");
  Say(2, "worker-0", "c");
  Say(3, "worker-1", "d");
  EXPECT_EQ(Lines(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST_F(CloudLogTest, ALabelTellsTheGenerationOfAJobSet) {
  const auto say = [&](double s, int restart) {
    entries_.push_back(
        Entry(s, "p", R"("textPayload":"x")",
              absl::StrFormat(R"("labels":{"k8s-pod/jobset_sigs_k8s_io/restart-attempt":"%d"},)", restart)));
  };
  say(0, 3);
  say(1, 3);
  say(2, 4);
  say(3, 3);
  say(4, 4);
  EXPECT_EQ(Lines(), (std::vector<std::string>{"x", "x", "kubernetes: generation 2", "x", "x", "x"}));
}

TEST_F(CloudLogTest, OtherFilesAreNot) {
  for (const char* text : {"", "step 1 loss 2.5\n", "[titan] step 1\n", "{\"step\": 1, \"loss\": 2.5}\n"}) {
    const std::string path = folder_.path() + "/other";
    std::ofstream(path) << text;
    const Input input = *Input::Open(path);
    const absl::StatusOr<bool> is = IsCloudLog(input);
    ASSERT_TRUE(is.ok()) << is.status();
    EXPECT_FALSE(*is) << text;
  }
}

// Two pods; the first generation waits 60 s for nodes, is preempted in step 34, and the second waits 120 s.
TEST_F(CloudLogTest, ARunOnKubernetesHasItsQueueLaunchAndPreemption) {
  const auto generation = [&](double at, double queue, const std::vector<std::string>& pods, int first,
                              int last) {
    for (const std::string& pod : pods) {
      Event(at, pod, "FailedScheduling");
      Event(at + queue / 2, pod, "FailedScheduling");
      Event(at + queue, pod, "Scheduled");
      Event(at + queue + 10, pod, "Started");
    }
    double t = at + queue + 30;
    for (int step = first; step <= last; ++step) {
      t += 2;
      for (const std::string& pod : pods)
        Say(t, pod, absl::StrFormat("step %d/100 loss: %.3f lr: 1e-4", step, 9 - 0.01 * step));
      if (step % 10 != 0) continue;
      Say(t, pods.front(), absl::StrFormat("saving checkpoint for step %d", step));
      Say(t + 1, pods.front(), absl::StrFormat("saved checkpoint for step %d", step));
      t += 1;
    }
    return t;
  };
  // Shows that the log's clock has nanoseconds; otherwise a time is uncertain by a second.
  Say(75.000000001, "t-0-0-x7k2p", "hello");
  double t = generation(0, 60, {"t-0-0-x7k2p", "t-0-1-b9dzq"}, 1, 34);
  ASSERT_EQ(t, 161);
  Event(t + 1, "t-0-0-x7k2p", "Preempted");
  generation(200, 120, {"t-0-0-mm4jw", "t-0-1-k2vxn"}, 31, 40);
  const std::string story = Story();
  // From the construction above: 3 saves of 1 s in the first 30 steps; 4 steps and the second until the
  // preemption are lost; the second generation's first step begins 20 s after its start.
  EXPECT_EQ(
      story,
      "queue_resources.Resources 0-60 | launch 60-70 | startup 70-90 | productive 90-110 | checkpoint_save "
      "110-111 | "
      "productive 111-131 | checkpoint_save 131-132 | productive 132-152 | checkpoint_save 152-153 | "
      "lost_work 153-162 | unobserved.gap 162-200 | queue_resources.Resources 200-320 | launch 320-330 | "
      "startup 330-350 | productive 350-370 | checkpoint_save 370-371");
}

// Two ranks whose output comes in blocks of 5 lines.
std::string RanksInBlocks() {
  std::string text;
  for (int block = 0; block < 4; ++block) {
    for (int rank = 0; rank < 2; ++rank) {
      for (int i = 1; i <= 5; ++i) {
        const int step = 5 * block + i;
        text += absl::StrFormat("[rank%d]:2026-05-01 10:%02d:%02d.%d INFO step %d/500 | loss 2.5\n", rank,
                                step / 6, step % 6 * 10, rank + 1, step);
      }
    }
  }
  return text;
}

TEST_F(CloudLogTest, RanksWhoseOutputComesInBlocksAreOneStart) {
  std::ofstream(folder_.path() + "/log") << RanksInBlocks();
  const std::string story = StoryOf(*Input::Open(folder_.path() + "/log"));
  // Steps that no save has kept yet, one after the other: none is lost, and there is no pause.
  EXPECT_EQ(story.find("at_risk "), 0U) << story;
  EXPECT_EQ(story.find('|'), std::string::npos) << story;
}

}  // namespace
}  // namespace goodput
