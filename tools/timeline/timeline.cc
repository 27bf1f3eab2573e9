#include "tools/timeline/timeline.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/timeline/allocation.h"
#include "tools/timeline/interruption.h"
#include "tools/timeline/kept.h"
#include "tools/timeline/plausible.h"
#include "tools/timeline/program.h"
#include "tools/timeline/stalls.h"
#include "tools/timeline/waiting.h"

namespace goodput {
namespace {

// A stall shorter than this is jitter, whatever the factor says.
constexpr Ns kShortestStall = kSecond;
// The first step may take this often its usual time before the excess counts as compilation.
constexpr Ns kFirstStepFactor = 2;

Evidence EvidenceOf(const RunFacts& facts, const EvidenceRef& ref) {
  const auto source = static_cast<std::size_t>(ref.source);
  return ref.source >= 0 && source < facts.sources.size() ? facts.sources[source].evidence : Evidence::kMark;
}

// One attempt with everything derived from it.
struct Episode {
  const AttemptFacts* facts = nullptr;
  Allocation allocation;
};

bool InitialState(const AttemptFacts& attempt) {
  return !attempt.end && attempt.state != "COMPLETED";
}

std::vector<const AttemptFacts*> InOrder(const RunFacts& facts) {
  std::vector<const AttemptFacts*> attempts;
  for (const AttemptFacts& attempt : facts.attempts) attempts.push_back(&attempt);
  // By when the wait was over: a job of a chain is submitted before the requeue of the job it waits for. The
  // sizes only make the order of contradicting twins certain.
  const auto key = [](const AttemptFacts* a) {
    const Ns over = a->start.value_or(a->end.value_or(INT64_MAX));
    return std::tuple(over, a->submit, a->job_id, a->start.has_value(), a->end.value_or(INT64_MAX),
                      std::string_view(a->state), a->step_marks.size(), a->marks.size(),
                      a->node_events.size(), a->pending.size());
  };
  std::sort(attempts.begin(), attempts.end(),
            [&](const AttemptFacts* a, const AttemptFacts* b) { return key(a) < key(b); });
  const auto same = [](const AttemptFacts* a, const AttemptFacts* b) {
    return a->submit == b->submit && a->job_id == b->job_id && a->start == b->start;
  };
  attempts.erase(std::unique(attempts.begin(), attempts.end(), same), attempts.end());
  return attempts;
}

// Two attempts that hold resources at once are not one run; the time both had is counted for the first.
void WarnOfOverlaps(const std::vector<const AttemptFacts*>& attempts, Ns now,
                    std::vector<std::string>& warnings) {
  const AttemptFacts* longest = nullptr;
  for (const AttemptFacts* attempt : attempts) {
    if (!attempt->start) continue;
    if (longest != nullptr && *attempt->start < longest->end.value_or(now)) {
      warnings.push_back("jobs " + std::to_string(longest->job_id) + " and " +
                         std::to_string(attempt->job_id) +
                         " had resources at once: they are not one run, give each its own --goodput-run");
    }
    if (longest == nullptr || attempt->end.value_or(now) > longest->end.value_or(now)) longest = attempt;
  }
}

// A signal that asked the program to stop, before it ended: what the scheduler says (the kernel's word comes
// with signal events).
std::optional<Ns> StopSignal(const AttemptFacts& attempt, const Program& program) {
  if (attempt.preempt_time && *attempt.preempt_time <= program.summary.end &&
      *attempt.preempt_time >= program.summary.begin) {
    return attempt.preempt_time;
  }
  return std::nullopt;
}

bool Finished(const AttemptFacts& attempt, const Program& program, bool last_of_attempt) {
  if (!program.summary.ended || StopSignal(attempt, program)) return false;
  if (program.summary.exit_code || program.summary.exit_signal) {
    return !program.summary.exit_signal && program.summary.exit_code.value_or(0) == 0 &&
           (!last_of_attempt || attempt.state == "COMPLETED" || InitialState(attempt));
  }
  return last_of_attempt && attempt.state == "COMPLETED";
}

// Everything one attempt claims, appended in order of precedence layer by layer.
class AttemptPainter {
 public:
  AttemptPainter(Painter& painter, const Episode& episode, int index)
      : painter_(painter), episode_(episode), index_(index) {}

  void Paint(Ns begin, Ns end, Bucket bucket, std::string_view part, Evidence evidence, EvidenceRef from = {},
             EvidenceRef to = {}, std::string why = {}) {
    painter_.Paint({std::max(begin, episode_.allocation.begin), std::min(end, episode_.allocation.end),
                    bucket, std::string(part), evidence, index_, from, to, std::move(why)});
  }

 private:
  Painter& painter_;
  const Episode& episode_;
  int index_;
};

void PaintAllocationPhases(const Episode& episode, AttemptPainter& paint) {
  const Allocation& allocation = episode.allocation;
  for (const Suspension& suspension : episode.facts->suspended) {
    paint.Paint(suspension.begin, suspension.end, Bucket::kSuspended, "",
                suspension.placed ? episode.facts->evidence : Evidence::kInferred, {}, {},
                suspension.placed ? "" : "for how long is known, not when");
  }
  if (allocation.ready) {
    paint.Paint(allocation.begin, *allocation.ready, Bucket::kProvisioning, "", Evidence::kScheduler, {},
                allocation.ready_ref);
  }
  if (allocation.teardown) {
    paint.Paint(*allocation.teardown, allocation.end, Bucket::kTeardown, "", Evidence::kScheduler,
                allocation.teardown_ref);
  }
  if (allocation.lives.empty()) return;
  Ns from = allocation.ready.value_or(allocation.begin);
  const Ns until = allocation.teardown.value_or(allocation.end);
  for (const TimeSpan& alive :
       AliveSpans(*episode.facts, allocation, ProgramSteps(*episode.facts, allocation))) {
    paint.Paint(from, alive.begin, Bucket::kLaunch, "", Evidence::kScheduler);
    from = std::max(from, alive.end);
  }
  paint.Paint(from, until, Bucket::kLaunch, "", Evidence::kScheduler);
}

void PaintPhases(const std::vector<PhaseSpan>& phases, Bucket bucket, const RunFacts& facts,
                 AttemptPainter& paint) {
  for (const PhaseSpan& phase : phases) {
    paint.Paint(phase.begin, phase.end, bucket, phase.name, EvidenceOf(facts, phase.from), phase.from,
                phase.to);
  }
}

// What remains of a step record once its stall and compile time are set apart.
struct StepExtent {
  Ns compile_end;  // the excess of a first step is before this
  Ns step_end;     // work until here; then `rest` until the record's end
  Bucket rest = Bucket::kStall;
  std::string_view rest_why;
};

// Net time beyond this is a stall.
Ns StallLimit(Ns expected, const TimelineOptions& options) {
  const double patience = options.stall_factor * static_cast<double>(expected);
  return patience < static_cast<double>(kLatest) ? std::max(static_cast<Ns>(patience), kShortestStall)
                                                 : kLatest;
}

// Leaves only blocks of which all steps go the same way: kept or not, and none stalled.
void ExpandWhereStepsDiffer(Program& program, const Fate& fate, std::optional<Ns> run_median,
                            const TimelineOptions& options, const StepReader* reader) {
  const std::optional<Ns> median = program.median_step ? program.median_step : run_median;
  ExpandBlocks(program.steps, reader, [&](const StepRecord& step) {
    if (fate.rule == Fate::Rule::kCheckpoints) {
      if (fate.covered_until && *fate.covered_until > step.begin && *fate.covered_until < step.end)
        return true;
    } else if (const std::int64_t kept = KeptSteps(fate, step); kept > 0 && kept < step.count()) {
      return true;
    }
    if (!median) return false;
    const std::int64_t stride = step.block->stride;
    const Ns longest = TimesAtMost(std::min(step.block->durations.UpperBound(), kLatest) + 1, stride);
    return longest > StallLimit(TimesAtMost(*median, stride), options);
  });
}

StepExtent ExtentOf(const Program& program, std::size_t i, std::optional<Ns> run_median,
                    const TimelineOptions& options, std::optional<Ns> stop_signal, bool finished) {
  const StepRecord& step = program.steps[i];
  StepExtent extent{step.begin, step.end, Bucket::kStall, "longer than a step needs"};
  const std::optional<Ns> median = program.median_step ? program.median_step : run_median;
  const bool last = i + 1 == program.steps.size();
  const std::optional<Ns> expected =
      median ? std::optional<Ns>(TimesAtMost(*median, step.count())) : std::nullopt;
  if (!last && i == 0 && expected && step.net > TimesAtMost(*expected, kFirstStepFactor)) {
    extent.compile_end = AfterNetTime(program.cuts, step.begin, step.end, step.net - *expected);
    return extent;
  }
  if (last && stop_signal) {
    // The loop was told to stop: beyond the step's usual time it is on its way out.
    const Ns usual = expected ? AfterNetTime(program.cuts, step.begin, step.end, *expected) : step.end;
    extent.step_end = std::min({usual, std::max(step.work_end, *stop_signal), step.end});
    if (step.work_end < step.end) extent.step_end = std::min(extent.step_end, step.work_end);
    extent.rest = Bucket::kDrain;
    extent.rest_why = "told to stop";
    return extent;
  }
  if (!expected) {
    if (last && !finished && step.net > kShortestStall) {
      extent.step_end = AfterNetTime(program.cuts, step.begin, step.end, kShortestStall);
      extent.rest = Bucket::kUnobserved;
      extent.rest_why = "one step alone does not tell how long a step takes";
    }
    return extent;
  }
  if (step.net <= StallLimit(*expected, options)) return extent;
  extent.step_end = AfterNetTime(program.cuts, step.begin, step.end, *expected);
  const bool closed = !last || program.summary.ended;
  if (!closed || (last && finished)) {
    extent.rest = Bucket::kUnobserved;
    extent.rest_why = closed ? "after the last step the program said nothing until it exited"
                             : "no news for longer than a step needs";
  }
  return extent;
}

struct Remainder {
  Ns begin;
  Ns end;
  Bucket bucket;
  std::string_view why;
  EvidenceRef from;
  EvidenceRef to;
  std::int64_t step;
  Ns last_progress;
  bool later_step;  // one was begun
};

// Step numbers are a job's own word: thousands of incarnations that claim 2^53 steps each must not wrap
// around.
void Add(std::int64_t& sum, std::int64_t count) {
  if (__builtin_add_overflow(sum, count, &sum)) sum = INT64_MAX;
}

// Steps that fared alike and follow each other are one interval: a run of a million has a few.
class StepPainter {
 public:
  StepPainter(AttemptPainter& paint, const RunFacts& facts) : paint_(paint), facts_(facts) {}
  StepPainter(const StepPainter&) = delete;
  StepPainter& operator=(const StepPainter&) = delete;
  ~StepPainter() { Flush(); }

  void Paint(Ns begin, Ns end, Bucket bucket, const StepRecord& step, const std::string& why = {}) {
    if (begin >= end) return;
    const Evidence evidence = EvidenceOf(facts_, step.ref);
    if (!open_ || begin != end_ || bucket != bucket_ || evidence != evidence_ || why != why_) {
      Flush();
      begin_ = begin;
      bucket_ = bucket;
      evidence_ = evidence;
      from_ = step.ref;
      why_ = why;
      open_ = true;
    }
    end_ = end;
    to_ = step.next_ref;
  }
  void Flush() {
    if (open_) paint_.Paint(begin_, end_, bucket_, "", evidence_, from_, to_, why_);
    open_ = false;
  }

 private:
  AttemptPainter& paint_;
  const RunFacts& facts_;
  bool open_ = false;
  Ns begin_ = 0;
  Ns end_ = 0;
  Bucket bucket_ = Bucket::kProductive;
  Evidence evidence_ = Evidence::kMark;
  EvidenceRef from_;
  EvidenceRef to_;
  std::string why_;
};

// Before a step stalls: its begin, or the end of a save or phase within it.
Ns LastSignOfLife(const Program& program, const StepRecord& step, Ns stalls_at) {
  const auto after = std::upper_bound(program.cuts.begin(), program.cuts.end(), stalls_at,
                                      [](Ns t, const TimeSpan& cut) { return t < cut.end; });
  return after == program.cuts.begin() ? step.begin : std::max(step.begin, std::prev(after)->end);
}

// Paints one incarnation's steps and returns what of them was no step, to be painted after `startup`.
std::vector<Remainder> PaintSteps(Program& program, const Fate& fate, std::optional<Ns> run_median,
                                  const TimelineOptions& options, std::optional<Ns> stop_signal,
                                  bool finished, const RunFacts& facts, AttemptPainter& paint,
                                  StepCounts& counts) {
  std::vector<Remainder> remainders;
  StepPainter paint_step(paint, facts);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const StepExtent extent = ExtentOf(program, i, run_median, options, stop_signal, finished);
    if (extent.compile_end > step.begin) {
      paint.Paint(step.begin, extent.compile_end, Bucket::kStartup, "compile", Evidence::kInferred, step.ref,
                  step.next_ref, "the first step took longer than the others");
    }
    const std::int64_t kept = KeptSteps(fate, step);
    const Ns work_begin = std::max(step.begin, extent.compile_end);
    // Between two marks of several steps each took its share.
    Ns kept_until = kept == 0 ? work_begin : extent.step_end;
    if (kept > 0 && kept < step.count()) {
      const Ns net = NetTime(program.cuts, work_begin, extent.step_end);
      kept_until = AfterNetTime(program.cuts, work_begin, extent.step_end,
                                static_cast<Ns>(static_cast<__int128>(net) * kept / step.count()));
    }
    paint_step.Paint(work_begin, kept_until, Bucket::kProductive, step);
    const Bucket not_kept = fate.rule == Fate::Rule::kCheckpoints ? fate.uncovered : Bucket::kLostWork;
    paint_step.Paint(kept_until, extent.step_end, not_kept, step, fate.why);
    if (extent.step_end < step.end) {
      remainders.push_back({extent.step_end, step.end, extent.rest, extent.rest_why, step.ref, step.next_ref,
                            step.lo, LastSignOfLife(program, step, extent.step_end),
                            i + 1 < program.steps.size()});
    }

    Add(counts.executed, step.count());
    Add(counts.kept, kept);
    Add(not_kept == Bucket::kAtRisk ? counts.at_risk : counts.lost, step.count() - kept);
    if (kept > 0) {
      program.summary.kept_step = std::max(program.summary.kept_step.value_or(step.lo), step.lo + kept - 1);
    }
    const bool last = i + 1 == program.steps.size();
    if (last) program.summary.last_step_begin = step.begin;
    const bool unfinished = last && step.work_end == step.end && !finished;
    program.summary.last_progress = unfinished ? step.begin : std::min(step.work_end, extent.step_end);
  }
  return remainders;
}

// What the first step took beyond the mean of the others, where that is counted as productive. The last
// record is not like the others; of one that stalled only the step counts.
Ns FirstStepExcess(const Program& program, const Fate& fate, const TimelineOptions& options) {
  if (program.steps.size() < 3 || !program.median_step) return 0;
  const StepRecord& first = program.steps.front();
  // Beyond the factor the excess is startup already; a first step that was not kept is not productive at all.
  if (KeptSteps(fate, first) != first.count()) return 0;
  if (first.net > TimesAtMost(TimesAtMost(*program.median_step, first.count()), kFirstStepFactor)) return 0;
  __int128 net = 0;
  std::int64_t count = 0;
  for (std::size_t i = 1; i + 1 < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const Ns expected = TimesAtMost(*program.median_step, step.count());
    const bool stalled = step.block == nullptr && step.net > StallLimit(expected, options);
    net += stalled ? expected : step.net;
    Add(count, step.count());
  }
  if (count == 0) return 0;
  const __int128 mean = net / count * first.count() + net % count * first.count() / count;
  return mean < first.net ? first.net - static_cast<Ns>(mean) : 0;
}

// A program that never reached a step: starting up until the last thing it said, or until it died of it.
void PaintStartup(const Program& program, bool instrumented, const RunFacts& facts, AttemptPainter& paint) {
  PaintPhases(program.startup_parts, Bucket::kStartup, facts, paint);
  const Incarnation& summary = program.summary;
  if (summary.first_step_begin) {
    paint.Paint(summary.begin, *summary.first_step_begin, Bucket::kStartup, "",
                EvidenceOf(facts, program.steps.front().ref), {}, program.steps.front().ref);
    return;
  }
  const bool exit_seen = summary.exit_code || summary.exit_signal;
  if (instrumented && summary.ended && exit_seen) {
    paint.Paint(summary.begin, summary.end, Bucket::kStartup, "", Evidence::kScheduler, {}, {},
                "it ended before its first step");
  } else if (program.last_evidence) {
    paint.Paint(summary.begin, *program.last_evidence, Bucket::kStartup, "", Evidence::kMark);
  }
}

}  // namespace

Timeline BuildTimeline(const RunFacts& given, const TimelineOptions& options) {
  Timeline timeline;
  timeline.warnings = given.warnings;
  timeline.now = given.now;
  timeline.mended = WithoutTheImpossible(given, timeline.warnings);
  const RunFacts& facts = timeline.mended ? *timeline.mended : given;
  const std::vector<const AttemptFacts*> attempts = InOrder(facts);
  if (attempts.empty()) return timeline;

  timeline.begin = attempts.front()->submit;
  for (const AttemptFacts* attempt : attempts) timeline.begin = std::min(timeline.begin, attempt->submit);
  timeline.end = timeline.begin;
  WarnOfOverlaps(attempts, facts.now, timeline.warnings);
  std::vector<Episode> episodes;
  std::vector<Program> programs;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const AttemptFacts& attempt = *attempts[i];
    if (!attempt.end) timeline.running = true;
    timeline.end = std::max({timeline.end, attempt.submit, attempt.end.value_or(facts.now)});
    Episode episode;
    episode.facts = &attempt;
    AttemptSummary summary;
    summary.facts = &attempt;
    if (attempt.start) {
      episode.allocation = ReadAllocation(attempt, facts.now);
      for (Program& program :
           ReadPrograms(static_cast<int>(i), attempt, episode.allocation, facts.step_reader.get()))
        programs.push_back(std::move(program));
      summary.ready = episode.allocation.ready;
    }
    timeline.attempts.push_back(summary);
    episodes.push_back(std::move(episode));
  }

  const auto last_of_attempt = [&](std::size_t i) {
    return i + 1 == programs.size() || programs[i + 1].summary.attempt != programs[i].summary.attempt;
  };
  std::vector<bool> finished;
  DurationHistogram step_times;
  bool instrumented = false;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    finished.push_back(Finished(*attempts[static_cast<std::size_t>(programs[i].summary.attempt)], programs[i],
                                last_of_attempt(i)));
    step_times.Merge(programs[i].step_times);
    if (!programs[i].steps.empty() || programs[i].last_evidence) instrumented = true;
  }
  timeline.steps.median = step_times.Median();
  const std::vector<Fate> fates = DecideFates(programs, finished);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    ExpandWhereStepsDiffer(programs[i], fates[i], timeline.steps.median, options, facts.step_reader.get());
  }

  Painter painter(timeline.begin, timeline.end);
  std::size_t next_program = 0;
  for (std::size_t a = 0; a < episodes.size(); ++a) {
    const Episode& episode = episodes[a];
    if (!episode.facts->start) continue;
    AttemptPainter paint(painter, episode, static_cast<int>(a));
    const std::size_t first = next_program;
    while (next_program < programs.size() && programs[next_program].summary.attempt == static_cast<int>(a)) {
      ++next_program;
    }
    PaintAllocationPhases(episode, paint);
    for (std::size_t i = first; i < next_program; ++i)
      PaintPhases(programs[i].saves, Bucket::kCheckpointSave, facts, paint);
    for (std::size_t i = first; i < next_program; ++i)
      PaintPhases(programs[i].overhead, Bucket::kOverhead, facts, paint);
    std::vector<Remainder> remainders;
    for (std::size_t i = first; i < next_program; ++i) {
      for (const Remainder& remainder :
           PaintSteps(programs[i], fates[i], timeline.steps.median, options,
                      StopSignal(*episode.facts, programs[i]), finished[i], facts, paint, timeline.steps)) {
        remainders.push_back(remainder);
      }
    }
    for (std::size_t i = first; i < next_program; ++i) PaintStartup(programs[i], instrumented, facts, paint);
    for (const Bucket bucket : {Bucket::kDrain, Bucket::kStall}) {
      for (const Remainder& remainder : remainders) {
        if (remainder.bucket != bucket) continue;
        if (bucket == Bucket::kStall) {
          timeline.stalls.push_back({static_cast<int>(a), remainder.step, remainder.last_progress,
                                     remainder.begin, remainder.end, 0, remainder.later_step,
                                     remainder.from});
        }
        const Evidence evidence = bucket == Bucket::kDrain ? Evidence::kScheduler : Evidence::kInferred;
        paint.Paint(remainder.begin, remainder.end, bucket, "", evidence, remainder.from, remainder.to,
                    std::string(remainder.why));
      }
    }
    for (const Remainder& remainder : remainders) {
      paint.Paint(remainder.begin, remainder.end, Bucket::kUnobserved, "allocated", Evidence::kInferred,
                  remainder.from, remainder.to, std::string(remainder.why));
    }
    paint.Paint(episode.allocation.begin, episode.allocation.end, Bucket::kUnobserved, "allocated",
                Evidence::kInferred);
  }

  // Waiting comes after every allocation, so that an allocated attempt beats a pending one.
  Ns free_from = timeline.begin;
  for (std::size_t a = 0; a < episodes.size(); ++a) {
    const AttemptFacts& attempt = *episodes[a].facts;
    if (attempt.heard_until) continue;
    const bool same_job = std::any_of(attempts.begin(), attempts.begin() + static_cast<std::ptrdiff_t>(a),
                                      [&](const AttemptFacts* b) { return b->job_id == attempt.job_id; });
    for (const Interval& claim :
         WaitingClaims(attempt, static_cast<int>(a), free_from, same_job, facts.now)) {
      painter.Paint(claim);
    }
    free_from = std::max(free_from, attempt.end.value_or(facts.now));
  }
  painter.Paint(
      {timeline.begin, timeline.end, Bucket::kUnobserved, "gap", Evidence::kInferred, -1, {}, {}, ""});
  timeline.intervals = std::move(painter).Finish();
  MeasureStalls(timeline);

  for (std::size_t i = 0; i < programs.size(); ++i) {
    Program& program = programs[i];
    const auto a = static_cast<std::size_t>(program.summary.attempt);
    AttemptSummary& summary = timeline.attempts[a];
    const auto widen = [](std::optional<std::int64_t>& into, const std::optional<std::int64_t>& value,
                          bool lower) {
      if (value && (!into || (lower ? *value < *into : *value > *into))) into = value;
    };
    widen(summary.first_step, program.summary.first_step, true);
    widen(summary.last_step, program.summary.last_step, false);
    widen(summary.kept_step, program.summary.kept_step, false);
    program.summary.first_step_excess = FirstStepExcess(program, fates[i], options);
    Add(timeline.steps.first_step_excess, program.summary.first_step_excess);
    for (Checkpoint checkpoint : program.checkpoints) {
      checkpoint.incarnation = static_cast<int>(i);
      timeline.checkpoints.push_back(checkpoint);
    }
    timeline.incarnations.push_back(program.summary);

    const bool last_program = i + 1 == programs.size();
    const bool last_attempt = a + 1 == episodes.size();
    if (!program.summary.ended) continue;
    const bool done =
        finished[i] || (!StopSignal(*attempts[a], program) && attempts[a]->state == "COMPLETED");
    if (last_program && last_attempt && done) continue;
    if (!last_of_attempt(i) && finished[i] && programs[i + 1].steps.empty()) continue;
    // The program is over but the allocation goes on: whether that was an interruption shows when it ends.
    if (last_of_attempt(i) && !attempts[a]->end) continue;
    EndContext context;
    context.attempt = attempts[a];
    context.program = &program;
    context.fate = &fates[i];
    context.last_of_attempt = last_of_attempt(i);
    context.stop_signal = StopSignal(*attempts[a], program);
    context.script_killed = episodes[a].allocation.script_killed;
    if (!last_program) {
      context.next = &programs[i + 1];
      context.next_in_same_attempt = programs[i + 1].summary.attempt == program.summary.attempt;
      const auto next_attempt = static_cast<std::size_t>(programs[i + 1].summary.attempt);
      context.next_ready = episodes[next_attempt].allocation.ready;
    }
    timeline.interruptions.push_back(JudgeInterruption(context));
  }
  return timeline;
}

}  // namespace goodput
