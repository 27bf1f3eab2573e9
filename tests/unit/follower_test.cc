// Follows a job's output while the job writes it.
#include "tools/goodputd/output/follower.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "spank/clock.h"
#include "spank/event.h"
#include "spank/spool.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/goodputd/job_paths.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/output/ended_outputs.h"
#include "tools/goodputd/output/follow_helper.h"
#include "tools/goodputd/output/open_mode.h"
#include "tools/goodputd/output/output_news.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'800'000'000'000'000'000;
constexpr std::int64_t kS = 1'000'000'000;

std::string Line(int step) {
  return absl::StrCat(" iteration ", step,
                      "/ 100 | consumed samples: 7 | elapsed time per iteration (ms): 500.0 |\n");
}

class FollowerTest : public testing::Test {
 protected:
  std::string File() const { return folder_.path() + "/out"; }
  void Append(std::string_view text) const { std::ofstream(File(), std::ios::app) << text; }
  std::unique_ptr<OutputFollower> Follow(OutputFollower::Options options = {},
                                         const char* profile = "megatron") const {
    options.links.push_back(folder_.path() + "/link");
    absl::StatusOr<LogReader> reader = LogReader::Open(profile, "/nonexistent");
    EXPECT_TRUE(reader.ok());
    return std::make_unique<OutputFollower>(*std::move(reader), std::move(options));
  }
  void SetUp() override { fs::create_symlink(File(), folder_.path() + "/link"); }
  static std::vector<std::int64_t> Steps(const OutputFollower::Found& found) {
    std::vector<std::int64_t> steps;
    for (const OutputFollower::Event& event : found.events) steps.push_back(event.event.step.value_or(-1));
    return steps;
  }
  using Numbers = std::vector<std::int64_t>;
  TempFolder folder_;
};

TEST_F(FollowerTest, TakesEachLineOnceWhenItHasEnded) {
  auto follower = Follow();
  EXPECT_TRUE(follower->Look(kNow, false).events.empty()) << "there is no file yet";
  Append(Line(1) + Line(2).substr(0, 20));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{1}));
  EXPECT_TRUE(follower->Look(kNow, false).events.empty());
  Append(Line(2).substr(20) + Line(3));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{2, 3}));
  Append(Line(4).substr(0, Line(4).size() - 1));
  EXPECT_TRUE(follower->Look(kNow, false).events.empty());
  EXPECT_EQ(Steps(follower->Look(kNow, true)), (Numbers{4})) << "no newline comes any more";
}

TEST_F(FollowerTest, AFileThatWasTruncatedIsReadFromItsBeginning) {
  auto follower = Follow();
  Append(Line(1) + Line(2));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{1, 2}));
  fs::resize_file(File(), 0);
  Append(Line(7));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{7}));
}

TEST_F(FollowerTest, OutputThatIsSentElsewhereIsFollowedThere) {
  auto follower = Follow();
  Append(Line(1));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{1}));
  std::ofstream(folder_.path() + "/other") << Line(3);
  fs::remove(folder_.path() + "/link");
  fs::create_symlink(folder_.path() + "/other", folder_.path() + "/link");
  Append(Line(2));
  EXPECT_EQ(Steps(follower->Look(kNow, false)), (Numbers{2, 3})) << "what the first file still got, too";
}

TEST_F(FollowerTest, OnlyRegularFilesAreTouched) {
  fs::remove(folder_.path() + "/link");
  ASSERT_EQ(mkfifo((folder_.path() + "/link").c_str(), 0600), 0);
  auto follower = Follow();
  EXPECT_TRUE(follower->Look(kNow, false).files.empty()) << "and it does not wait for a writer";
}

TEST_F(FollowerTest, WhatWasThereBeforeAnAttemptThatAppendsIsAnothers) {
  Append(Line(1) + Line(2));
  OutputFollower::Options options;
  options.append = true;
  options.since_ns = kNow;
  auto follower = Follow(options);
  EXPECT_TRUE(follower->Look(kNow + kS, false).events.empty());
  Append(Line(3));
  EXPECT_EQ(Steps(follower->Look(kNow + kS, false)), (Numbers{3}));
}

TEST_F(FollowerTest, AllOfAFileThatIsNoOlderThanTheAttemptCounts) {
  struct statx info {};
  const std::int64_t before = kSystemClock.real_ns();
  Append(Line(1) + Line(2));
  ASSERT_EQ(statx(AT_FDCWD, (folder_.path() + "/link").c_str(), 0, STATX_BTIME, &info), 0);
  if ((info.stx_mask & STATX_BTIME) == 0)
    GTEST_SKIP() << "this file system does not say when files were made";
  OutputFollower::Options options;
  options.append = true;
  // The kernel dates files by a clock that ticks every few milliseconds.
  options.since_ns = before - kS;
  EXPECT_EQ(Steps(Follow(options)->Look(kSystemClock.real_ns(), false)), (Numbers{1, 2}));
  options.since_ns = before + kS;
  EXPECT_TRUE(Follow(options)->Look(before + 2 * kS, false).events.empty()) << "an earlier attempt's";
  options.since_ns = before - kS;
  EXPECT_TRUE(Follow(options)->Look(before - kS / 2, false).events.empty()) << "the clock was set back";
}

TEST_F(FollowerTest, OfAFileThatIsAppendedToLinesDatedSinceCount) {
  const auto dated = [](std::int64_t ns, int step) {
    return absl::StrCat(
        "[", absl::FormatTime("%Y-%m-%d %H:%M:%E6S", absl::FromUnixNanos(ns), absl::LocalTimeZone()), "]",
        Line(step));
  };
  Append(dated(kNow - 500 * kS, 1) + dated(kNow - 400 * kS, 2) + "noise\n" + dated(kNow + kS, 3));
  OutputFollower::Options options;
  options.append = true;
  options.since_ns = kNow;
  auto follower = Follow(options);
  const OutputFollower::Found found = follower->Look(kNow + 3 * kS, false);
  EXPECT_EQ(Steps(found), (Numbers{3}));
  EXPECT_EQ(found.events[0].t_ns, kNow + kS) << "its own time, not when it was read";
  // An hour ago, in a container whose clock is an hour ahead.
  Append(dated(kNow + 2 * kS, 4) + dated(kNow + 600 * kS, 5));
  EXPECT_TRUE(Follow(options)->Look(kNow + 3 * kS, false).events.empty());
}

TEST_F(FollowerTest, GoesOnWhereAnotherStopped) {
  auto before = Follow();
  Append(Line(1) + Line(2).substr(0, 9));
  const OutputFollower::Found found = before->Look(kNow, false);
  ASSERT_EQ(found.files.size(), 1U);
  before.reset();
  Append(Line(2).substr(9) + Line(3));
  OutputFollower::Options options;
  options.resume = found.files;
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{2, 3}));
}

TEST_F(FollowerTest, WhatAnEarlierJobIsKnownToHaveWrittenIsNotThisOnes) {
  Append(Line(1) + Line(2) + " iteration 3");
  auto earlier = Follow();
  OutputFollower::Options options;
  options.since_ns = kNow;
  options.ended = earlier->Look(kNow, false).files;
  // The line is whole, but has no newline.
  Append("/ 100 | consumed samples: 7 | elapsed time per iteration (ms): 500.0 |");
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{1, 2})) << "its end was not seen";
  options.ended = earlier->Look(kNow, true).files;
  Append(" killed by Slurm\n" + Line(2));
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{2}));
  options.append = true;
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{2})) << "before the first look";
}

TEST_F(FollowerTest, AFileThatWasTruncatedSinceAnotherJobIsReadFromItsBeginning) {
  Append(Line(1) + Line(2));
  OutputFollower::Options options;
  options.since_ns = kNow;
  options.ended = Follow()->Look(kNow, true).files;
  fs::resize_file(File(), 0);
  Append(Line(3));
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{3}));
  Append(Line(4) + Line(5));
  EXPECT_EQ(Steps(Follow(options)->Look(kNow, false)), (Numbers{3, 4, 5})) << "longer than before";
}

TEST_F(FollowerTest, MuchIsReadInPiecesAndTooMuchIsSkippedAndCounted) {
  auto follower = Follow();
  std::string many;
  for (int step = 1; step <= 100; ++step) many += Line(step) + std::string(4000, 'x') + "\n";
  Append(many);
  Numbers steps;
  int looks = 0;
  while (true) {
    const OutputFollower::Found found = follower->Look(kNow, false);
    EXPECT_LE(EncodeFound(found, "").size(), kMaxHelperMessage);
    for (const std::int64_t step : Steps(found)) steps.push_back(step);
    ++looks;
    if (!found.more) break;
  }
  EXPECT_GT(looks, 1);
  ASSERT_EQ(steps.size(), 100U);
  EXPECT_EQ(steps.back(), 100);
  fs::resize_file(File(), fs::file_size(File()) + OutputFollower::kMaxBehind + 10);
  Append("\n" + Line(50));
  OutputFollower::Found found;
  do {
    found = follower->Look(kNow, false);
    for (const std::int64_t step : Steps(found)) steps.push_back(step);
  } while (found.more);
  EXPECT_EQ(steps.back(), 50);
  EXPECT_GT(found.skipped_bytes, OutputFollower::kMaxBehind - (2 << 20));
}

TEST_F(FollowerTest, StatesOfABarThatComeLateAreDatedByItsOwnClock) {
  auto follower = Follow({}, "hf");
  std::string bar;
  for (int step = 0; step <= 20; ++step) {
    absl::StrAppend(&bar, "\r  1%|x| ", step, "/100 [00:", step / 2 < 10 ? "0" : "", step / 2,
                    "<00:99,  2.0it/s]");
  }
  Append(bar + "\n");
  const OutputFollower::Found found = follower->Look(kNow, false);
  ASSERT_EQ(found.events.size(), 21U);
  for (const OutputFollower::Event& event : found.events) {
    const std::int64_t true_ns = kNow - (20 - *event.event.step) * kS / 2;
    EXPECT_LE(std::abs(event.t_ns - true_ns), kS) << *event.event.step;
  }
}

TEST_F(FollowerTest, TheBarOfTheNextProgramHasAClockOfItsOwn) {
  const auto bar = [](int steps) {
    std::string text;
    for (int step = 0; step <= steps; ++step) {
      absl::StrAppend(&text, "\r  1%|x| ", step, "/", steps, " [00:", step < 10 ? "0" : "", step,
                      "<00:99,  1.0it/s]");
    }
    return text + "\n";
  };
  auto follower = Follow({}, "hf");
  Append(bar(10));
  EXPECT_EQ(follower->Look(kNow, false).events.size(), 11U);
  follower->ProgramBegins();
  EXPECT_TRUE(follower->Look(kNow + kS, false).events.empty());
  Append(bar(20));
  const OutputFollower::Found found = follower->Look(kNow + 30 * kS, false);
  ASSERT_EQ(found.events.size(), 21U);
  for (const OutputFollower::Event& event : found.events) {
    const std::int64_t true_ns = kNow + (10 + *event.event.step) * kS;
    EXPECT_LE(std::abs(event.t_ns - true_ns), kS) << *event.event.step;
  }
}

TEST_F(FollowerTest, AFileBesideIsReadByItsOwnProfile) {
  OutputFollower::Options options;
  options.links.push_back(folder_.path() + "/link");
  options.beside = folder_.path() + "/progress.txt";
  options.since_ns = kNow;
  absl::StatusOr<LogReader> reader = LogReader::Open("megatron", "/nonexistent");
  absl::StatusOr<LogReader> beside = LogReader::Open("megatron-progress", "/nonexistent");
  ASSERT_TRUE(reader.ok() && beside.ok());
  const auto progress = [&](std::int64_t ns, const char* text) {
    std::ofstream(options.beside, std::ios::app)
        << absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(ns), absl::LocalTimeZone())
        << "\tJob ID: 7\t# GPUs: 8\t" << text << "\n";
  };
  progress(kNow - 100 * kS, "Saved checkpoint\tIteration: 10");
  progress(kNow + 20 * kS, "Saving async checkpoint\tIteration: 20");
  Append(Line(20));
  OutputFollower follower(*std::move(reader), options, *std::move(beside));
  const OutputFollower::Found found = follower.Look(kNow + 21 * kS, false);
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[0].event.kind, LogEvent::Kind::kStepEnd);
  EXPECT_EQ(found.events[1].event.kind, LogEvent::Kind::kSaveBegin);
  EXPECT_EQ(found.events[1].t_ns, kNow + 20 * kS);
}

// When each step was found to be done, in seconds since kNow, with a look every fifth of a second. The
// program buffers `buffer` bytes, and its k-th step is done at done[k - 1].
std::vector<double> FollowBuffered(OutputFollower& follower,
                                   const std::function<void(std::string_view)>& append, std::size_t buffer,
                                   const std::vector<double>& done) {
  std::vector<double> found(done.size());
  std::string waiting;
  std::size_t step = 0;
  const auto look = [&](double now, bool last) {
    for (const FoundEvent& event : follower.Look(kNow + std::llround(now * 1e9), last).events)
      found.at(static_cast<std::size_t>(*event.event.step) - 1) =
          static_cast<double>(event.t_ns - kNow) / 1e9;
  };
  for (double now = 0.1; now < done.back() + 0.2; now += 0.2) {
    for (; step < done.size() && done[step] <= now; ++step) {
      waiting += Line(static_cast<int>(step) + 1);
      if (waiting.size() < buffer) continue;
      // srun sends the first KiB, and a moment later the rest.
      const std::size_t part = step % 3 == 0 ? std::min<std::size_t>(buffer, 1002) : buffer;
      append(waiting.substr(0, part));
      if (part < buffer) look(now - 0.1, false);
      append(waiting.substr(part, buffer == 0 ? std::string::npos : buffer - part));
      waiting.erase(0, buffer == 0 ? std::string::npos : buffer);
    }
    look(now, false);
  }
  append(waiting);
  look(done.back() + 0.25, false);
  look(done.back() + 0.4, true);
  return found;
}

TEST_F(FollowerTest, LinesOfAProgramThatBuffersAreDatedByItsPace) {
  for (const double step_s : {0.05, 0.5}) {
    fs::resize_file((Append(""), File()), 0);
    OutputFollower::Options options;
    options.since_ns = kNow;
    std::vector<double> done;  // it starts for 10 s
    for (int step = 1; step <= 600; ++step) done.push_back(10 + step * step_s);
    const std::vector<double> found = FollowBuffered(
        *Follow(options), [&](std::string_view text) { Append(text); }, 8192, done);
    for (std::size_t i = 0; i < done.size(); ++i)
      ASSERT_NEAR(found[i], done[i], 0.25 + 3 * step_s) << "step " << i + 1 << " of " << step_s << " s";
  }
}

TEST_F(FollowerTest, ManyEventsAreSeveralReplies) {
  OutputFollower::Options options;
  options.since_ns = kNow;
  auto follower = Follow(options, "auto");
  std::string text;
  for (int step = 1; step <= 1000; ++step) text += absl::StrCat("step ", step, " loss 0.5\n");
  std::vector<std::int64_t> steps;
  const auto look = [&](std::int64_t now, bool last) {
    bool more = true;
    for (int i = 0; more && i < 10; ++i) {
      const OutputFollower::Found found = follower->Look(now, last);
      EXPECT_LT(EncodeFound(found, "").size(), kMaxHelperMessage);
      for (const std::int64_t step : Steps(found)) steps.push_back(step);
      more = found.more;
    }
    EXPECT_FALSE(more);
  };
  Append(text.substr(0, 8192));
  look(kNow + 10 * kS, false);
  look(kNow + 11 * kS, false);
  EXPECT_TRUE(steps.empty()) << "held";
  Append(text.substr(8192));
  look(kNow + 16 * kS, false);
  look(kNow + 17 * kS, true);
  ASSERT_EQ(steps.size(), 1000U);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<std::int64_t>(i) + 1);
}

TEST_F(FollowerTest, APauseOfAProgramThatDoesNotBufferIsOne) {
  OutputFollower::Options options;
  options.since_ns = kNow;
  std::vector<double> done;  // 15 KiB a second, with a save that takes 20 s
  for (int step = 1; step <= 2000; ++step) done.push_back(10 + step * 0.002 + (step > 1000 ? 20 : 0));
  const std::vector<double> found = FollowBuffered(
      *Follow(options), [&](std::string_view text) { Append(text); }, 0, done);
  for (std::size_t i = 0; i < done.size(); ++i) ASSERT_NEAR(found[i], done[i], 0.3) << "step " << i + 1;
}

TEST_F(FollowerTest, ABlockThatIsHeldIsReadAgainByTheNextReader) {
  OutputFollower::Options options;
  options.since_ns = kNow - 10 * kS;
  auto follower = Follow(options);
  std::string block;
  for (int step = 1; step <= 150; ++step) block += Line(step);
  Append(block.substr(0, 8192));
  const OutputFollower::Found held = follower->Look(kNow, false);
  EXPECT_TRUE(held.events.empty());
  ASSERT_EQ(held.files.size(), 1U);
  EXPECT_EQ(held.files[0].offset, 0);
  EXPECT_TRUE(follower->Look(kNow + 50 * kS, false).events.empty());
  const std::size_t lines = 8192 / Line(1).size();
  EXPECT_GT(follower->Look(kNow + 70 * kS, false).events.size(), lines / 2) << "not for ever";
  options.resume = held.files;
  auto next = Follow(options);
  EXPECT_TRUE(next->Look(kNow, false).events.empty());
  EXPECT_GT(next->Look(kNow + kS, true).events.size(), lines / 2) << "the job ended";
}

TEST_F(FollowerTest, ALabelCountsWithATimeThatIsFineEnough) {
  auto follower = Follow({}, "torchtitan");
  const auto line = [](int task, const char* time) {
    return absl::StrCat(task, ": [titan] ", time, " - root - INFO - step: 10  loss:  7.1\n");
  };
  Append(line(12, "2027-01-15 08:00:00,123") + line(13, "2027-01-15 08:00:00,1"));
  const OutputFollower::Found found = follower->Look(kNow + kS, false);
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[0].event.task, 12);
  EXPECT_EQ(found.events[0].t_ns % kS, 123'000'000);
  EXPECT_FALSE(Follow()->Look(kNow, false).events.size()) << "another profile";
  fs::resize_file(File(), 0);
  auto megatron = Follow();
  Append("7: " + Line(1));
  const OutputFollower::Found read = megatron->Look(kNow + kS, false);
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_FALSE(read.events[0].event.task) << "its time is when it was read";
}

TEST_F(FollowerTest, AnAnswerSurvivesTheWayBack) {
  OutputFollower::Found found;
  OutputFollower::Event event;
  event.event.kind = LogEvent::Kind::kSave;
  event.event.step = 7;
  event.event.of = 8;
  event.event.step_ns = 9;
  event.event.about_ns = 10;
  event.event.took_ns = 12;
  event.event.name = "a b\nc \xff";
  event.t_ns = 5;
  event.began_ns = -3;
  event.offset = 77;
  event.event.bytes = 13;
  event.event.algbw = 14;
  event.event.busbw = 15;
  event.event.task = 16;
  event.late_ns = 250;
  bool LogEvent::*const flags[] = {&LogEvent::epoch_begins, &LogEvent::over_at_next_step,
                                   &LogEvent::told_at_next_step, &LogEvent::complete_is_untold};
  for (bool LogEvent::*const flag : flags) {
    found.events.push_back(event);
    found.events.back().event.*flag = true;
  }
  found.files.push_back({1, 2, 3, ~std::uint64_t{0}});
  found.more = true;
  found.profile = "megatron";
  const absl::StatusOr<FollowAnswer> back = DecodeFound(EncodeFound(found, "no\nway"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->problem, "no\nway");
  EXPECT_EQ(back->found.events[0].event.task, 16);
  EXPECT_EQ(EncodeFound(back->found, back->problem), EncodeFound(found, "no\nway"));
  ASSERT_EQ(back->found.events.size(), std::size(flags));
  for (std::size_t i = 0; i < std::size(flags); ++i) {
    const LogEvent& said = back->found.events[i].event;
    EXPECT_EQ(back->found.events[i].late_ns, 250);
    EXPECT_EQ(said.kind, LogEvent::Kind::kSave);
    EXPECT_EQ(said.step, 7);
    EXPECT_EQ(said.of, 8);
    EXPECT_EQ(said.step_ns, 9);
    EXPECT_EQ(said.about_ns, 10);
    EXPECT_EQ(said.took_ns, 12);
    EXPECT_EQ(said.bytes, 13);
    EXPECT_EQ(said.algbw, 14);
    EXPECT_EQ(said.busbw, 15);
    EXPECT_EQ(said.name, event.event.name);
    for (std::size_t k = 0; k < std::size(flags); ++k) EXPECT_EQ(said.*flags[k], i == k) << i << " " << k;
  }
  const std::string whole = EncodeFound(found, "no\nway");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = DecodeFound(whole.substr(0, size));
    if (cut.ok()) {
      EXPECT_LT(cut->found.events.size(), std::size(flags)) << size;
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = whole;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    const auto read = DecodeFound(changed);
    if (!read.ok()) continue;
    for (const OutputFollower::Event& one : read->found.events)
      EXPECT_LT(one.event.kind, LogEvent::Kind::kEpochBegin) << "a kind that there is";
  }
  for (const char* bad : {"", "x", "problem", "\xff\xff\xff\xff"}) EXPECT_FALSE(DecodeFound(bad).ok()) << bad;
}

TEST(OpenMode, IsWhatSbatchWasToldOrElseSlurmsDefault) {
  using namespace std::string_view_literals;
  std::map<std::string, std::string> files;
  const ReadText read = [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::make_optional(found->second);
  };
  EXPECT_TRUE(SlurmAppends("A=1\0SLURM_OPEN_MODE=a\0B=2\0"sv, read));
  EXPECT_FALSE(SlurmAppends("XSLURM_OPEN_MODE=a\0"sv, read));
  EXPECT_FALSE(SlurmAppends("", read));
  files["/etc/slurm/slurm.conf"] = "ClusterName=c\n  jobfileappend=1 # as before\n#JobFileAppend=0\n";
  EXPECT_TRUE(SlurmAppends("A=1\0"sv, read));
  EXPECT_FALSE(SlurmAppends("A=1\0SLURM_OPEN_MODE=t\0"sv, read));
  EXPECT_FALSE(SlurmAppends("SLURM_CONF=/none\0"sv, read)) << "not that of another cluster";
  files["/etc/slurm/slurm.conf"] = "ClusterName=c JobFileAppend=1\nJobFileAppend=0\n";
  EXPECT_FALSE(SlurmAppends("", read)) << "the last one counts";
  files["/own"] = "ControlMachine=m\tJobFileAppend=1\r\n";
  EXPECT_TRUE(SlurmAppends("SLURM_CONF=/own\0"sv, read));
}

TEST(OpenMode, OnlySmallRegularFilesAreRead) {
  const TempFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "JobFileAppend=1";
  EXPECT_EQ(ReadSmallFile(file), "JobFileAppend=1");
  fs::resize_file(file, (1U << 20U) + 1);
  EXPECT_EQ(ReadSmallFile(file), std::nullopt);
  EXPECT_EQ(ReadSmallFile(folder.path()), std::nullopt);
  EXPECT_EQ(ReadSmallFile("/dev/zero"), std::nullopt);
  ASSERT_EQ(mkfifo((folder.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadSmallFile(folder.path() + "/fifo"), std::nullopt) << "and it does not wait for a writer";
}

TEST(ProgramOutputs, AreThoseOfSrunsAndThoseThatProgramsRedirect) {
  const TempFolder folder;
  fs::copy_file("/bin/sleep", folder.path() + "/srun");
  const pid_t batch = fork();
  if (batch == 0) {
    // As slurmstepd opens the script's output, whether it appends or truncates.
    const int own = open((folder.path() + "/own").c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600);
    if (chdir(folder.path().c_str()) != 0 || dup2(own, 1) < 0 || dup2(own, 2) < 0) _exit(1);
    const char* script =
        "./srun 60 >> appended 2>> own & ./srun 60 > written 2>&1 & ./srun 60 & "
        "sleep 60 2> errors & (sleep 60 >> log 2>&1) & sleep 60 & wait";
    execl("/bin/sh", "sh", "-c", script, nullptr);
    _exit(1);
  }
  std::map<std::string, bool> append;
  std::set<std::string> of_sruns;
  for (int i = 0; i < 1000 && (append.size() < 5 || of_sruns.size() < 3); ++i) {
    usleep(10'000);
    append.clear();
    of_sruns.clear();
    for (const ProgramOutput& output : ProgramOutputs({batch})) {
      const std::string name = fs::path(output.file).filename();
      append[name] = output.append;
      if (output.srun) of_sruns.insert(name);
    }
  }
  kill(batch, SIGKILL);
  waitpid(batch, nullptr, 0);
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::error_code ignored;
    if (fs::read_symlink(entry.path() / "exe", ignored) == folder.path() + "/srun")
      kill(std::stoi(entry.path().filename()), SIGKILL);
  }
  EXPECT_EQ(append,
            (std::map<std::string, bool>{
                {"appended", true}, {"written", false}, {"own", false}, {"errors", false}, {"log", true}}));
  EXPECT_EQ(of_sruns, (std::set<std::string>{"appended", "written", "own"}));
}

TEST(EndedOutputs, AreTheLatestOfEachUser) {
  EndedOutputs outputs;
  EXPECT_TRUE(outputs.Of(7).empty());
  outputs.Add(7, {{1, 2, 3, 4}, {1, 5, 6, 7}});
  outputs.Add(7, {{1, 2, 8, 9}});
  ASSERT_EQ(outputs.Of(7).size(), 2U) << "one for each file";
  EXPECT_EQ(outputs.Of(7).front().offset, 8);
  EXPECT_TRUE(outputs.Of(8).empty()) << "another user's";
  for (std::uint64_t inode = 100; inode < 200; ++inode) outputs.Add(8, {{1, inode, 1, 1}});
  EXPECT_EQ(outputs.Of(8).size(), EndedOutputs::kMostOfUser);
  EXPECT_EQ(outputs.Of(8).front().inode, 199U);
  EXPECT_EQ(outputs.Of(7).size(), 2U) << "a user with many jobs takes nobody's place";
  for (uid_t user = 1000; user < 1000 + EndedOutputs::kMostUsers; ++user) outputs.Add(user, {{1, 2, 3, 4}});
  EXPECT_TRUE(outputs.Of(7).empty());
  EXPECT_EQ(outputs.Of(1000).size(), 1U);
  outputs.Add(1, {});
  EXPECT_EQ(outputs.Of(1000).size(), 1U);
}

// ---- records from the output

std::int64_t FixedReal() noexcept {
  return kNow;
}
std::int64_t FixedMono() noexcept {
  return 1000 * kS;
}

OutputFollower::Found Done(std::int64_t t, std::int64_t step) {
  OutputFollower::Found found;
  found.profile = "megatron";
  found.files.push_back({8, 9, step * 100});
  OutputFollower::Event event;
  event.event.kind = LogEvent::Kind::kStepEnd;
  event.event.step = step;
  event.event.step_ns = kS / 2;
  event.t_ns = t;
  event.offset = step * 100;
  found.events.push_back(event);
  return found;
}

NodeJob AJob() {
  NodeJob job;
  job.node = "n1";
  job.job = 12;
  job.since_ns = 5;
  return job;
}

TEST(OutputNews, AreMarksOfTheStepThatRan) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  news.Take(Done(kNow - 2 * kS, 1), {"3", std::nullopt});
  const std::vector<std::string> records = news.Records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_NE(
      records[0].find("\"slurm_step\":\"3\",\"task\":0,\"mark\":\"step\",\"edge\":\"begin\",\"train_step\":1,"
                      "\"profile\":\"megatron\"}"),
      std::string::npos)
      << records[0];
  EXPECT_NE(records[0].find(absl::StrCat("\"t\":", kNow - 5 * kS / 2, ",\"m\":", 1000 * kS - 5 * kS / 2)),
            std::string::npos)
      << records[0];
  EXPECT_TRUE(news.Records().empty());
}

OutputFollower::Found DoneBy(std::optional<std::int64_t> task, std::int64_t t, std::int64_t step) {
  OutputFollower::Found found = Done(t, step);
  found.events[0].event.task = task;
  return found;
}

// How many records there are of steps that tasks were done with.
std::size_t OfRanks(const std::vector<std::string>& records) {
  return static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(), [](const std::string& record) {
        return absl::StrContains(record, "\"edge\":\"end\"") && absl::StrContains(record, ToAbsl(kOfRank));
      }));
}

TEST(OutputNews, TellWhenEachOfSeveralTasksWasDone) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  for (int step = 1; step <= 3; ++step) {
    for (int task = 0; task < 3; ++task)
      news.Take(DoneBy(task, kNow - (10 - step) * kS + task * kS / 10, step), {"3", std::nullopt});
  }
  const std::vector<std::string> records = news.Records();
  // Not of the first line of a task.
  EXPECT_EQ(OfRanks(records), 6U);
  EXPECT_NE(records.back().find(
                "\"slurm_step\":\"3\",\"task\":2,\"mark\":\"step\",\"edge\":\"end\",\"train_step\":3,"
                "\"name\":\"of_rank\""),
            std::string::npos)
      << records.back();
  EXPECT_NE(records.back().find(absl::StrCat("\"t\":", kNow - 7 * kS + kS / 5)), std::string::npos)
      << records.back();
}

TEST(OutputNews, OneTaskIsNotCompared) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  for (int step = 1; step <= 9; ++step) {
    news.Take(DoneBy(0, kNow - (10 - step) * kS, step), {"3", std::nullopt});
    news.Take(DoneBy(std::nullopt, kNow - (10 - step) * kS, step), {"3", std::nullopt});
  }
  EXPECT_EQ(OfRanks(news.Records()), 0U);
}

TEST(OutputNews, ManyTasksDoNotCrowdOutOtherMarks) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  constexpr int kTasks = 100;
  constexpr int kSteps = 64;
  for (int step = 1; step <= kSteps; ++step) {
    for (int task = 0; task < kTasks; ++task)
      news.Take(DoneBy(task, kNow - (kSteps + 1 - step) * kS, step), {"3", std::nullopt});
  }
  // Every fourth step, so that there are 25 a second.
  const std::size_t told = OfRanks(news.Records());
  EXPECT_GE(told, kTasks * kSteps / 4U);
  EXPECT_LE(told, kTasks * (kSteps / 4U + 2));
}

TEST(OutputNews, AreWhatNcclTestsMeasured) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  OutputFollower::Found found;
  OutputFollower::Event event;
  event.event.kind = LogEvent::Kind::kCollective;
  event.event.bytes = 8589934592;
  event.event.algbw = 190350000000;
  event.event.busbw = 178460000000;
  event.t_ns = kNow;
  OutputFollower::Event host;
  host.event.kind = LogEvent::Kind::kCollectiveHost;
  host.t_ns = kNow;
  for (const char* name : {"n1", "n2"}) {
    host.event.name = name;
    found.events.push_back(host);
  }
  found.events.push_back(event);
  news.Take(found, {"2", std::nullopt});
  // No program was seen to start, so none ends.
  news.End({"2", std::nullopt});
  const std::vector<std::string> records = news.Records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_NE(records[0].find("\"kind\":\"collective\""), std::string::npos) << records[0];
  EXPECT_NE(records[0].find("\"slurm_step\":\"2\",\"bytes\":8589934592,\"algbw\":190350000000,"
                            "\"busbw\":178460000000,\"edge\":\"begin\",\"hosts\":\"n[1-2]\"}"),
            std::string::npos)
      << records[0];
}

// The records of steps whose lines are read every fifth of a second.
struct Recorded {
  std::vector<double> begins;
  double between_steps = 0;
};

Recorded FollowSteps(OutputFollower& follower, const std::function<std::string(int step, double done)>& line,
                     const std::function<void(std::string_view)>& append, double step_s, int steps) {
  OutputNews news(AJob(), {FixedReal, FixedMono});
  Recorded recorded;
  int step = 0;
  for (double now = 0.07; step < steps; now += 0.2) {
    for (; step < steps && (step + 1) * step_s + 0.4 <= now; ++step)
      append(line(step + 1, (step + 1) * step_s + 0.4));
    news.Take(follower.Look(kNow + std::llround(now * 1e9), false), {"0", std::nullopt});
    for (const std::string& record : news.Records()) {
      const double t = static_cast<double>(std::stoll(record.substr(record.find("\"t\":") + 4)) - kNow) / 1e9;
      const bool begins = absl::StrContains(record, "\"edge\":\"begin\"");
      if (absl::StrContains(record, "\"mark\":\"step\"") && begins) recorded.begins.push_back(t);
      if (!absl::StrContains(record, "between_steps")) continue;
      recorded.between_steps += begins ? -t : t;
    }
  }
  return recorded;
}

double MedianStep(const Recorded& recorded) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < recorded.begins.size(); ++i)
    lengths.push_back(recorded.begins[i] - recorded.begins[i - 1]);
  std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2),
                   lengths.end());
  return lengths[lengths.size() / 2];
}

TEST_F(FollowerTest, StampsOfWholeSecondsAreNoTimeBetweenSteps) {
  const auto stamp = [](double done) {
    return absl::FormatTime("%Y-%m-%d %H:%M:%S",
                            absl::FromUnixSeconds(kNow / kS + static_cast<std::int64_t>(done)),
                            absl::UTCTimeZone());
  };
  for (const double step_s : {0.25, 0.6, 1.5}) {
    for (const bool told : {true, false}) {
      fs::remove(File());
      const std::unique_ptr<OutputFollower> follower = Follow({}, told ? "megatron" : "torchtitan");
      const Recorded recorded = FollowSteps(
          *follower,
          [&](int step, double done) {
            return told ? absl::StrCat(" [", stamp(done), "] iteration ", step,
                                       "/ 100 | elapsed time per iteration (ms): ", step_s * 1000, " |\n")
                        : absl::StrCat("[titan] ", stamp(done), ",000 - root - INFO - step: ", step,
                                       "  loss:  7.1\n");
          },
          [&](std::string_view text) { Append(text); }, step_s, 80);
      fs::remove(folder_.path() + "/link");
      fs::create_symlink(File(), folder_.path() + "/link");
      EXPECT_EQ(recorded.begins.size(), 80U);
      EXPECT_LT(recorded.between_steps, 1) << step_s << " " << told;
      EXPECT_NEAR(MedianStep(recorded), step_s, told ? 0.01 : 0.05) << told;
      EXPECT_NEAR(recorded.begins.back() - recorded.begins.front(), 79 * step_s, told ? 0.5 : 2.0)
          << step_s << " " << told;
    }
  }
}

TEST(OutputNews, ADaemonThatDiedLeavesNoGapAndNothingTwice) {
  OutputNews before(AJob(), {FixedReal, FixedMono});
  before.Take(Done(kNow - 4 * kS, 1), {"0", std::nullopt});
  before.Take(Done(kNow - 3 * kS, 2), {"0", std::nullopt});
  const std::string memory = before.Memory();
  EXPECT_LE(memory.size(), Spool::kMaxNoteBytes);
  OutputNews after(AJob(), {FixedReal, FixedMono});
  const std::vector<FileMark> files = after.Remember(memory);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].offset, 200);
  after.Take(Done(kNow - 2 * kS, 3), {"0", std::nullopt});
  const std::vector<std::string> records = after.Records();
  ASSERT_EQ(records.size(), 3U) << "half a second between steps, and the third";
  EXPECT_NE(records[2].find("\"train_step\":3"), std::string::npos);
  NodeJob another = AJob();
  another.since_ns = 6;
  OutputNews other(another, {FixedReal, FixedMono});
  EXPECT_TRUE(other.Remember(memory).empty()) << "another attempt's";
  for (const char* bad : {"", "5", "5 0 - 1:2", "x y z", "5 0 1:2:3:4 a:b:c"})
    EXPECT_TRUE(other.Remember(bad).empty());
}

}  // namespace
}  // namespace goodput
