// Output of frameworks: profiles, lines, times, and the resulting events.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sql/text.h"
#include "tools/sources/logs/built_in.h"
#include "tools/sources/logs/line_time.h"
#include "tools/sources/logs/lines.h"
#include "tools/sources/logs/log_fold.h"
#include "tools/sources/logs/log_reader.h"
#include "tools/sources/logs/profile.h"

namespace goodput {
namespace {

constexpr const char* kNoFolder = "/nonexistent";

// ---- profiles

TEST(Profiles, ExamplesOfThoseThatAreBuiltInGiveWhatTheySay) {
  for (const BuiltInProfile& built_in : BuiltInProfiles()) {
    const absl::StatusOr<LogProfile> profile = LogProfile::Parse(built_in.text, built_in.name);
    EXPECT_TRUE(profile.ok()) << Message(profile.status());
  }
}

TEST(Profiles, AllThatAreBuiltInMayBeUsed) {
  std::vector<std::string> names;
  for (const KnownProfile& known : LoadProfiles(kNoFolder)) {
    EXPECT_TRUE(known.profile.ok()) << Message(known.profile.status());
    EXPECT_EQ(known.where, "built in");
    names.push_back(known.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"megatron",    "nemo",       "torchtitan", "maxtext",
                                             "deepspeed",   "composer",   "lightning",  "hf",
                                             "torchtune",   "verl",       "automodel",  "olmo",
                                             "fairseq",     "nanotron",   "litgpt",     "nanogpt",
                                             "nemo-rl",     "paddlenlp",  "levanter",   "t5x",
                                             "mmengine",    "detectron2", "timm",       "metric-logger",
                                             "keras",       "swin",       "openclip",   "paddleocr",
                                             "ultralytics", "nnunet",     "deepmd",     "megatron-progress",
                                             "submitit",    "nccl-tests", "slurm",      "kubernetes"}));
}

TEST(Profiles, NoExampleOfOneFrameworkIsAStepOfAnother) {
  const std::vector<KnownProfile> profiles = LoadProfiles(kNoFolder);
  for (const BuiltInProfile& built_in : BuiltInProfiles()) {
    std::size_t at = 0;
    while (at < built_in.text.size()) {
      const std::size_t end = built_in.text.find('\n', at);
      std::string_view line = built_in.text.substr(at, end - at);
      at = end + 1;
      constexpr std::string_view kExample = "example ";
      if (line.substr(0, kExample.size()) != kExample) continue;
      line.remove_prefix(kExample.size());
      for (const KnownProfile& other : profiles) {
        if (other.name == built_in.name) continue;
        const std::optional<LogEvent> event = other.profile->Match(line);
        const bool step =
            event && (event->kind == LogEvent::Kind::kStepEnd || event->kind == LogEvent::Kind::kStepBegin);
        EXPECT_FALSE(step) << other.name << " takes a line of " << built_in.name << ": " << line;
      }
    }
  }
}

std::string Problem(std::string_view text) {
  const absl::StatusOr<LogProfile> profile = LogProfile::Parse(text, "x.profile");
  return profile.ok() ? "" : Message(profile.status());
}

constexpr std::string_view kGood =
    "profile x\nrule step_end\nmatch   did (?P<step>\\d+)$\nexample did 7\ngives step=7\n";

TEST(Profiles, AreRefusedWithTheLineAndTheReason) {
  EXPECT_EQ(Problem(kGood), "");
  const std::string good(kGood);
  const auto with = [&](std::string_view more) { return Problem(absl::StrCat(good, std::string(more))); };
  EXPECT_EQ(with("example did 8\ngives step=9\n"), "x.profile:6: the example gives `step=8`, not `step=9`");
  EXPECT_EQ(with("example done 8\ngives step=8\n"), "x.profile:6: the example matches no rule");
  EXPECT_EQ(with("example did 8\n"), "x.profile:6: the example has no `gives`");
  EXPECT_EQ(with("unlike you did 9\n"), "x.profile:6: the rule at line 2 matches this line");
  EXPECT_EQ(with("rule save_end\nmatch saved\n"), "x.profile:6: the rule has no `example`");
  EXPECT_EQ(with("rule save_end\nmatch (saved\n"), "x.profile:7: invalid expression: missing ): (saved");
  EXPECT_EQ(with("rule save_end\nmatch saved (?P<stepp>1)\n"), "x.profile:7: unknown group stepp");
  EXPECT_EQ(with("rule save_end\nmatch did 3\nexample did 3\ngives nothing\n"),
            "x.profile:8: the example matches the rule at line 2 first");
  EXPECT_EQ(with("rule saved\n"), "x.profile:6: unknown kind of rule `saved`");
  EXPECT_EQ(with("speed 3\n"), "x.profile:6: unknown word `speed`");
  EXPECT_EQ(with("rule phase_begin\nmatch eval\nexample eval\ngives nothing\n"),
            "x.profile:6: the rule needs a `name`");
  EXPECT_EQ(with("rule step_begin\nmatch eval\nexample eval\ngives nothing\n"),
            "x.profile:6: a step needs a group `step`");
  EXPECT_EQ(with("rule step_end\nmatch eval\nexample eval\ngives nothing\n"),
            "x.profile:6: a step needs a group `step`");
  const std::string begin = "rule step_begin\nmatch begin (?P<step>\\d)\nexample begin 3\ngives step=3\n";
  EXPECT_EQ(with(begin + "rule step_end\nmatch eval\nwithin epoch\nexample eval\ngives nothing\n"),
            "x.profile:10: `within` needs a group `step`");
  EXPECT_EQ(Problem(""), "x.profile:1: no `profile NAME`");
  EXPECT_EQ(Problem("profile ../x\n"),
            "x.profile:1: `profile` must be a name of letters, digits, '-', '_' and '.'");
  EXPECT_EQ(Problem("profile x\nmatch y\n"), "x.profile:2: `match` is outside of a rule");
  EXPECT_EQ(Problem(std::string(kMaxProfileBytes + 1, '#')), "x.profile:1: longer than 256 KiB");
}

TEST(Profiles, WithoutAStampADateInTheLineIsItsTime) {
  const std::string good(kGood);
  const auto time_of = [](const std::string& text, std::string_view line) {
    const absl::StatusOr<LogProfile> profile = LogProfile::Parse(text, "x.profile");
    const std::optional<LogEvent> event = profile.ok() ? profile->Match(line) : std::nullopt;
    return event ? EventInWords(*event) : "none";
  };
  EXPECT_EQ(time_of(good, "2025-02-24 22:27:16.635 INFO: did 7"), "step=7 time=2025-02-24T22:27:16.635");
  EXPECT_EQ(time_of(good, "did 7"), "step=7");
  EXPECT_EQ(time_of(good + "stamp at (?P<unix>\\d+)\n", "2025-02-24 22:27:16.635 INFO: did 7"), "step=7")
      << "only its own";
}

TEST(Profiles, NumbersThatAreNoneMakeALineSayNothing) {
  const absl::StatusOr<LogProfile> profile = LogProfile::Parse(kGood, "x.profile");
  ASSERT_TRUE(profile.ok());
  EXPECT_TRUE(profile->Match("did 9007199254740992"));
  EXPECT_FALSE(profile->Match("did 99999999999999999999999"));
  EXPECT_FALSE(profile->Match("did "));
  EXPECT_TRUE(profile->Match("\xff\xfe did 5")) << "a log is bytes";
}

TEST(Reader, AutoFindsOutWhichItIsAndLosesNothing) {
  absl::StatusOr<LogReader> reader = LogReader::Open("auto", kNoFolder);
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> said;
  const auto take = [&](const LogReader::Said& one) {
    said.push_back(absl::StrCat(one.offset, " ", std::string(LogEventKindName(one.event.kind)), " ",
                                EventInWords(one.event)));
  };
  reader->Line("  0%|          | 0/690 [00:00<?, ?it/s]", 1, 0, take);
  reader->Line("[titan] 2026-08-21 10:00:00,000 - root - INFO - Training starts at step 1", 2, 0, take);
  reader->Line("[titan] 2026-08-21 10:00:09,000 - root - INFO - step:  1  loss:  8.1", 3, 0, take);
  EXPECT_TRUE(said.empty());
  reader->Line("[titan] 2026-08-21 10:00:19,000 - root - INFO - step: 10  loss:  7.1", 4, 0, take);
  EXPECT_EQ(reader->profile(), "torchtitan");
  EXPECT_EQ(said, (std::vector<std::string>{"2 training_begin step=1 time=2026-08-21T10:00:00",
                                            "3 step_end step=1 time=2026-08-21T10:00:09",
                                            "4 step_end step=10 time=2026-08-21T10:00:19"}));
  reader->Line("100%|##########| 690/690 [31:31<00:00,  2.74s/it]", 5, 0, take);
  EXPECT_EQ(said.size(), 3U);
  reader->Line("slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-08-21T10:00:20 DUE TO PREEMPTION ***", 6,
               0, take);
  EXPECT_EQ(said.size(), 4U) << "Slurm's own words are read beside any profile";
}

constexpr const char* kMeasured =
    "  8589934592     134217728     float    none      -1    45126  190.35  178.46      0    45098  190.47  "
    "178.57      0";

TEST(Reader, WhatNcclTestsMeasuredIsReadBesideAnyProfile) {
  for (const char* profile : {"megatron", "auto", "nccl-tests"}) {
    absl::StatusOr<LogReader> reader = LogReader::Open(profile, kNoFolder);
    ASSERT_TRUE(reader.ok());
    std::vector<std::string> said;
    const auto take = [&](const LogReader::Said& one) {
      said.push_back(
          absl::StrCat(std::string(LogEventKindName(one.event.kind)), " ", EventInWords(one.event)));
    };
    reader->Line(kMeasured, 0, 0, take);
    const std::vector<std::string> measured{
        "collective bytes=8589934592 algbw=190350000000 busbw=178460000000"};
    EXPECT_EQ(said, measured) << profile << ": at once, whatever is found out of the rest";
    reader->Finish(take);
    EXPECT_EQ(said, measured) << profile;
  }
}

TEST(Reader, AFileOfNothingElseIsNcclTests) {
  absl::StatusOr<LogReader> reader = LogReader::Open("auto", kNoFolder);
  ASSERT_TRUE(reader.ok());
  reader->Count("slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-08-21T10:00:20 DUE TO PREEMPTION ***");
  EXPECT_EQ(reader->MostCounted().name, "") << "how Slurm ended it says nothing of what it was";
  reader->Count(kMeasured);
  reader->Count(kMeasured);
  EXPECT_EQ(reader->MostCounted().name, "nccl-tests");
  reader->Count("successfully saved checkpoint from iteration     100 to /mnt/ckpt");
  EXPECT_EQ(reader->MostCounted().name, "megatron");
}

TEST(Reader, GooglesEntriesAreReadOutOfALinesEnd) {
  absl::StatusOr<LogReader> reader = LogReader::Open("google-goodput", kNoFolder);
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> said;
  const auto take = [&](const LogReader::Said& one) {
    said.push_back(absl::StrCat(std::string(LogEventKindName(one.event.kind)), " ", EventInWords(one.event)));
  };
  for (
      const char* line :
      {R"(INFO:root:{"job_name": "j", "job_start_time": 1800000000.5})",
       R"({"job_name": "j", "tpu_init_start_time": 1800000001.0})",
       R"({"job_name": "j", "step_count": 3, "step_start_time": 1800000002.0})",
       R"({"step": 7, "event_type": "save", "directory": "d", "checkpoint_manager_blocking_start_time": 1800000003.0, "checkpoint_manager_blocking_duration_secs": 2.0})",
       R"({"job_name": "j", "step_count": "three"})", "{\"job_name\": ", "no entry", "}"})
    reader->Line(line, 0, 0, take);
  EXPECT_EQ(said, (std::vector<std::string>{
                      "program_begin time=2027-01-15T08:00:00.5Z",
                      "phase_begin name=init time=2027-01-15T08:00:01Z",
                      "step_begin step=3 time=2027-01-15T08:00:02Z",
                      "save step=7 took_s=2 began=2027-01-15T08:00:03Z time=2027-01-15T08:00:05Z"}));
}

TEST(Reader, UnknownNamesAreAnsweredWithThoseThereAre) {
  const absl::StatusOr<LogReader> reader = LogReader::Open("megatorn", kNoFolder);
  ASSERT_FALSE(reader.ok());
  EXPECT_TRUE(
      absl::StrContains(Message(reader.status()), "unknown log profile megatorn; known: megatron, nemo"));
}

TEST(Reader, LabelsOfLaunchersAreLeftOut) {
  EXPECT_EQ(WithoutLabel("12: did 3"), "did 3");
  EXPECT_EQ(WithoutLabel("  3: did 3"), "did 3");
  EXPECT_EQ(WithoutLabel("[default0]:did 3"), "did 3");
  EXPECT_EQ(WithoutLabel("[default]:did 3"), "[default]:did 3");
  EXPECT_EQ(WithoutLabel("3 of 4: did 3"), "3 of 4: did 3");
  EXPECT_EQ(TaskInLabel("12: did 3"), 12);
  EXPECT_EQ(TaskInLabel("  3: did 3"), 3);
  EXPECT_EQ(TaskInLabel("[default4]:did 3"), std::nullopt) << "a number on its node";
  EXPECT_EQ(TaskInLabel("3 of 4: did 3"), std::nullopt);
  EXPECT_EQ(TaskInLabel("99999999: did 3"), std::nullopt);
  EXPECT_EQ(TaskInLabel(""), std::nullopt);
}

// ---- lines

std::vector<std::string> LinesOf(const std::vector<std::string>& pieces, bool finish = true) {
  LogLines lines;
  std::vector<std::string> found;
  const auto take = [&](std::string_view line, std::int64_t offset) {
    found.push_back(absl::StrCat(offset, ":", std::string(line)));
  };
  for (const std::string& piece : pieces) lines.Add(piece, take);
  if (finish) lines.Finish(take);
  return found;
}

TEST(Lines, AreTheSameHoweverTheyCome) {
  const std::string text = "one\r\ntwo\n\n 1%|#\r 2%|##\r\x1b[31mred\x1b[0m \x1b]0;title\x07x\tend\nlast";
  const std::vector<std::string> whole = LinesOf({text});
  EXPECT_EQ(whole, (std::vector<std::string>{"0:one", "5:two", "10: 1%|#", "16: 2%|##", "23:red x\tend",
                                             "52:last"}));
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      EXPECT_EQ(LinesOf({text.substr(0, first), text.substr(first, second - first), text.substr(second)}),
                whole);
    }
  }
  EXPECT_EQ(LinesOf({text}, false).size(), whole.size() - 1) << "the last has not ended";
}

TEST(Lines, WhenItsProgramEndsAStateOfABarIsWholeAndNothingElse) {
  for (const std::string& text :
       {std::string("step 12"), std::string(" 66%|##| 2/3 [00:02<00:01, 1.00it/s]")}) {
    LogLines lines;
    std::vector<std::string> found;
    const auto take = [&](std::string_view line, std::int64_t) { found.emplace_back(line); };
    lines.Add(text, take);
    lines.FinishBar(take);
    const bool bar = text.back() == ']';
    EXPECT_EQ(found.size(), bar ? 1U : 0U);
    lines.Add("3: loss 1\n", take);
    EXPECT_EQ(found.back(), bar ? "3: loss 1" : "step 123: loss 1");
  }
}

TEST(Lines, OfALongOneTheBeginningIsKept) {
  const std::string text = "a" + std::string(std::size_t{1} << 20U, 'b') + "\nnext\n";
  const std::vector<std::string> found = LinesOf({text});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].size(), 2 + LogLines::kMaxLine);
  EXPECT_EQ(found[1], absl::StrCat(text.size() - 5, ":next"));
}

TEST(Lines, SequencesThatNeverEndTakeNothingElse) {
  for (const std::string& text :
       {std::string("x\x1b["), std::string("x\x1b"), std::string("x\x1b]0;y"), std::string("x\x1b[12;")}) {
    EXPECT_EQ(LinesOf({text + "\nnext\n"}).back().substr(LinesOf({text + "\nnext\n"}).back().find(':')),
              ":next");
  }
}

// ---- times

std::int64_t At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return absl::ToUnixNanos(time);
}

TEST(Times, AreReadOrRefused) {
  EXPECT_EQ(ParseDate("2026-02-05 17:07:36.379347")->ns, At("2026-02-05T17:07:36.379347Z"));
  EXPECT_EQ(ParseDate("2026-02-05 17:07:36.379347")->kind, LineTime::Kind::kWall);
  EXPECT_EQ(ParseDate("2026-02-05T17:07:36,5+01:00")->ns, At("2026-02-05T16:07:36.5Z"));
  EXPECT_EQ(ParseDate("2026-02-05T17:07:36Z")->kind, LineTime::Kind::kAbsolute);
  EXPECT_EQ(ParseGlog("0229 16:50:26.25")->ns, At("1972-02-29T16:50:26.25Z"));
  for (const char* bad : {"2026-02-30 17:07:36", "2026-13-01 00:00:00", "2026-02-05 25:00:00", "2026-02-05",
                          "", "2026-02-05 17:07:36 CET", "0000-02-05 17:07:36", "2026-02-05 17:60:36"})
    EXPECT_FALSE(ParseDate(bad)) << bad;
}

TEST(Times, LiveAWallIsOfTheZoneThatIsNearest) {
  const std::int64_t read = At("2026-02-05T16:07:40Z");
  EXPECT_EQ(LiveTime(*ParseDate("2026-02-05 17:07:36.5"), read), At("2026-02-05T16:07:36.5Z")) << "Paris";
  EXPECT_EQ(LiveTime(*ParseDate("2026-02-05 21:52:36.5"), read), At("2026-02-05T16:07:36.5Z")) << "Kathmandu";
  EXPECT_EQ(LiveTime(*ParseDate("2026-02-05 16:07:41"), read), At("2026-02-05T16:07:41Z"))
      << "a clock that is ahead";
  EXPECT_EQ(LiveTime(*ParseDate("2026-02-05 15:58:00"), read), At("2026-02-05T15:58:00Z"))
      << "kept back by the program";
  EXPECT_EQ(LiveTime(*ParseGlog("0205 16:07:36.5"), read), At("2026-02-05T16:07:36.5Z"));
  EXPECT_EQ(LiveTime(*ParseUnix("9000000000.0"), read), read) << "no time of this world";
}

TEST(Times, AfterwardsAWallIsOfTheZoneThatIsSaid) {
  absl::TimeZone berlin;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Berlin", &berlin));
  const std::int64_t written = At("2026-02-05T16:07:40Z");
  EXPECT_EQ(PastTime(*ParseDate("2026-02-05 17:07:36.5"), berlin, written), At("2026-02-05T16:07:36.5Z"));
  EXPECT_EQ(PastTime(*ParseGlog("0205 17:07:36.5"), berlin, written), At("2026-02-05T16:07:36.5Z"));
  EXPECT_EQ(PastTime(*ParseGlog("1231 23:59:59"), berlin, written), At("2025-12-31T22:59:59Z"))
      << "the year before";
  EXPECT_EQ(PastTime(*ParseGlog("0229 12:00:00"), berlin, written), At("2024-02-29T11:00:00Z"));
}

// ---- events from lines

class Told : public LogSink {
 public:
  absl::Status Step(Ns t, std::int64_t step, const Speaker& /*speaker*/, std::int64_t offset) override {
    Say(offset, absl::StrCat("step ", step, " at ", Seconds(t)));
    return absl::OkStatus();
  }
  absl::Status Mark(const LogMark& mark, const Speaker& /*speaker*/, std::int64_t offset) override {
    std::string what = mark.kind == PackedMark::Kind::kCheckpoint ? "save"
                       : mark.kind == PackedMark::Kind::kRestore  ? "restore"
                                                                  : std::string(mark.name);
    if (mark.step) absl::StrAppend(&what, " ", *mark.step);
    if (mark.kind == PackedMark::Kind::kCheckpoint && mark.name == kInBackground) {
      Say(offset, absl::StrCat(what, " goes on at ", Seconds(mark.t)));
      return absl::OkStatus();
    }
    Say(offset, absl::StrCat(what, mark.begin ? " begins at " : " ends at ", Seconds(mark.t)));
    return absl::OkStatus();
  }
  absl::Status Srun(const LogSrun& /*srun*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) override {
    return absl::OkStatus();
  }
  absl::Status Attempt(const LogAttempt& attempt) override {
    said.push_back(absl::StrCat("attempt from ", Seconds(attempt.begin), " to ", Seconds(attempt.end),
                                attempt.ended ? absl::StrCat(" ", attempt.state) : std::string(" open"),
                                attempt.stop ? absl::StrCat(" told at ", Seconds(*attempt.stop)) : ""));
    return absl::OkStatus();
  }
  absl::Status StepEnd(Ns t, std::int64_t step, const Speaker& /*speaker*/, std::int64_t offset) override {
    Say(offset, absl::StrCat("step ", step, " done at ", Seconds(t)));
    return absl::OkStatus();
  }
  absl::Status Stop(Ns t, const Speaker& /*speaker*/, std::int64_t offset) override {
    Say(offset, absl::StrCat("stop at ", Seconds(t)));
    return absl::OkStatus();
  }
  absl::Status Collective(const LogCollective& result, const Speaker& /*speaker*/,
                          std::int64_t offset) override {
    Say(offset, absl::StrCat(result.bytes, " bytes", result.hosts.empty() ? "" : " between ",
                             std::string(result.hosts), result.first ? ", first" : ""));
    return absl::OkStatus();
  }
  std::vector<std::string> said;

 private:
  static std::string Seconds(Ns t) { return absl::StrCat(std::round(static_cast<double>(t) / 1e6) / 1e3); }
  void Say(std::int64_t offset, std::string text) {
    EXPECT_TRUE(offsets_.insert(offset).second) << "one place for two: " << text;
    said.push_back(std::move(text));
  }
  std::set<std::int64_t> offsets_;
};

// Feeds lines with times in seconds, and collects the resulting records.
class Fold {
 public:
  Fold& Say(double t, LogEvent event) {
    const Ns ns = std::llround(t * 1e9);
    EXPECT_TRUE(fold_.Take(event, ns, std::nullopt, offset_).ok());
    offset_ += 100;
    return *this;
  }
  static LogEvent Event(LogEvent::Kind kind, std::optional<std::int64_t> step = {}) {
    LogEvent event;
    event.kind = kind;
    event.step = step;
    return event;
  }
  Fold& Done(double t, std::int64_t step, double each = 0) {
    LogEvent event = Event(LogEvent::Kind::kStepEnd, step);
    if (each > 0) event.step_ns = std::llround(each * 1e9);
    return Say(t, event);
  }
  Fold& Host(double t, const std::string& name) {
    LogEvent host = Event(LogEvent::Kind::kCollectiveHost);
    host.name = name;
    return Say(t, host);
  }
  Fold& Result(double t, std::int64_t bytes) {
    LogEvent result = Event(LogEvent::Kind::kCollective);
    result.bytes = result.algbw = result.busbw = bytes;
    return Say(t, result);
  }
  std::vector<std::string> End(double t) {
    EXPECT_TRUE(fold_.End(std::llround(t * 1e9)).ok());
    return std::exchange(told_.said, {});
  }
  LogFold& fold() { return fold_; }

 private:
  Told told_;
  LogFold fold_{told_};
  std::int64_t offset_ = 0;
};

using Kind = LogEvent::Kind;

TEST(LogFold, AStepBeganWhenTheOneBeforeWasDone) {
  EXPECT_EQ(Fold().Done(10, 1).Done(12, 2).Done(14, 3).End(17),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 3 at 12", "step 3 done at 14",
                                      "attempt from 8 to 14 open"}));
}

TEST(LogFold, WhatNcclTestsMeasuredBeginsNoProgram) {
  EXPECT_EQ(Fold().Result(1, 8).Done(10, 1).Done(12, 2).Host(12.5, "n1").End(17),
            (std::vector<std::string>{"8 bytes", "step 1 at 8", "step 2 at 10", "step 2 done at 12",
                                      "attempt from 8 to 12 open"}));
}

TEST(LogFold, ATestOfTheNetworkHasTheHostsItNamed) {
  EXPECT_EQ(Fold()
                .Result(1, 7)
                .Host(2, "n2")
                .Host(2, "n2")
                .Host(2, "n1")
                .Result(3, 8)
                .Result(4, 9)
                .Host(5, "n3")
                .Result(6, 8)
                .End(7),
            (std::vector<std::string>{"7 bytes", "8 bytes between n[1-2], first", "9 bytes between n[1-2]",
                                      "8 bytes between n3, first"}));
}

TEST(LogFold, MoreHostsThanItKeepsAreNotNamed) {
  Fold fold;
  for (int host = 0; host <= 4096; ++host) fold.Host(1, absl::StrCat("n", host));
  fold.Result(2, 8);
  fold.Host(3, std::string(1600, 'a')).Host(3, std::string(1600, 'b')).Result(4, 9);
  EXPECT_EQ(fold.Host(5, "n1").Result(6, 10).End(7),
            (std::vector<std::string>{"8 bytes, first", "9 bytes, first", "10 bytes between n1, first"}));
}

TEST(LogFold, ALineOfManyStepsBeganWithTheFirst) {
  EXPECT_EQ(Fold().Done(30, 10).Done(50, 20).Done(70, 30).End(71),
            (std::vector<std::string>{"step 1 at 10", "step 11 at 30", "step 21 at 50", "step 30 done at 70",
                                      "attempt from 10 to 70 open"}))
      << "the first ten took as long as the ten behind them; 1 s is no step";
}

TEST(LogFold, TheTrainingsBeginIsTheFirstSteps) {
  EXPECT_EQ(Fold().Say(3, Fold::Event(Kind::kTrainingBegin, 501)).Done(23, 510).Done(43, 520).End(43),
            (std::vector<std::string>{"step 501 at 3", "step 511 at 23", "step 520 done at 43",
                                      "attempt from 3 to 43 open"}));
}

TEST(LogFold, WhereStepsSayWhatTheyTookTheRestIsOverhead) {
  EXPECT_EQ(Fold().Done(10, 10, 0.5).Done(15, 20, 0.5).Done(25, 30, 0.5).End(25),
            (std::vector<std::string>{"step 1 at 5", "step 11 at 10", "between_steps begins at 15",
                                      "between_steps ends at 20", "step 21 at 20", "step 30 done at 25",
                                      "attempt from 5 to 25 open"}))
      << "the first line waits for the second to say how many it was about";
}

TEST(LogFold, RanksThatRepeatSayNothingNew) {
  EXPECT_EQ(
      Fold().Done(10, 1).Done(10.1, 1).Done(12, 2).Done(12.2, 2).Done(14, 3).Done(14.1, 2).Done(14.2, 3).End(
          14.5),
      (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 3 at 12", "step 3 done at 14",
                                "attempt from 8 to 14.2 open"}));
}

TEST(LogFold, ALowerNumberIsANewStart) {
  EXPECT_EQ(Fold().Done(10, 1).Done(12, 2).Done(14, 3).Done(40, 2).Done(42, 3).End(42),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 3 at 12", "step 3 done at 14",
                                      "attempt from 8 to 14 open", "step 2 at 38", "step 3 at 40",
                                      "step 3 done at 42", "attempt from 38 to 42 open"}));
}

// Lines as (seconds, step): how many are taken before it is certain that several programs print.
int TakenOf(const std::vector<std::pair<double, std::int64_t>>& lines) {
  Told told;
  LogFold fold(told);
  int taken = 0;
  for (const auto& [t, step] : lines) {
    const LogEvent event = Fold::Event(Kind::kStepEnd, step);
    const absl::Status status = fold.Take(event, std::llround(t * 1e9), std::nullopt, 100 * taken);
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      return taken;
    }
    ++taken;
  }
  return taken;
}

TEST(LogFold, NumbersOfSeveralProgramsAreNoRestarts) {
  std::vector<std::pair<double, std::int64_t>> two;
  for (int i = 0; i < 20; ++i) {
    two.emplace_back(10 * i, 100 + i);
    two.emplace_back(10 * i + 4, 57 + i);
  }
  EXPECT_EQ(TakenOf(two), 9);
  std::vector<std::pair<double, std::int64_t>> five;  // of an array, each at another place and pace
  for (int i = 0; i < 200; ++i) {
    const int program = i * i % 5;
    five.emplace_back(i, 1000 * program + i / (program + 1));
  }
  EXPECT_LT(TakenOf(five), 40);
  std::vector<std::pair<double, std::int64_t>> late;  // lines without a time, by a look each second
  for (int i = 0; i < 60; ++i) late.emplace_back(i / 5, (i % 2 == 0 ? 20 : 0) + i / 2 + 1);
  EXPECT_LT(TakenOf(late), 15);
  std::vector<std::pair<double, std::int64_t>> blocks;  // two ranks, as their buffers empty
  for (int i = 0; i < 600; ++i) {
    const int block = i / 50;
    blocks.emplace_back(i, block / 2 * 50 + i % 50 + 1);
  }
  EXPECT_LT(TakenOf(blocks), 600);
}

TEST(LogFold, RestartsAreNotThoseOfSeveralPrograms) {
  std::vector<std::pair<double, std::int64_t>> alike;  // each goes on where the last but one was killed
  for (int start = 0; start < 20; ++start) {
    for (int step = 1; step < 100; ++step) alike.emplace_back(200 * start + step, 50 * start + step);
  }
  EXPECT_EQ(TakenOf(alike), static_cast<int>(alike.size()));
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<double, std::int64_t>> lines;
    double t = 0;
    const int save_every = 1 + static_cast<int>(random() % 100);
    const int every = 1 + static_cast<int>(random() % 10);
    const double step_s = 0.1 + random() % 100 / 10.;
    std::int64_t saved = 0;
    for (int start = 0; start < 30; ++start) {
      t += 30 + 4 * step_s * every;  // to start
      const std::int64_t until = saved + 1 + random() % (3 * save_every);
      for (std::int64_t step = saved + 1; step <= until; ++step) {
        t += step_s;
        if (step % every == 0 || step == saved + 1) lines.emplace_back(t, step);
      }
      saved = until / save_every * save_every;
    }
    EXPECT_EQ(TakenOf(lines), static_cast<int>(lines.size())) << round;
  }
}

TEST(LogFold, ALineThatBeginsTheProgramDoesEvenIfItGoesOnAtTheNextStep) {
  Fold fold;
  fold.Say(0, Fold::Event(Kind::kProgramBegin)).Done(10, 1).Done(12, 2);
  fold.Say(20, Fold::Event(Kind::kProgramBegin)).Done(30, 3).Done(32, 4);
  EXPECT_EQ(fold.End(32),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 2 done at 12",
                                      "attempt from 0 to 12 open", "step 3 at 28", "step 4 at 30",
                                      "step 4 done at 32", "attempt from 20 to 32 open"}));
}

TEST(LogFold, SavesOfRanksAreOne) {
  Fold fold;
  fold.Done(1, 1).Done(2, 2);
  for (const double t : {2.0, 2.1, 2.2}) fold.Say(t, Fold::Event(Kind::kSaveBegin, 2));
  for (const double t : {4.0, 4.1, 4.2}) fold.Say(t, Fold::Event(Kind::kSaveEnd, 2));
  EXPECT_EQ(fold.End(4.2), (std::vector<std::string>{"step 1 at 0", "step 2 at 1", "save 2 begins at 2",
                                                     "save 2 ends at 4.2", "step 2 done at 2",
                                                     "attempt from 0 to 4.2 open"}));
}

TEST(LogFold, ASaveWhoseEndIsNotToldIsOverWhenTheNextStepBegan) {
  LogEvent save = Fold::Event(Kind::kSaveBegin, 2);
  save.over_at_next_step = true;
  EXPECT_EQ(Fold().Done(10, 1).Done(11, 2).Say(11, save).Done(15, 3).Done(16, 4).End(16),
            (std::vector<std::string>{"step 1 at 9", "step 2 at 10", "save 2 begins at 11",
                                      "save 2 ends at 14", "step 3 at 11", "step 4 at 15",
                                      "step 4 done at 16", "attempt from 9 to 16 open"}));
}

TEST(LogFold, ASaveIsOverWhenTheLineOfItsStepFollowsIt) {
  LogEvent save = Fold::Event(Kind::kSaveBegin, 3);
  save.over_at_next_step = true;
  LogEvent late = Fold::Event(Kind::kStepEnd, 3);
  late.told_at_next_step = true;
  EXPECT_EQ(Fold().Done(10, 1).Done(11, 2).Say(12, save).Say(16, late).Done(17, 4).End(17),
            (std::vector<std::string>{"step 1 at 9", "step 2 at 10", "save 3 begins at 12",
                                      "save 3 ends at 16", "step 3 at 11", "step 4 at 12",
                                      "step 4 done at 17", "attempt from 9 to 17 open"}));
}

TEST(LogFold, ASaveBehindTheLoopIsNeverSaidToBeComplete) {
  LogEvent save = Fold::Event(Kind::kSaveBegin, 2);
  save.complete_is_untold = true;
  LogEvent staged = Fold::Event(Kind::kSaveEnd);
  staged.took_ns = kSecond;
  const std::vector<std::string> said =
      Fold().Done(10, 1).Done(11, 2).Say(11, save).Say(12, staged).Done(13, 3).End(13);
  for (const std::string& text : said) EXPECT_FALSE(absl::StartsWith(text, "save 2 ends")) << text;
}

TEST(LogFold, AnotherBarIsNotTheTrainings) {
  const auto bar = [](std::int64_t step, std::int64_t of) {
    LogEvent event = Fold::Event(Kind::kStepEnd, step);
    event.of = of;
    return event;
  };
  EXPECT_EQ(Fold()
                .Say(0, bar(0, 690))
                .Say(1, bar(1, 690))
                .Say(2, bar(2, 690))
                .Say(13, bar(1, 8))
                .Say(14, bar(2, 8))
                .Say(15, bar(3, 690))
                .End(15),
            (std::vector<std::string>{"step 1 at 0", "step 2 at 1", "step 3 at 2", "step 3 done at 15",
                                      "attempt from 0 to 15 open"}));
}

TEST(LogFold, ATotalThatIsExceededWasNotTheRuns) {
  LogEvent last = Fold::Event(Kind::kStepEnd, 2);
  last.of = 2;
  EXPECT_EQ(Fold().Done(1, 1).Say(2, last).End(3).back(), "attempt from 0 to 2 COMPLETED");
  EXPECT_EQ(Fold().Done(1, 1).Say(2, last).Done(3, 3).End(4).back(), "attempt from 0 to 3 open");
}

TEST(LogFold, ABarThatIsDrawnAgainFromZeroIsAnotherStart) {
  const auto bar = [](std::int64_t step, std::int64_t of = 3) {
    LogEvent event = Fold::Event(Kind::kStepEnd, step);
    event.of = of;
    return event;
  };
  Fold fold;
  fold.Say(0, bar(0)).Say(1, bar(1)).Say(2, bar(2)).Say(3, bar(3));
  fold.Say(50, bar(0)).Say(60, bar(1)).Say(61, bar(0, 8)).Say(70, bar(2)).Say(80, bar(3));
  EXPECT_EQ(fold.End(80), (std::vector<std::string>{"step 1 at 0", "step 2 at 1", "step 3 at 2",
                                                    "step 3 done at 3", "attempt from 0 to 3 COMPLETED",
                                                    "step 1 at 50", "step 2 at 60", "step 3 at 70",
                                                    "step 3 done at 80", "attempt from 50 to 80 COMPLETED"}));
}

// Lightning draws an epoch's bar at 0, and then jumps to the step at which it resumed.
TEST(LogFold, ABarThatIsResumedWithinAnEpochTellsOfNoStepBefore) {
  const std::vector<KnownProfile> profiles = LoadProfiles(kNoFolder);
  const auto lightning = std::find_if(profiles.begin(), profiles.end(),
                                      [](const auto& known) { return known.name == "lightning"; });
  ASSERT_NE(lightning, profiles.end());
  Fold fold;
  double t = 0;
  for (const char* line : {"Restoring states from the checkpoint path at c/epoch=1-step=80.ckpt",
                           "Restored all states from the checkpoint at c/epoch=1-step=80.ckpt",
                           "Epoch 1:   0%|          | 0/50 [00:00<?, ?it/s]",
                           "Epoch 1:  62%|######2   | 31/50 [00:01<00:19, 1.00it/s]",
                           "Epoch 1:  64%|######4   | 32/50 [00:02<00:18, 1.00it/s]"}) {
    const std::optional<LogEvent> event = lightning->profile->Match(line);
    ASSERT_TRUE(event) << line;
    fold.Say(t++, *event);
  }
  EXPECT_EQ(fold.End(4),
            (std::vector<std::string>{"restore 80 begins at 0", "restore 80 ends at 1", "step 81 at 2",
                                      "step 82 at 3", "step 82 done at 4", "attempt from 0 to 4 open"}));
}

TEST(LogFold, WhatWasDoneIsNotFollowedByAnotherStep) {
  Fold fold;
  fold.Done(10, 1).Done(12, 2).Say(12.5, Fold::Event(Kind::kProgramEnd));
  EXPECT_EQ(fold.End(20), (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 2 done at 12",
                                                    "attempt from 8 to 12.5 COMPLETED"}));
}

TEST(LogFold, SlurmsWordEndsAnAttempt) {
  Fold fold;
  LogEvent end = Fold::Event(Kind::kJobEnd);
  end.name = "PREEMPTED";
  fold.Done(10, 1).Done(12, 2).Say(12.2, Fold::Event(Kind::kStop)).Say(14, end).Done(60, 2).Done(62, 3);
  EXPECT_EQ(fold.End(62),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "stop at 12.2", "step 2 done at 12",
                                      "attempt from 8 to 14 PREEMPTED told at 12.2", "step 2 at 58",
                                      "step 3 at 60", "step 3 done at 62", "attempt from 58 to 62 open"}));
}

TEST(LogFold, WhatIsPrintedBehindSlurmsWordIsOfTheSameStart) {
  Fold fold;
  LogEvent end = Fold::Event(Kind::kJobEnd);
  end.name = "TIMEOUT";
  fold.Done(10, 1).Done(12, 2).Say(13, end).Done(14, 3).Say(14.5, end).Done(16, 4).Done(36, 5).Done(38, 6);
  EXPECT_EQ(fold.End(38), (std::vector<std::string>{
                              "step 1 at 8", "step 2 at 10", "stop at 13", "step 3 at 12", "step 4 at 14",
                              "step 4 done at 16", "attempt from 8 to 16 TIMEOUT", "step 5 at 34",
                              "step 6 at 36", "step 6 done at 38", "attempt from 34 to 38 open"}))
      << "20 s of silence are more than a program that was told to end needs";
}

TEST(LogFold, ASaveThatGoesOnNeitherHoldsTheLoopNorIsLost) {
  Fold fold;
  fold.Done(10, 1)
      .Done(12, 2)
      .Say(12, Fold::Event(Kind::kSaveBegin, 2))
      .Say(13, Fold::Event(Kind::kSaveGoesOn));
  fold.Done(15, 3).Say(15, Fold::Event(Kind::kSaveBegin, 3)).Say(16, Fold::Event(Kind::kSaveEnd, 2));
  fold.Say(17, Fold::Event(Kind::kSaveGoesOn)).Say(18, Fold::Event(Kind::kSaveEnd, 3));
  EXPECT_EQ(fold.End(20),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "save 2 begins at 12",
                                      "save 2 goes on at 13", "step 3 at 12", "save 3 begins at 15",
                                      "save 2 ends at 16", "save 3 goes on at 17", "save 3 ends at 18",
                                      "step 3 done at 15", "attempt from 8 to 18 open"}));
}

TEST(LogFold, AnotherRanksRestoreIsNoRestartAndALaterOneIs) {
  LogEvent restored = Fold::Event(Kind::kRestoreEnd, 1);
  EXPECT_EQ(Fold().Done(10, 1).Done(12, 2).Say(13, restored).Done(14, 3).End(14),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 3 at 12", "step 3 done at 14",
                                      "attempt from 8 to 14 open"}));
  EXPECT_EQ(Fold()
                .Done(10, 1)
                .Done(12, 2)
                .Say(20, Fold::Event(Kind::kRestoreBegin, 2))
                .Say(21, Fold::Event(Kind::kRestoreEnd, 2))
                .Done(23, 3)
                .Done(25, 4)
                .End(25),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 2 done at 12",
                                      "attempt from 8 to 12 open", "restore 2 begins at 20",
                                      "restore 2 ends at 21", "step 3 at 21", "step 4 at 23",
                                      "step 4 done at 25", "attempt from 20 to 25 open"}));
}

TEST(LogFold, ARestoreThatSaysHowLongItTookBeganThen) {
  LogEvent restored = Fold::Event(Kind::kRestoreEnd, 7);
  restored.took_ns = 3 * kSecond;
  EXPECT_EQ(Fold().Say(10, restored).End(10),
            (std::vector<std::string>{"restore 7 begins at 7", "restore 7 ends at 10",
                                      "attempt from 10 to 10 open"}));
}

TEST(LogFold, ASaveDoesNotEndBeforeItBegan) {
  EXPECT_EQ(Fold()
                .Say(0, Fold::Event(Kind::kProgramBegin))
                .Say(4, Fold::Event(Kind::kSaveBegin, 2))
                .Say(3.5, Fold::Event(Kind::kSaveEnd, 2))
                .End(5),
            (std::vector<std::string>{"save 2 begins at 4", "save 2 ends at 4", "attempt from 0 to 4 open"}))
      << "one of two files has whole seconds only";
}

TEST(LogFold, AStepThatSaysMoreThanThereWasBeganWithTheEndOfTheOneBefore) {
  EXPECT_EQ(Fold().Done(10, 1, 2).Done(12, 2, 5).End(12),
            (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "step 2 done at 12",
                                      "attempt from 8 to 12 open"}));
}

TEST(LogFold, AMomentBetweenStepsIsNoPause) {
  EXPECT_EQ(Fold().Done(10, 1, 0.5).Done(10.53, 2, 0.5).End(10.53),
            (std::vector<std::string>{"step 1 at 9.5", "step 2 at 10.03", "step 2 done at 10.53",
                                      "attempt from 9.5 to 10.53 open"}));
}

TEST(LogFold, SlurmsFirstMessageIsTheReason) {
  LogEvent first = Fold::Event(Kind::kJobEnd);
  first.name = "PREEMPTED";
  LogEvent second = Fold::Event(Kind::kJobEnd);
  second.name = "CANCELLED";
  EXPECT_EQ(Fold().Done(10, 1).Done(12, 2).Say(13, first).Say(14, second).End(14).back(),
            "attempt from 8 to 14 PREEMPTED told at 13");
}

TEST(LogFold, ASaveWhoseEndAloneIsPrintedIsOneAndCoversTheStepsBefore) {
  const LogEvent saved = Fold::Event(Kind::kSaveEnd, 2);
  EXPECT_EQ(
      Fold().Done(10, 1).Done(12, 2).Say(13, saved).Say(13.1, saved).End(14),
      (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "save 2 begins at 12", "save 2 ends at 13",
                                "step 2 done at 12", "attempt from 8 to 13.1 open"}))
      << "each rank prints it";
  const LogEvent untold = Fold::Event(Kind::kSaveEnd);
  Fold fold;
  fold.Done(10, 1).Done(12, 2).Say(13, untold).Say(13.1, untold).Done(15, 3).Say(16, untold);
  std::vector<std::string> said = fold.End(17);
  said.erase(std::remove_if(said.begin(), said.end(),
                            [](const std::string& text) { return text.find("save") == std::string::npos; }),
             said.end());
  EXPECT_EQ(said, (std::vector<std::string>{"save begins at 12", "save ends at 13", "save begins at 15",
                                            "save ends at 16"}))
      << "so with saves that do not tell their step";
}

TEST(LogFold, ASaveInTheBackgroundHeldTheLoopForAsLongAsItSays) {
  LogEvent save = Fold::Event(Kind::kSaveBegin, 2);
  save.over_at_next_step = true;
  save.took_ns = 3 * kSecond;
  EXPECT_EQ(
      Fold().Done(10, 1).Done(12, 2).Say(12, save).Say(13, Fold::Event(Kind::kSaveGoesOn)).End(20),
      (std::vector<std::string>{"step 1 at 8", "step 2 at 10", "save 2 begins at 12", "save 2 goes on at 15",
                                "step 2 done at 12", "attempt from 8 to 13 open"}));
}

TEST(LogFold, WhatWasPrintedLongBeforeIsOfNoStart) {
  Fold fold;
  EXPECT_TRUE(fold.fold().Heard(kSecond).ok());
  fold.Say(100, Fold::Event(Kind::kProgramBegin)).Done(110, 1).Done(112, 2);
  EXPECT_EQ(fold.End(112).back(), "attempt from 100 to 112 open");
  EXPECT_TRUE(fold.fold().Heard(195 * kSecond).ok());
  fold.Say(200, Fold::Event(Kind::kProgramBegin)).Done(210, 1).Done(212, 2);
  EXPECT_EQ(fold.End(212).back(), "attempt from 195 to 212 open");
}

// Steps of half a second, of which the log has whole seconds only, with a pause of 100 s after the tenth.
TEST(LogFold, WholeSecondsAreSpreadByThePaceSinceTheLastDelay) {
  Fold fold;
  for (int step = 1; step <= 24; ++step) {
    LogEvent done = Fold::Event(Kind::kStepEnd, step);
    const double at = std::floor((step > 10 ? 100 : 0) + 0.5 * step);
    EXPECT_TRUE(fold.fold().Take(done, std::llround(at * 1e9), std::nullopt, 100 * step, kSecond).ok());
  }
  const std::vector<std::string> said = fold.End(112);
  const auto begin = [&](int step) {
    const std::string words = absl::StrCat("step ", step, " at ");
    for (const std::string& text : said) {
      if (absl::StartsWith(text, words)) return std::stod(text.substr(words.size()));
    }
    return -1.0;
  };
  EXPECT_EQ(begin(12), 104) << "step 11 was done in the second before its line at most";
  for (int step = 19; step <= 24; ++step) EXPECT_NEAR(begin(step) - begin(step - 1), 0.5, 0.11) << step;
}

TEST(LogFold, GoesOnWhereAFollowerStopped) {
  Fold before;
  before.Done(10, 1).Done(12, 2);
  const std::optional<LogFold::Memory> memory = before.fold().memory();
  ASSERT_TRUE(memory);
  Fold after;
  after.fold().Remember(*memory);
  EXPECT_EQ(after.Done(14, 3).Done(16, 4).End(16),
            (std::vector<std::string>{"step 3 at 12", "step 4 at 14", "step 4 done at 16",
                                      "attempt from 12 to 16 open"}));
}

}  // namespace
}  // namespace goodput
