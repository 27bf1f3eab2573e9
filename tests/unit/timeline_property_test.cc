// Properties of any run, however contradictory its records are: thousands of random runs, each from a seed
// that a failure prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/any_run.h"
#include "tests/unit/run_builder.h"
#include "tools/accounting/timeline/clip.h"
#include "tools/accounting/timeline/exclude.h"

namespace goodput {
namespace {

// The whole timeline as text.
std::string Everything(const Timeline& timeline) {
  std::ostringstream out;
  const auto maybe = [&](const auto& value) {
    if (value) {
      out << ' ' << *value;
    } else {
      out << " -";
    }
  };
  out << timeline.begin << ' ' << timeline.end << ' ' << timeline.running << '\n';
  for (const Interval& i : timeline.intervals) {
    out << i.begin << ' ' << i.end << ' ' << BucketName(i.bucket) << ' ' << i.part << ' '
        << EvidenceName(i.evidence) << ' ' << i.attempt << ' ' << i.from.source << ':' << i.from.offset << ' '
        << i.to.source << ':' << i.to.offset << ' ' << i.why << '\n';
  }
  for (const Incarnation& i : timeline.incarnations) {
    out << "incarnation " << i.attempt << ' ' << i.slurm_step << ' ' << i.begin << ' ' << i.end << ' '
        << i.ended;
    maybe(i.first_step), maybe(i.last_step), maybe(i.kept_step), maybe(i.first_step_begin),
        maybe(i.last_progress);
    maybe(i.restored_step), maybe(i.exit_code), maybe(i.exit_signal);
    out << '\n';
  }
  for (const Checkpoint& c : timeline.checkpoints) {
    out << "checkpoint " << c.incarnation << ' ' << c.begin << ' ' << c.ref.source << ':' << c.ref.offset
        << ' ' << EvidenceName(c.evidence);
    maybe(c.step), maybe(c.complete);
    out << '\n';
  }
  for (const Interruption& i : timeline.interruptions) {
    out << "interruption " << i.attempt << ' ' << i.time << ' ' << i.cause << ' ' << i.planned;
    maybe(i.t_ch), maybe(i.t_detect), maybe(i.t_re), maybe(i.t_rm);
    for (const std::string& evidence : i.evidence) out << ';' << evidence;
    out << '\n';
  }
  for (const SignalDelivery& d : timeline.signals.deliveries) {
    out << "signal " << d.attempt << ' ' << d.t << ' ' << d.signo << ' ' << d.sender << ' ' << d.processes
        << ' ' << static_cast<int>(d.outcome) << ' ' << d.repeats << ' ' << d.tasks_handled;
    maybe(d.checkpoint_begin), maybe(d.checkpoint_complete), maybe(d.exit), maybe(d.grace);
    out << '\n';
  }
  out << timeline.signals.summary << '\n';
  const StepCounts& s = timeline.steps;
  out << "steps " << s.executed << ' ' << s.kept << ' ' << s.lost << ' ' << s.at_risk << ' '
      << s.first_step_excess;
  maybe(s.median);
  return out.str();
}

void ExpectFraction(const std::optional<double>& x, const char* what) {
  if (!x) return;
  EXPECT_GE(*x, 0) << what;
  EXPECT_LE(*x, 1 + 1e-9) << what;
}

void ExpectPartition(const Timeline& timeline) {
  Ns at = timeline.begin;
  for (const Interval& interval : timeline.intervals) {
    ASSERT_EQ(interval.begin, at) << "a hole or an overlap";
    ASSERT_LT(interval.begin, interval.end);
    at = interval.end;
    ASSERT_GE(interval.attempt, -1);
    ASSERT_LT(interval.attempt, static_cast<int>(timeline.attempts.size()));
    EXPECT_FALSE(interval.bucket == Bucket::kLostWork && interval.why.empty()) << "lost work must say why";
    const Side side = BucketSide(interval.bucket);
    const bool allocated = side == Side::kRuntime || side == Side::kProductive || side == Side::kOpen;
    if (!allocated) continue;
    ASSERT_GE(interval.attempt, 0);
    const AttemptFacts& attempt = *timeline.attempts[static_cast<std::size_t>(interval.attempt)].facts;
    ASSERT_TRUE(attempt.start);
    EXPECT_GE(interval.begin, *attempt.start);
    EXPECT_LE(interval.end, attempt.end.value_or(timeline.end));
  }
  ASSERT_EQ(at, timeline.end) << "the buckets are the whole time";
}

void ExpectSteps(const Timeline& timeline) {
  const StepCounts& steps = timeline.steps;
  EXPECT_EQ(steps.executed, steps.kept + steps.lost + steps.at_risk);
  std::vector<std::tuple<int, std::int64_t, std::int64_t>> kept;  // training, first and last step
  std::int64_t sum = 0;
  for (const Incarnation& incarnation : timeline.incarnations) {
    EXPECT_LE(incarnation.begin, incarnation.end);
    if (!incarnation.kept_step) continue;
    ASSERT_TRUE(incarnation.first_step);
    ASSERT_GE(*incarnation.kept_step, *incarnation.first_step);
    kept.emplace_back(incarnation.training, *incarnation.first_step, *incarnation.kept_step);
    sum += *incarnation.kept_step - *incarnation.first_step + 1;
  }
  EXPECT_EQ(sum, steps.kept) << "kept steps are those from an incarnation's first to its last kept one";
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 1; i < kept.size(); ++i) {
    const auto& [before, first_before, last_before] = kept[i - 1];
    const auto& [training, first, last] = kept[i];
    EXPECT_TRUE(training > before || first > last_before) << "a step number kept twice";
  }
}

void ExpectAccount(const Timeline& timeline) {
  const Account account = TakeAccount(timeline);
  Ns sum = 0;
  for (const BucketTotal& total : account.buckets) {
    sum += total.ns;
    Ns parts = 0;
    for (const BucketTotal& part : total.parts) parts += part.ns;
    EXPECT_LE(parts, total.ns);
  }
  EXPECT_EQ(sum, timeline.end - timeline.begin);
  const Goodput& goodput = account.goodput;
  ExpectFraction(goodput.scheduling, "scheduling");
  ExpectFraction(goodput.runtime, "runtime");
  ExpectFraction(goodput.sg_rg, "sg_rg");
  ExpectFraction(goodput.scheduling_after_start, "scheduling_after_start");
  if (goodput.scheduling && goodput.runtime) {
    EXPECT_NEAR(*goodput.scheduling * *goodput.runtime, goodput.sg_rg.value_or(-1), 1e-9);
  }
  for (const auto& range : {goodput.scheduling_range, goodput.runtime_range}) {
    if (!range) continue;
    ExpectFraction(range->first, "range");
    ExpectFraction(range->second, "range");
    EXPECT_LE(range->first, range->second);
  }
  const Definitions& definitions = account.definitions;
  for (const auto& x : {definitions.rg, definitions.google_api, definitions.google_interval,
                        definitions.nvcre, definitions.ettr, definitions.ettr_1h, definitions.lens,
                        definitions.lens_scheduling, definitions.lens_runtime}) {
    ExpectFraction(x, "definition");
  }
  if (definitions.lens_app) {
    EXPECT_NEAR(*definitions.lens_scheduling * *definitions.lens_runtime * *definitions.lens_app,
                *definitions.lens, 1e-9);
  }
  if (account.lens) {
    const Lens& lens = *account.lens;
    EXPECT_EQ(lens.total, lens.scheduling +
                              (lens.total - lens.scheduling - lens.productive - lens.other_app) +
                              lens.productive + lens.other_app);
    EXPECT_LE(lens.productive + lens.other_app, lens.total - lens.scheduling);
    EXPECT_LE(lens.best, lens.p05);
    EXPECT_GE(lens.slower(), 0);
  }
}

void ExpectInterruptions(const Timeline& timeline) {
  for (const Interruption& interruption : timeline.interruptions) {
    EXPECT_FALSE(interruption.cause.empty());
    EXPECT_FALSE(interruption.evidence.empty() && interruption.cause != "unknown");
    for (const auto& t : {interruption.t_ch, interruption.t_detect, interruption.t_re, interruption.t_rm}) {
      EXPECT_GE(t.value_or(0), 0);
    }
  }
}

void ExpectSound(const Timeline& timeline) {
  ExpectPartition(timeline);
  ExpectSteps(timeline);
  ExpectAccount(timeline);
  ExpectInterruptions(timeline);
}

template <typename T>
void Disturb(std::vector<T>& facts, Chance& chance) {
  const std::size_t count = facts.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (chance.OneIn(3)) facts.push_back(T(facts[i]));
  }
  chance.Shuffle(facts);
}

class AnyRunProperty : public testing::TestWithParam<bool> {};

TEST_P(AnyRunProperty, IsAPartitionWhoseCountsAddUp) {
  for (std::uint64_t seed = 1; seed <= Cases(1000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunFacts facts = AnyRun(seed, GetParam()).Take();
    ExpectSound(BuildTimeline(facts));
    if (HasFailure()) return;
  }
}

TEST_P(AnyRunProperty, DoesNotDependOnTheOrderOfFactsOrOnDuplicates) {
  for (std::uint64_t seed = 1; seed <= Cases(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunFacts facts = AnyRun(seed, GetParam()).Take();
    RunFacts disturbed = facts;
    Chance chance(seed * 7919);
    for (AttemptFacts& attempt : disturbed.attempts) {
      Disturb(attempt.node_events, chance);
      Disturb(attempt.step_marks, chance);
      Disturb(attempt.marks, chance);
      Disturb(attempt.pending, chance);
      Disturb(attempt.suspended, chance);
      Disturb(attempt.signals, chance);
      Disturb(attempt.checkpoint_files, chance);
      Disturb(attempt.last_seen, chance);
    }
    Disturb(disturbed.attempts, chance);
    EXPECT_EQ(Everything(BuildTimeline(facts)), Everything(BuildTimeline(disturbed)));
    if (HasFailure()) return;
  }
}

TEST_P(AnyRunProperty, AnotherCompleteCheckpointNeverLosesMore) {
  for (std::uint64_t seed = 1; seed <= Cases(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RunFacts facts = AnyRun(seed, GetParam()).Take();
    const Timeline before = BuildTimeline(facts);
    Chance chance(seed * 104729);
    AttemptFacts& attempt = facts.attempts[static_cast<std::size_t>(
        chance.Pick(0, static_cast<std::int64_t>(facts.attempts.size()) - 1))];
    if (attempt.step_marks.empty()) continue;
    // In a program that marked a step before: otherwise the mark would prove that the program lived, which
    // changes more.
    const StepMark& step = chance.Of(attempt.step_marks);
    if (step.t <= 0 || step.t > kMax / 4) continue;
    Mark mark;
    mark.t = step.t + chance.Pick(0, 5 * kSecond);
    mark.kind = Mark::Kind::kCheckpoint;
    mark.slurm_step = step.slurm_step;
    mark.task = 99;
    mark.ref = {0, 1'000'000};
    attempt.marks.push_back(mark);
    mark.begin = false;
    mark.ref.offset += 10;
    attempt.marks.push_back(mark);
    const Timeline after = BuildTimeline(facts);
    ExpectSound(after);
    const auto lost = [](const Timeline& timeline) {
      return TakeAccount(timeline).buckets[static_cast<std::size_t>(Bucket::kLostWork)].ns;
    };
    EXPECT_LE(after.steps.lost, before.steps.lost);
    EXPECT_LE(lost(after), lost(before));
    if (HasFailure()) return;
  }
}

TEST_P(AnyRunProperty, ALaterStepOrAnyOtherMarkLosesNothingWithoutSayingWhy) {
  for (std::uint64_t seed = 1; seed <= Cases(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RunFacts facts = AnyRun(seed, GetParam()).Take();
    RunFacts other = AnyRun(seed + 1'000'000, GetParam()).Take();
    AttemptFacts& into = facts.attempts.back();
    const AttemptFacts& from = other.attempts.front();
    if (!into.step_marks.empty()) {
      StepMark later = into.step_marks.back();
      for (const StepMark& mark : into.step_marks) later.t = std::max(later.t, mark.t);
      if (later.t < kMax - kSecond) later.t += kSecond;
      later.train_step = 100;
      into.step_marks.push_back(later);
      ExpectSound(BuildTimeline(facts));
    }
    into.marks.insert(into.marks.end(), from.marks.begin(), from.marks.end());
    into.node_events.insert(into.node_events.end(), from.node_events.begin(), from.node_events.end());
    ExpectSound(BuildTimeline(facts));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, AnyRunProperty, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "WithImpossibleValues" : "OfPlausibleValues");
});

// A simulated trainer that resumes from its last checkpoint: the result is known, and the timeline must match
// it.
Ns AnyTime(Chance& chance) {
  return kRunBegan + chance.Pick(-10 * kSecond, 310 * kSecond);
}

// From any moment on, the intervals are the same as those found one after another.
void ExpectSameFrom(Chance& chance, const Timeline& timeline) {
  const Ns t = chance.OneIn(2) || timeline.intervals.empty()
                   ? AnyTime(chance)
                   : timeline
                         .intervals[static_cast<std::size_t>(
                             chance.Pick(0, static_cast<std::int64_t>(timeline.intervals.size()) - 1))]
                         .end;
  auto found = timeline.intervals.FirstAfter(t);
  for (auto one = timeline.intervals.begin(); one != timeline.intervals.end(); ++one) {
    if (one->end <= t) continue;
    ASSERT_NE(found, timeline.intervals.end());
    ASSERT_EQ(std::tie(found->begin, found->end, found->bucket, found->from.offset),
              std::tie(one->begin, one->end, one->bucket, one->from.offset));
    ++found;
  }
  ASSERT_EQ(found, timeline.intervals.end());
  if (timeline.intervals.empty()) return;
  EXPECT_EQ(timeline.intervals.back().begin, timeline.intervals[timeline.intervals.size() - 1].begin);
}

// Two equal timelines are equal within any period, and without it.
void ExpectSameWithin(Chance& chance, const Timeline& a, const Timeline& b) {
  Ns begin = AnyTime(chance);
  Ns end = AnyTime(chance);
  if (begin > end) std::swap(begin, end);
  for (int twice = 0; twice < 2; ++twice) {
    Timeline of_a = a;
    Timeline of_b = b;
    if (twice == 0) {
      ClipTimeline(of_a, begin, end);
      ClipTimeline(of_b, begin, end);
    } else {
      ExcludeTime(of_a, {{begin, end}});
      ExcludeTime(of_b, {{begin, end}});
    }
    ASSERT_EQ(Everything(of_a), Everything(of_b));
    ExpectSameFrom(chance, of_b);
  }
}

TEST(Saves, SayTheSameInBlocks) {
  std::size_t in_blocks = 0;
  std::size_t out_of_order = 0;
  for (std::uint64_t seed = 1; seed <= Cases(3000); ++seed) {
    RunFacts facts = AnyRun(seed, seed % 4 == 0).Take();
    Chance chance(seed);
    MakeSave(chance, facts);
    const bool in_order = seed % 3 != 0;
    auto blocked = std::make_unique<RunFacts>(WithSavesInBlocks(facts, in_order ? nullptr : &chance));
    for (const AttemptFacts& attempt : blocked->attempts) {
      for (const SaveBlock& block : attempt.save_blocks)
        (in_order ? in_blocks : out_of_order) += block.saves.size();
    }
    const Timeline timeline = BuildTimeline(*blocked);
    // A report moves its facts.
    const RunFacts moved = std::move(*blocked);
    blocked.reset();
    ASSERT_EQ(Everything(BuildTimeline(facts)), Everything(timeline)) << "seed " << seed;
    ExpectPartition(timeline);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    ExpectSameFrom(chance, timeline);
    ExpectSameWithin(chance, BuildTimeline(facts), timeline);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(in_blocks, Cases(3000) * 4);
  EXPECT_GT(out_of_order, in_blocks / 3) << "their order does not matter";
}

TEST(SimulatedTraining, TheTimelineFindsTheTruth) {
  for (std::uint64_t seed = 1; seed <= Cases(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chance chance(seed);
    RunBuilder run;
    const std::int64_t target = chance.Pick(5, 40);
    const std::int64_t save_every = chance.Pick(1, 9);
    const double step_s = static_cast<double>(chance.Pick(1, 20));
    const double save_s = chance.OneIn(2) ? 0.5 : 0;
    double t = 0;
    std::int64_t next_step = 0;
    std::int64_t executed = 0;
    double saving = 0;
    int incarnations = 0;
    bool done = false;
    while (!done) {
      AttemptBuilder& attempt =
          run.Attempt().Submitted(t).Eligible(t).Started(t + 3).Ready(t + 4).TaskStarts(t + 5, 0);
      ++incarnations;
      t += 10;
      std::int64_t restart_from = next_step;
      // It may be killed in any step, but not forever.
      const std::int64_t dies_in = incarnations < 5 ? next_step + chance.Pick(0, 15) : target + 1;
      for (std::int64_t step = next_step; step < target; ++step) {
        attempt.Step(step, t);
        ++executed;
        if (step == dies_in) {
          t += step_s / 2;
          attempt.TaskKilled(t, 0, 9).Ended(t, chance.OneIn(2) ? "NODE_FAIL" : "REQUEUED");
          break;
        }
        t += step_s;
        if ((step + 1) % save_every == 0) {
          attempt.Save(step, t, t + save_s);
          saving += save_s;
          t += save_s;
          restart_from = step + 1;
        }
        done = step + 1 == target;
      }
      next_step = restart_from;
      if (next_step >= target) done = true;
      if (done) attempt.TaskExits(t, 0, 0).Ended(t, "COMPLETED");
    }
    const Timeline timeline = run.Build();
    ExpectSound(timeline);
    EXPECT_EQ(timeline.steps.executed, executed);
    EXPECT_EQ(timeline.steps.kept, target);
    EXPECT_EQ(timeline.steps.lost, executed - target);
    EXPECT_EQ(timeline.interruptions.size(), static_cast<std::size_t>(incarnations - 1));
    const Account account = TakeAccount(timeline);
    const auto ns = [&](Bucket bucket) { return account.buckets[static_cast<std::size_t>(bucket)].ns; };
    EXPECT_EQ(InSeconds(ns(Bucket::kProductive)), step_s * static_cast<double>(target)) << run.Story();
    EXPECT_EQ(InSeconds(ns(Bucket::kCheckpointSave)), saving) << run.Story();
    EXPECT_EQ(ns(Bucket::kStall) + ns(Bucket::kUnobserved) + ns(Bucket::kAtRisk), 0) << run.Story();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace goodput
