// Spans of OpenTelemetry: read from what the console exporter and the collector write, and turned into marks.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "sql/tables/imports.h"
#include "sql/tables/jobs.h"
#include "tests/spank/temp_folder.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/import_export/otel_import.h"
#include "tools/sources/otel/live_spans.h"
#include "tools/sources/otel/other_ranks.h"
#include "tools/sources/otel/span_fold.h"
#include "tools/sources/otel/span_survey.h"
#include "tools/sources/otel/span_text.h"

namespace goodput {
namespace {

// What a sink was told, a line each: "12.5 step 3", "13 checkpoint begin 3".
class Told final : public LogSink {
 public:
  absl::Status Step(Ns t, std::int64_t step, const Speaker& speaker, std::int64_t /*offset*/) override {
    return Add(t, absl::StrCat("step ", step), speaker);
  }
  absl::Status Mark(const LogMark& mark, const Speaker& speaker, std::int64_t offset) override {
    EXPECT_TRUE(offsets_.insert(offset).second) << offset << " is the offset of two marks";
    const char* kind = mark.kind == PackedMark::Kind::kCheckpoint ? "checkpoint"
                       : mark.kind == PackedMark::Kind::kRestore  ? "restore"
                       : mark.kind == PackedMark::Kind::kPhase    ? "phase"
                                                                  : "step";
    std::string text = absl::StrCat(kind, mark.begin ? " begin" : " end");
    if (!mark.name.empty()) text += absl::StrCat(" ", std::string(mark.name));
    if (mark.step) text += absl::StrCat(" ", *mark.step);
    if (speaker.task != 0) text += absl::StrCat(" (", speaker.task, ")");
    return Add(mark.t, text, speaker);
  }
  absl::Status World(const LogWorld& world, const Speaker& speaker, std::int64_t offset) override {
    EXPECT_TRUE(offsets_.insert(offset).second) << offset << " is the offset of two marks";
    return Add(world.t, absl::StrCat("world ", world.stepping, " of ", world.wanted), speaker);
  }
  absl::Status Srun(const LogSrun& /*srun*/, const Speaker& /*speaker*/, std::int64_t /*offset*/) override {
    return absl::InternalError("spans know no Slurm step");
  }
  absl::Status Attempt(const LogAttempt& attempt) override {
    attempts.push_back(absl::StrCat(InSeconds(attempt.begin - kRunBegan), "-",
                                    InSeconds(attempt.end - kRunBegan), attempt.ended ? " " : "",
                                    attempt.ended ? attempt.state : ""));
    return absl::OkStatus();
  }
  // By time, without marks of phases if `marks` is not "phase".
  std::string Lines(const std::string& without = "phase") const {
    std::vector<std::pair<Ns, std::string>> sorted = lines_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [t, line] : sorted) {
      if (!without.empty() && line.rfind(without, 0) == 0) continue;
      text += absl::StrCat(text.empty() ? "" : " | ", InSeconds(t - kRunBegan), " ", line);
    }
    return text;
  }

  std::vector<std::string> attempts;
  bool ranks = false;  // lines have the rank

 private:
  absl::Status Add(Ns t, std::string line, const Speaker& speaker) {
    if (ranks && speaker.rank) absl::StrAppend(&line, " [", *speaker.rank, "]");
    lines_.emplace_back(t, std::move(line));
    return absl::OkStatus();
  }
  std::vector<std::pair<Ns, std::string>> lines_;
  std::set<std::int64_t> offsets_;
};

// The spans of a process, by begin.
class Spans {
 public:
  Span& Add(const char* name, double start, double end) {
    Span span;
    const SpanName is = ReadSpanName(name);
    span.kind = is.kind;
    span.part = is.part;
    span.start = At(start);
    span.end = At(end);
    return spans_.emplace_back(std::move(span));
  }
  // Of step n + 1.
  Span& Iteration(std::int64_t n, double start, double end) {
    Span& span = Add("megatron.train.iteration", start, end);
    span.iteration = n;
    span.skipped = false;
    return span;
  }
  Span& Save(std::int64_t step, double start, double written, double end) {
    Add("megatron.checkpoint.exposed_save", start, end).iteration = step;
    Span& save = Add("megatron.checkpoint.save", start, written);
    save.iteration = step;
    return save;
  }
  Told Fold(bool tells_steps = true) {
    Told told;
    SpanFold fold(told);
    EXPECT_TRUE(fold.Begin(0, tells_steps).ok());
    FoldInto(fold);
    EXPECT_TRUE(fold.Finish().ok());
    return told;
  }
  void FoldInto(SpanFold& fold) {
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    for (const Span& span : spans_) EXPECT_TRUE(fold.Take(span, offset_ += 100).ok());
  }

 private:
  std::vector<Span> spans_;
  std::int64_t offset_ = 0;
};

TEST(SpanFold, AnIterationIsTheStepAfterIt) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Iteration(1, 11, 12);
  Told told = spans.Fold();
  EXPECT_EQ(told.Lines(), "10 step 1 | 11 step 2 | 12 step end may_be_more 2");
  EXPECT_EQ(told.attempts, std::vector<std::string>{"10-13"}) << "it may have lived for another step";
}

TEST(SpanFold, AnIterationThatWasCutOffHasNoEnd) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Iteration(1, 11, 11.3).skipped.reset();
  EXPECT_EQ(spans.Fold().Lines(), "10 step 1 | 11 step 2");
  Spans failed;
  failed.Iteration(0, 10, 11);
  failed.Iteration(1, 11, 11.3).error = true;
  EXPECT_EQ(failed.Fold().Lines(), "10 step 1 | 11 step 2");
}

TEST(SpanFold, ASkippedIterationIsNoProgress) {
  Spans spans;
  spans.Iteration(4, 10, 11);
  spans.Iteration(5, 11, 12).skipped = true;
  spans.Iteration(6, 12, 13);
  EXPECT_EQ(spans.Fold().Lines(""),
            "10 step 5 | 11 phase begin skipped_iteration | 12 phase end skipped_iteration | 12 step 7"
            " | 13 step end may_be_more 7");
}

TEST(SpanFold, TimeBetweenStepsThatIsNoticeable) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Iteration(1, 11.01, 12);
  spans.Iteration(2, 13, 14);
  EXPECT_EQ(spans.Fold().Lines("step"), "12 phase begin between_steps | 13 phase end between_steps");
}

TEST(SpanFold, ABlockingSaveIsCompleteOnceTheLoopWentOn) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Save(1, 11, 13, 14);
  spans.Iteration(1, 14, 15);
  spans.Save(2, 15, 17, 18);
  const Told told = spans.Fold();
  EXPECT_EQ(told.Lines(),
            "10 step 1 | 11 checkpoint begin 1 | 13 checkpoint end 1 | 14 step 2"
            " | 15 checkpoint begin 2 | 15 step end may_be_more 2 | 18 checkpoint end background 2")
      << "of the second, only that the loop was no longer in it";
  EXPECT_NE(told.Lines("step").find("13 phase begin checkpoint_save.skew_wait | 14 phase end"),
            std::string::npos)
      << told.Lines("");
}

TEST(SpanFold, ABlockingSaveIsCompleteIfTheRanksWaitedForEachOtherAfterIt) {
  Spans spans;
  spans.Save(2, 15, 17, 18);
  spans.Add("megatron.checkpoint.timers_log", 17, 17.5);
  EXPECT_EQ(spans.Fold().Lines(), "15 checkpoint begin 2 | 17 checkpoint end 2");
}

TEST(SpanFold, ASaveThatFailedIsNotComplete) {
  Spans spans;
  spans.Save(1, 11, 13, 14).error = true;
  spans.Iteration(1, 14, 15);
  EXPECT_EQ(spans.Fold().Lines(),
            "11 checkpoint begin 1 | 14 checkpoint end background 1"
            " | 14 step 2 | 15 step end may_be_more 2");
}

TEST(SpanFold, ASaveWithoutTheSpanAroundItIsNotCompleteAndDidNotLastUntilTheEnd) {
  Spans spans;
  spans.Add("megatron.checkpoint.save", 11, 13).iteration = 4;
  EXPECT_EQ(spans.Fold().Lines(), "11 checkpoint begin 4 | 13 checkpoint end background 4");
}

TEST(SpanFold, ASaveInTheBackgroundIsCompleteWhenItIsFinalized) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Save(1, 11, 11.2, 11.3);
  spans.Add("nvrx.checkpoint.save.request", 11.1, 11.1).call = 0;
  spans.Iteration(1, 11.3, 12.3);
  spans.Add("megatron.checkpoint.save.finalize", 12.3, 12.3);
  spans.Save(2, 12.3, 12.4, 12.5);
  spans.Add("nvrx.checkpoint.save.request", 12.3, 12.3).call = 1;
  spans.Iteration(2, 12.5, 13.5);
  spans.Add("megatron.checkpoint.save.finalize", 13.5, 13.6).calls = {0, 77};
  spans.Iteration(3, 13.6, 14.6);
  EXPECT_EQ(spans.Fold().Lines(),
            "10 step 1 | 11 checkpoint begin 1 | 11.3 checkpoint end background 1 | 11.3 step 2"
            " | 12.3 checkpoint begin 2 (1) | 12.5 checkpoint end background 2 (1) | 12.5 step 3"
            " | 13.6 checkpoint end 1 | 13.6 step 4 | 14.6 step end may_be_more 4")
      << "the second is still being written, in another lane";
}

TEST(SpanFold, AProgramThatLeavesTheLoopHasDoneWhatItTold) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Save(1, 11, 11.2, 11.3);
  spans.Add("nvrx.checkpoint.save.request", 11.1, 11.1).call = 3;
  spans.Add("megatron.checkpoint.exit_finalize", 12, 14).calls = {3};
  const Told told = spans.Fold();
  EXPECT_EQ(told.Lines(),
            "10 step 1 | 11 checkpoint begin 1 | 11 step end 1"
            " | 11.3 checkpoint end background 1 | 14 checkpoint end 1");
  EXPECT_EQ(told.attempts, std::vector<std::string>{"10-14 COMPLETED"});
}

TEST(SpanFold, WhatWasLoadedIsKnownFromTheNextStep) {
  Spans spans;
  spans.Add("megatron.checkpoint.load", 5, 8);
  spans.Add("megatron.startup.model_init", 4, 9);
  spans.Add("megatron.train.first_iteration", 10, 11).iteration = 40;
  spans.Iteration(40, 10, 11);
  EXPECT_EQ(
      spans.Fold().Lines(""),
      "4 phase begin model_init | 5 restore begin 40 | 8 restore end 40 | 9 phase end model_init | 10 step 41"
      " | 11 step end may_be_more 41");
  Spans fresh;
  fresh.Add("megatron.checkpoint.load", 5, 8);
  fresh.Iteration(0, 10, 11);
  EXPECT_EQ(fresh.Fold().Lines(), "5 restore begin | 8 restore end | 10 step 1 | 11 step end may_be_more 1");
}

TEST(SpanFold, WithoutSpansOfStepsThereAreSavesAndPhases) {
  Spans spans;
  spans.Add("megatron.train.first_iteration", 10, 12).iteration = 0;
  spans.Save(100, 110, 112, 113);
  spans.Add("megatron.evaluate", 120, 125);
  EXPECT_EQ(
      spans.Fold(false).Lines(""),
      "110 checkpoint begin steps_untold 100 | 112 checkpoint end 100 | 112 phase begin "
      "checkpoint_save.skew_wait"
      " | 113 phase end checkpoint_save.skew_wait | 120 phase begin evaluation | 125 phase end evaluation");
}

TEST(SpanFold, StepsThatGoBackInOneProcess) {
  Spans spans;
  spans.Iteration(0, 10, 11);
  spans.Iteration(1, 11, 12);
  spans.Iteration(1, 20, 21);
  EXPECT_EQ(spans.Fold().Lines(),
            "10 step 1 | 11 step 2 | 12 step end may_be_more 2 | 20 step 2 | 21 step end may_be_more 2");
}

// ---- which processes

SpanProcess Rank(std::int64_t job, std::int64_t restart, std::int64_t rank, std::int64_t pid) {
  SpanProcess process;
  process.job = job;
  process.restart = restart;
  process.rank = rank;
  process.identity = absl::StrCat(job, "/", restart, "/", rank, "/", pid);
  return process;
}

// A process that does not say its rank.
SpanProcess Named(std::int64_t pid) {
  SpanProcess process;
  process.identity = absl::StrCat(pid);
  return process;
}

Span StepAt(double start, double end) {
  Spans spans;
  return spans.Iteration(0, start, end);
}

TEST(SpanSurvey, TheLowestRankOfEachStartIsRead) {
  SpanSurvey survey;
  // The last rank is exported: after a node was lost, another number.
  survey.See(Rank(5, 0, 63, 1), StepAt(10, 20));
  survey.See(Rank(5, 0, 55, 2), StepAt(30, 40));
  // All ranks of a later attempt.
  for (std::int64_t rank = 7; rank >= 0; --rank)
    survey.See(Rank(5, 1, rank, 3), StepAt(50 - static_cast<double>(rank) / 10, 60));
  survey.Choose();
  ASSERT_EQ(survey.starts().size(), 3U);
  EXPECT_EQ(survey.starts()[0].rank, 63);
  EXPECT_EQ(survey.starts()[1].rank, 55);
  EXPECT_EQ(survey.starts()[2].rank, 0);
  EXPECT_EQ(survey.starts()[0].attempt, 0);
  EXPECT_EQ(survey.starts()[1].attempt, 0) << "started again within the allocation";
  EXPECT_EQ(survey.starts()[2].attempt, 1);
  EXPECT_EQ(survey.StartOf(Rank(5, 1, 3, 3), StepAt(50, 60)), std::nullopt);
  EXPECT_EQ(survey.StartOf(Rank(5, 1, 0, 3), StepAt(50, 60)), 2U);
}

TEST(SpanSurvey, ALaunchersSpansBelongToTheStartThatFollows) {
  SpanSurvey survey;
  SpanProcess launcher = Rank(5, 0, 0, 90);
  launcher.launcher = true;
  launcher.node = "n1";
  SpanProcess other = launcher;
  other.node = "n2";
  other.identity += "x";
  const Span rendezvous = [] {
    Spans spans;
    return spans.Add("nvrx.restart.rendezvous", 22, 25);
  }();
  survey.See(other, rendezvous);
  survey.See(launcher, rendezvous);
  survey.See(Rank(5, 0, 0, 1), StepAt(10, 20));
  survey.See(Rank(5, 0, 0, 2), StepAt(30, 40));
  survey.Choose();
  ASSERT_EQ(survey.starts().size(), 2U);
  EXPECT_EQ(survey.StartOf(launcher, rendezvous), 1U);
  EXPECT_EQ(survey.StartOf(other, rendezvous), std::nullopt) << "every node has a launcher";
}

TEST(SpanSurvey, AWriterOfCheckpointsIsNoRank) {
  SpanSurvey survey;
  SpanProcess writer = Rank(5, 0, 0, 9);
  writer.writer = true;
  survey.See(writer, StepAt(10, 20));
  survey.Choose();
  EXPECT_TRUE(survey.starts().empty());
}

TEST(SpanSurvey, TimeBeforeTheProcessDoesNotMakeTwoStartsOne) {
  SpanSurvey survey;
  survey.See(Rank(5, 0, 1, 1), StepAt(10, 20));
  Spans spans;
  survey.See(Rank(5, 0, 0, 2), spans.Add("megatron.startup.container_load", 12, 14));
  survey.See(Rank(5, 0, 0, 2), StepAt(30, 40));
  survey.Choose();
  EXPECT_EQ(survey.starts().size(), 2U);
}

// ---- while they arrive

TEST(LiveSpans, WhatLiesInASaveWaitsForTheSpanAroundIt) {
  Told told;
  LiveSpans live(told);
  Spans spans;
  const SpanProcess rank = Rank(5, 0, 3, 1);
  const auto take = [&](const Span& span) { EXPECT_TRUE(live.Take(rank, span).ok()); };
  take(spans.Iteration(0, 10, 11));
  // They end, and arrive, in this order.
  Span request;
  request.start = request.end = At(11.1);
  request.call = 7;
  take(request);
  EXPECT_TRUE(live.Tell().ok());
  Span save = spans.Add("megatron.checkpoint.save", 11, 11.2);
  save.iteration = 1;
  take(save);
  EXPECT_TRUE(live.Tell().ok());
  EXPECT_EQ(told.Lines(), "10 step 1 | 11 step end may_be_more 1") << "a step does not wait";
  Span around = spans.Add("megatron.checkpoint.exposed_save", 11, 11.3);
  around.iteration = 1;
  take(around);
  take(spans.Iteration(1, 11.3, 12.3));
  EXPECT_TRUE(live.Tell().ok());
  EXPECT_EQ(told.Lines(),
            "10 step 1 | 11 step end may_be_more 1 | 11 checkpoint begin 1 | 11.3 checkpoint end background 1"
            " | 11.3 step 2 | 12.3 step end may_be_more 2");
}

TEST(LiveSpans, OneRankIsReadUntilAnotherStartFollows) {
  Told told;
  LiveSpans live(told);
  const auto take = [&](const SpanProcess& process, std::int64_t n, double start, double end) {
    Spans spans;
    EXPECT_TRUE(live.Take(process, spans.Iteration(n, start, end)).ok());
    EXPECT_TRUE(live.Tell().ok());
  };
  const SpanProcess first[] = {Named(10), Named(11)};
  const SpanProcess second[] = {Named(20), Named(21)};
  take(first[1], 0, 10, 11);
  take(first[0], 0, 10, 11);
  take(first[0], 1, 11, 12);
  take(first[1], 1, 11, 12);
  // torchrun starts them again.
  take(second[0], 1, 25, 26);
  take(second[1], 1, 25, 26);
  take(second[0], 2, 26, 27);
  EXPECT_TRUE(live.Finish().ok());
  EXPECT_EQ(told.Lines(),
            "10 step 1 | 11 step end may_be_more 1 | 11 step 2 | 12 step end may_be_more 2 | 12 step end "
            "may_be_more 2"
            " | 25 step 2 | 26 step end may_be_more 2 | 26 step 3 | 27 step end may_be_more 3 | 27 step end "
            "may_be_more 3")
      << "their ranks are not known";
}

// "25 world 6 of 8", as a job with so many GPUs tells whose starts have these numbers of ranks.
std::string Worlds(std::optional<std::int64_t> gpus, const std::vector<std::int64_t>& worlds) {
  Told told;
  LiveSpans live(told, gpus);
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    Spans spans;
    const double begin = 10 + 100 * static_cast<double>(i);
    for (const std::int64_t pid : {1, 2}) {
      SpanProcess process = Named(static_cast<std::int64_t>(100 * i) + pid);
      process.world = worlds[i];
      EXPECT_TRUE(live.Take(process, spans.Iteration(0, begin, begin + 1)).ok());
    }
    EXPECT_TRUE(live.Tell().ok());
  }
  EXPECT_TRUE(live.Finish().ok());
  std::string text = told.Lines("");
  std::string said;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, " | "))) {
    if (absl::StrContains(line, " world ")) said += (said.empty() ? "" : " | ") + line;
  }
  return said;
}

TEST(LiveSpans, AStartWithFewerRanksTrainsWithFewerGpus) {
  EXPECT_EQ(Worlds(8, {8, 6, 6, 8}), "110 world 6 of 8 | 310 world 8 of 8");
  EXPECT_EQ(Worlds(8, {8, 8}), "") << "as without it";
  EXPECT_EQ(Worlds(8, {4, 4, 2}), "") << "the other GPUs may be another program's, or a rank has two";
  EXPECT_EQ(Worlds(8, {16, 12}), "") << "two ranks share a GPU";
  EXPECT_EQ(Worlds(std::nullopt, {8, 6}), "");
}

TEST(LiveSpans, OfOtherRanksStepsAreTold) {
  Told told;
  told.ranks = true;
  LiveSpans live(told);
  const auto take = [&](const SpanProcess& process, std::int64_t n, double start, double end) {
    Spans spans;
    EXPECT_TRUE(live.Take(process, spans.Iteration(n, start, end)).ok());
    EXPECT_TRUE(live.Tell().ok());
  };
  take(Rank(5, 0, 1, 11), 0, 10, 11);
  take(Rank(5, 0, 0, 10), 0, 10.5, 11);
  SpanProcess writer = Rank(5, 0, 7, 12);
  writer.writer = true;
  take(writer, 0, 10, 11);
  Spans spans;
  Span save = spans.Save(1, 11, 11.5, 11.6);
  EXPECT_TRUE(live.Take(Rank(5, 0, 0, 10), save).ok());
  Span skipped = spans.Iteration(1, 11, 12);
  skipped.skipped = true;
  EXPECT_TRUE(live.Take(Rank(5, 0, 0, 10), skipped).ok());
  // Another start, of which rank 0 is heard of first.
  take(Rank(5, 0, 0, 20), 1, 15, 16);
  take(Rank(5, 0, 1, 21), 1, 15, 16.5);
  EXPECT_TRUE(live.Finish().ok());
  EXPECT_EQ(
      told.Lines(),
      "10 step 1 [1] | 10.5 step 1 [0] | 11 step end may_be_more 1 [1] | 11 step end may_be_more 1 [0] | "
      "11 step end may_be_more 1 [1] | 15 step 2 [0] | 15 step 2 [1] | 16 step end may_be_more 2 [0] | "
      "16.5 step end may_be_more 2 [1] | 16.5 step end may_be_more 2 [1]");
}

TEST(OtherRanks, ManyMarksAreMadeFewerForAllRanksAlike) {
  constexpr int kSteps = 4000;
  constexpr int kRanks = 15;
  Told told;
  OtherRanks ranks(told);
  Spans spans;
  for (int n = 0; n < kSteps; ++n) {
    for (int rank = 1; rank <= kRanks; ++rank)
      EXPECT_TRUE(
          ranks.Take(rank, spans.Iteration(n, 0.1 * n, 0.1 * n + 0.1), 0, (n * kRanks + rank) * 100).ok());
  }
  // 150 steps a second, of which every fourth is told.
  std::map<std::int64_t, int> begins;
  int ends = 0;
  for (const absl::string_view line : absl::StrSplit(told.Lines(), " | ")) {
    std::int64_t step = 0;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[2] == "end") {
      ++ends;
    } else if (absl::SimpleAtoi(words[2], &step)) {
      ++begins[step];
    }
  }
  EXPECT_LT(begins.size(), kSteps / 4 + 10U);
  EXPECT_GT(begins.size(), kSteps / 4 - 10U);
  EXPECT_EQ(begins[400], kRanks);
  EXPECT_EQ(begins.count(401), 0U);
  EXPECT_LT(ends, 1024 + kSteps / 4 / 16 * kRanks + kRanks);
}

// ---- texts

std::string Iso(double s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixNanos(At(s)), absl::UTCTimeZone());
}

std::string Console(const std::string& name, double start, double end, const std::string& attributes,
                    const std::string& resource = R"("dl.rank": 0, "slurm.job.id": "7", "process.pid": 1)") {
  return absl::StrCat(R"({"name": ")", name,
                      R"(", "context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": null)",
                      R"(, "start_time": ")", Iso(start), R"(", "end_time": ")", Iso(end),
                      R"(", "status": {"status_code": "UNSET"}, "attributes": {)", attributes,
                      R"(}, "resource": {"attributes": {)", resource, "}}}\n");
}

std::string ConsoleStep(
    std::int64_t n, double start, double end,
    const std::string& resource = R"("dl.rank": 0, "slurm.job.id": "7", "process.pid": 1)") {
  return Console("megatron.train.iteration", start, end,
                 absl::StrCat(R"("megatron.iteration": )", n, R"(, "megatron.skipped": false)"), resource);
}

std::string OtlpStep(std::int64_t n, double start, double end) {
  return absl::StrCat(R"({"name":"megatron.train.iteration","startTimeUnixNano":")", At(start),
                      R"(","endTimeUnixNano":")", At(end),
                      R"(","attributes":[{"key":"megatron.iteration","value":{"intValue":")", n,
                      R"("}},{"key":"megatron.skipped","value":{"boolValue":false}}],"status":{}})");
}

std::string Otlp(const std::string& spans, int rank = 0) {
  return absl::StrCat(R"({"resourceSpans":[{"scopeSpans":[{"spans":[)", spans,
                      R"(]}],"resource":{"attributes":[{"key":"dl.rank","value":{"intValue":")", rank,
                      R"("}},{"key":"slurm.job.id","value":{"stringValue":"7"}}]}}]})", "\n");
}

std::vector<std::pair<SpanProcess, Span>> Parse(std::string text) {
  std::vector<std::pair<SpanProcess, Span>> spans;
  const std::size_t size = text.size();
  text.append(SpanParser::kPadding, '}');
  SpanParser parser;
  const auto count = parser.Parse(std::string_view(text).substr(0, size),
                                  [&](const SpanProcess& process, const Span& span, std::int64_t index) {
                                    EXPECT_EQ(index, static_cast<std::int64_t>(spans.size()));
                                    spans.emplace_back(process, span);
                                  });
  EXPECT_TRUE(count.ok()) << count.status();
  return spans;
}

TEST(SpanParser, ALineOfTheConsoleExporter) {
  const auto spans = Parse(Console("megatron.checkpoint.save.finalize", 1, 2.5, R"("nvrx.call_idx": [3, 4])",
                                   R"("dl.rank": 3, "slurm.job.id": "12", "slurm.restart_count": 1,
                                      "service.instance.id": "run-ckptworker-0")"));
  ASSERT_EQ(spans.size(), 1U);
  const auto& [process, span] = spans.front();
  EXPECT_EQ(span.kind, Span::Kind::kFinalize);
  EXPECT_EQ(span.calls, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(span.start, At(1));
  EXPECT_EQ(span.end, At(2.5));
  EXPECT_EQ(process.job, 12);
  EXPECT_EQ(process.restart, 1);
  EXPECT_EQ(process.rank, 3);
  EXPECT_TRUE(process.writer);
}

TEST(SpanParser, ABatchOfTheCollector) {
  const auto spans = Parse(Otlp(OtlpStep(8, 1, 2) + "," + OtlpStep(9, 2, 3)));
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].second.iteration, 9);
  EXPECT_EQ(spans[1].second.skipped, false);
  EXPECT_EQ(spans[1].second.start, At(2));
  EXPECT_EQ(spans[1].first.job, 7) << "although the resource comes after its spans";
  EXPECT_FALSE(spans[1].second.error);
  EXPECT_TRUE(
      Parse(
          R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x","startTimeUnixNano":"1700000000000000000",
    "endTimeUnixNano":"1700000000000000001","status":{"code":2}}]}]}]})")
          .front()
          .second.error);
}

TEST(SpanParser, OtherRecordsHaveNoSpans) {
  EXPECT_TRUE(Parse(R"({"resource_metrics": [{"scope_metrics": []}]})").empty());
  EXPECT_TRUE(Parse(R"({"resourceLogs": [{}]})").empty());
  EXPECT_TRUE(Parse("{}").empty());
}

TEST(SpanParser, SpansWithoutTimesAreBad) {
  SpanParser parser;
  for (std::string text : {Console("", 1, 2, ""), Console("x", 2, 1, ""), Console("x", -1.8e9, 2, "")}) {
    const std::size_t size = text.size();
    text.append(SpanParser::kPadding, ' ');
    const auto count = parser.Parse(std::string_view(text).substr(0, size),
                                    [](const SpanProcess&, const Span&, std::int64_t) { FAIL(); });
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(count->bad, 1) << text;
  }
}

// ---- files

class OtelImport : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  absl::StatusOr<FileImportReport> Import(const std::vector<std::string>& paths,
                                          const std::string& run = "r") {
    auto input = Input::OpenAll(paths);
    if (!input.ok()) return input.status();
    FileImportOptions options;
    options.run = run;
    options.user = "ada";
    return ImportSpans(db_, *input, options);
  }
  std::string Story() {
    const auto jobs = KnownJobs(db_);
    EXPECT_TRUE(jobs.ok());
    const auto run = LoadRun(db_, *jobs, At(5'000'000));
    EXPECT_TRUE(run.ok()) << run.status();
    const Timeline timeline = BuildTimeline(run->facts);
    std::string story;
    for (const Interval& interval : timeline.intervals) {
      story += absl::StrCat(story.empty() ? "" : " | ", std::string(BucketName(interval.bucket)), " ",
                            InSeconds(interval.begin - kRunBegan), "-", InSeconds(interval.end - kRunBegan));
    }
    return story;
  }
  static std::string Gzip(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string packed(text.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
  }

  TempFolder folder_;
  Database db_ = *Database::Open(folder_.path() + "/db", Database::Mode::kReadWrite);
};

std::string Steps(std::int64_t first, std::int64_t count, double from) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i)
    text += ConsoleStep(first + i, from + static_cast<double>(i), from + static_cast<double>(i) + 1);
  return text;
}

TEST_F(OtelImport, LinesBetweenOtherOutput) {
  std::string text = "starting\n{'loss': 3}\n" + Steps(0, 5, 10) + "{\"resource_metrics\": []}\n";
  text += ConsoleStep(5, 15, 16).substr(0, 90);  // torn
  const auto report = Import({Write("a.out", text)});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 5);
  EXPECT_EQ(report->attempts, 1);
  EXPECT_EQ(report->bad, 0) << "a torn line without its time is not told from other text";
  EXPECT_EQ(Story(), "at_risk 10-16");
}

TEST_F(OtelImport, AnyOrderGivesTheSame) {
  std::vector<std::string> lines;
  for (std::int64_t n = 0; n < 30; ++n) lines.push_back(ConsoleStep(n, 10.0 + n, 11.0 + n));
  lines.push_back(Console("megatron.checkpoint.exposed_save", 40, 43, R"("megatron.iteration": 30)"));
  lines.push_back(Console("megatron.checkpoint.save", 40, 42, R"("megatron.iteration": 30)"));
  lines.push_back(ConsoleStep(30, 43, 44));
  std::string sorted;
  for (const std::string& line : lines) sorted += line;
  ASSERT_TRUE(Import({Write("a", sorted)}).ok());
  const std::string story = Story();
  EXPECT_NE(story.find("checkpoint_save 40-42 | checkpoint_save 42-43"), std::string::npos) << story;
  std::mt19937 random(1);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(lines.begin(), lines.end(), random);
    std::string shuffled;
    for (const std::string& line : lines) shuffled += line;
    ASSERT_TRUE(Import({Write("a", shuffled)}).ok());
    EXPECT_EQ(Story(), story);
  }
}

TEST_F(OtelImport, SpansOfOneTimeAreNestedWhateverTheirOrder) {
  const std::string facts = R"("megatron.iteration": 5)";
  std::string text = Steps(0, 5, 10);
  text += Console("nvrx.checkpoint.save.request", 15, 15.5, R"("nvrx.call_idx": 0)");
  text += Console("megatron.checkpoint.save", 15, 15.5, facts);
  text += Console("megatron.checkpoint.exposed_save", 15, 15.5, facts);
  text += Console("megatron.checkpoint.save.finalize", 17.5, 17.5, R"("nvrx.call_idx": [0])");
  text += ConsoleStep(5, 15.5, 17.5) + ConsoleStep(6, 17.5, 19.5);
  ASSERT_TRUE(Import({Write("a", text)}).ok());
  const Timeline timeline = BuildTimeline(LoadRun(db_, *KnownJobs(db_), At(5'000'000))->facts);
  ASSERT_EQ(timeline.checkpoints.size(), 1U);
  EXPECT_EQ(timeline.checkpoints[0].complete, At(17.5)) << "it went on in the background";
}

TEST_F(OtelImport, RotatedArchivesAreOne) {
  const std::string first = Write("a.jsonl.gz", Gzip(Otlp(OtlpStep(0, 10, 11) + "," + OtlpStep(1, 11, 12))));
  const std::string second = Write("b.jsonl", Otlp(OtlpStep(2, 12, 13)) + Otlp(OtlpStep(2, 12.1, 13), 1));
  const auto report = Import({first, second});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 3) << "of rank 0";
  EXPECT_EQ(Story(), "at_risk 10-14");
}

TEST_F(OtelImport, RanksThatOthersWaitFor) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    // Ranks begin steps of 10 s at the same time, but rank 2 is 3 s late; all end them together.
    std::string steps;
    for (int n = 0; n < 20; ++n)
      absl::StrAppend(&steps, n > 0 ? "," : "",
                      OtlpStep(n, 10 * n + 10 + (rank == 2 ? 3 : 0), 10 * n + 19.9));
    text += Otlp(steps, rank);
  }
  const auto report = Import({Write("a.jsonl", text)});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_NE(report->note.find("1 of 4, and of other ranks only when they began steps"), std::string::npos)
      << report->note;
  const auto run = LoadRun(db_, *KnownJobs(db_), At(5'000'000));
  ASSERT_TRUE(run.ok());
  Timeline timeline = BuildTimeline(run->facts);
  EXPECT_FALSE(timeline.rank_wait) << "no step is known to be kept";
  RunFacts facts = run->facts;
  facts.attempts[0].state = "COMPLETED";
  facts.attempts[0].exit_code = 0;
  facts.attempts[0].end = facts.attempts[0].end.value_or(At(211));
  timeline = BuildTimeline(facts);
  ASSERT_TRUE(timeline.rank_wait) << timeline.rank_wait_why;
  EXPECT_EQ(timeline.rank_wait->ranks, 4U);
  EXPECT_EQ(timeline.rank_wait->measured.size(), 19U);
  EXPECT_TRUE(timeline.rank_wait->doubts.empty()) << "the ends agree";
  ASSERT_EQ(timeline.rank_wait->late.size(), 1U);
  EXPECT_EQ(timeline.rank_wait->late[0].task.second, 2);
  EXPECT_EQ(timeline.rank_wait->late[0].wait, 19 * 3 * kSecond * 3 / 4);
  EXPECT_EQ(timeline.rank_wait->longest(), 3 * kSecond);
}

TEST_F(OtelImport, AnArchiveThatWasCutOffGivesWhatItHas) {
  std::string packed = Gzip(Steps(0, 200, 10));
  packed.resize(packed.size() - 8);
  const auto report = Import({Write("a.gz", packed)});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 200) << "only the trailer is missing";
}

TEST_F(OtelImport, AnObjectOverSeveralLinesThatWasCutOffEndsAtTheNext) {
  const auto indented = [](std::string line) {
    line.replace(0, 1, "{\n    ");
    line.replace(line.size() - 2, 1, "\n}");
    return line;
  };
  const std::string torn = indented(ConsoleStep(0, 10, 11));
  const auto report = Import({Write("a", torn.substr(0, 150) + "\n" + indented(ConsoleStep(1, 11, 12)) +
                                             indented(ConsoleStep(2, 12, 13)))});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->entries, 2);
  EXPECT_EQ(report->bad, 1);
}

TEST_F(OtelImport, WhatCannotBeImportedIsSaidInOneLine) {
  const auto refused = [&](const std::string& content, const std::string& run = "r") {
    return std::string(Import({Write("a", content)}, run).status().message());
  };
  EXPECT_NE(refused("").find("empty"), std::string::npos);
  EXPECT_NE(refused("hello\n").find("contains no spans of OpenTelemetry"), std::string::npos);
  EXPECT_NE(refused(Console("GET /", 1, 2, "")).find("none of its 1 spans is of training"),
            std::string::npos);
  EXPECT_NE(refused(Steps(0, 2, 1), "").find("with -j 7"), std::string::npos);
  EXPECT_NE(
      refused(Steps(0, 2, 1) + ConsoleStep(0, 9, 10, R"("slurm.job.id": 8)"), "").find("several jobs (7, 8)"),
      std::string::npos);
  EXPECT_NE(refused("\x28\xb5\x2f\xfd....").find("unpack it with zstd -d"), std::string::npos);
  EXPECT_NE(refused("\x1f\x8b nonsense").find("not gzip, or damaged"), std::string::npos);
}

}  // namespace
}  // namespace goodput
