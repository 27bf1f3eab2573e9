#include "tools/accounting/timeline/step_painter.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "tools/accounting/timeline/hang.h"
#include "tools/accounting/timeline/read_incarnation.h"
#include "tools/accounting/timeline/sanitize_facts.h"

namespace goodput {
namespace {

// A shorter stall is jitter, whatever the factor.
constexpr Ns kShortestStall = kSecond;
// If the first step takes more than this many times its usual time, the excess counts as compilation.
constexpr Ns kFirstStepFactor = 2;

// How a step record is divided once its stall and compile time are separated.
struct StepExtent {
  Ns compile_end;  // the excess of a first step lies before this
  Ns step_end;     // work until here; then `rest` until the record's end, or until it was told to stop
  Bucket rest = Bucket::kStall;
  std::string_view rest_why;
  std::optional<Ns> drain_from;
  std::optional<Ns> silent_from;  // from here on its state is unknown
};

// More net time than this is a stall.
Ns StallLimit(Ns expected, const TimelineOptions& options) {
  const double patience = options.stall_factor * static_cast<double>(expected);
  return patience < static_cast<double>(kLatest) ? std::max(static_cast<Ns>(patience), kShortestStall)
                                                 : kLatest;
}

// A running step has made no progress for as long as a hang takes, although its node was alive.
bool HangsSoFar(const IncarnationFacts& program, const StepRecord& step, Ns step_end,
                std::optional<Ns> heard_until) {
  if (!heard_until) return false;
  return NetTime(program.cuts, step_end, std::min(*heard_until, step.end)) >= kHang;
}

StepExtent ExtentOf(const IncarnationFacts& program, std::size_t i, const StepContext& context) {
  const StepRecord& step = program.steps[i];
  StepExtent extent{step.begin,   step.end,    Bucket::kStall, "longer than a normal step",
                    std::nullopt, std::nullopt};
  const std::optional<Ns> median = program.median_step ? program.median_step : context.run_median;
  // A block with a step that stalled has been expanded.
  if (step.block != nullptr) return extent;
  const bool last = i + 1 == program.steps.size();
  std::optional<Ns> expected;
  if (median) expected = TimesAtMost(*median, step.count());
  if (!last && i == 0 && expected && step.net > TimesAtMost(*expected, kFirstStepFactor)) {
    extent.compile_end = AfterNetTime(program.cuts, step.begin, step.end, step.net - *expected);
    return extent;
  }
  if (last && context.stop) {
    // It was told to stop: time beyond the step's usual duration is its shutdown, unless it had stalled
    // before.
    const Ns usual = expected ? AfterNetTime(program.cuts, step.begin, step.end, *expected) : step.end;
    extent.step_end = std::min({usual, std::max(step.work_end, context.stop->t), step.end});
    if (step.work_end < step.end) extent.step_end = std::min(extent.step_end, step.work_end);
    const Ns told = std::clamp(context.stop->t, step.begin, step.end);
    const bool stalled =
        expected && NetTime(program.cuts, step.begin, told) > StallLimit(*expected, context.options);
    extent.drain_from = stalled ? std::max(told, extent.step_end) : extent.step_end;
    return extent;
  }
  if (!expected) {
    if (last && !context.finished && step.net > kShortestStall) {
      extent.step_end = AfterNetTime(program.cuts, step.begin, step.end, kShortestStall);
      extent.rest = Bucket::kUnobserved;
      extent.rest_why = "the length of a step cannot be known from a single step";
    }
    return extent;
  }
  if (step.net <= StallLimit(*expected, context.options)) return extent;
  extent.step_end = AfterNetTime(program.cuts, step.begin, step.end, *expected);
  const bool closed = !last || program.summary.ended;
  if (!closed && HangsSoFar(program, step, extent.step_end, context.heard_until)) {
    extent.rest_why = "no progress so far, although its node is alive";
    if (step.end - *context.heard_until >= kHang) extent.silent_from = context.heard_until;
    return extent;
  }
  if (!closed || (last && context.finished)) {
    extent.rest = Bucket::kUnobserved;
    extent.rest_why = closed ? "no record from the program between its last step and its exit"
                             : "no record for longer than a normal step";
  }
  return extent;
}

// Consecutive steps with the same outcome are one interval, so that a run of a million steps has few.
class StepPainter {
 public:
  StepPainter(AttemptPainter& paint, const RunFacts& facts) : paint_(paint), facts_(facts) {}
  StepPainter(const StepPainter&) = delete;
  StepPainter& operator=(const StepPainter&) = delete;
  ~StepPainter() { Flush(); }

  void Paint(Ns begin, Ns end, Bucket bucket, const StepRecord& step, const std::string& why = {}) {
    if (begin >= end) return;
    const Evidence evidence = EvidenceOf(facts_, step);
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

// The last progress before a step stalls: its begin, or the end of a save or phase within it.
Ns LastSignOfLife(const IncarnationFacts& program, const StepRecord& step, Ns stalls_at) {
  const auto after = std::upper_bound(program.cuts.begin(), program.cuts.end(), stalls_at,
                                      [](Ns t, const TimeSpan& cut) { return t < cut.end; });
  return after == program.cuts.begin() ? step.begin : std::max(step.begin, std::prev(after)->end);
}

// Where the rest of a step ends that is neither silence nor a drain.
Ns RestEnd(const StepExtent& extent, const StepRecord& step) {
  return extent.drain_from.value_or(extent.silent_from.value_or(step.end));
}

// What is left of the program's step `i` once it took its time.
void AddRemainders(const IncarnationFacts& program, std::size_t i, const StepExtent& extent,
                   const StepContext& context, std::vector<Remainder>& remainders) {
  const StepRecord& step = program.steps[i];
  const Ns rest_end = RestEnd(extent, step);
  const Remainder rest{extent.step_end,
                       rest_end,
                       extent.rest,
                       std::string(extent.rest_why),
                       Evidence::kInferred,
                       step.ref,
                       step.next_ref,
                       step.lo,
                       LastSignOfLife(program, step, extent.step_end),
                       i + 1 < program.steps.size()};
  if (rest.begin < rest.end) remainders.push_back(rest);
  if (rest_end >= step.end) return;
  Remainder other = rest;
  other.begin = rest_end;
  other.end = step.end;
  if (extent.silent_from) {
    other.bucket = Bucket::kUnobserved;
    other.why = "its node has not been heard from since";
  } else {
    other.bucket = Bucket::kDrain;
    other.why = "told to stop: " + InWords(*context.stop);
    other.evidence = context.stop->evidence;
    if (context.stop->evidence == Evidence::kSignal) other.from = context.stop->ref;
  }
  remainders.push_back(std::move(other));
}

}  // namespace

void AddSteps(std::int64_t& sum, std::int64_t count) {
  if (__builtin_add_overflow(sum, count, &sum)) sum = INT64_MAX;
}

void ExpandWhereStepsDiffer(IncarnationFacts& program, const StepOutcome& fate, std::optional<Ns> run_median,
                            const TimelineOptions& options, const StepReader* reader) {
  const std::optional<Ns> median = program.median_step ? program.median_step : run_median;
  ExpandBlocks(
      program.steps, reader,
      [&](const StepRecord& step) {
        if (fate.rule == StepOutcome::Rule::kCheckpoints) {
          if (fate.covered_until && *fate.covered_until > step.begin && *fate.covered_until < step.end)
            return true;
        } else if (const std::int64_t kept = KeptSteps(fate, step); kept < step.count()) {
          // If the first step of a part is the first that was lost, its saves contain it.
          if (kept > 0 || (step.part && step.lo == fate.kept_below)) return true;
        }
        if (!median) return false;
        const std::int64_t stride = step.block->stride;
        const Ns of_a_step = step.part ? step.longest : step.block->durations.UpperBound();
        const Ns longest = TimesAtMost(std::min(of_a_step, kLatest) + 1, stride);
        return longest > StallLimit(TimesAtMost(*median, stride), options);
      },
      [&](StepRecord& step) { MeasureStep(program, step); });
}

std::vector<Remainder> PaintSteps(IncarnationFacts& program, const StepContext& context,
                                  AttemptPainter& paint, StepCounts& counts) {
  const StepOutcome& fate = *context.fate;
  std::vector<Remainder> remainders;
  const auto failed = static_cast<std::int64_t>(program.failed_tries.size());
  for (std::int64_t* count : {&counts.executed, &counts.lost, &counts.failed}) AddSteps(*count, failed);
  StepPainter paint_step(paint, *context.facts);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const StepExtent extent = ExtentOf(program, i, context);
    if (extent.compile_end > step.begin) {
      paint.Paint(step.begin, extent.compile_end, Bucket::kStartup, "compile", Evidence::kInferred, step.ref,
                  step.next_ref, "the first step took longer than the others");
    }
    const std::int64_t kept = KeptSteps(fate, step);
    const Ns work_begin = std::max(step.begin, extent.compile_end);
    // Between two marks, each of several steps took its share.
    Ns kept_until = kept == 0 ? work_begin : extent.step_end;
    if (kept > 0 && kept < step.count()) {
      const Ns net = NetTime(program.cuts, work_begin, extent.step_end);
      kept_until = AfterNetTime(program.cuts, work_begin, extent.step_end,
                                static_cast<Ns>(static_cast<__int128>(net) * kept / step.count()));
    }
    paint_step.Paint(work_begin, kept_until, Bucket::kProductive, step);
    const Bucket not_kept = fate.rule == StepOutcome::Rule::kCheckpoints ? fate.uncovered : Bucket::kLostWork;
    paint_step.Paint(kept_until, extent.step_end, not_kept, step, fate.why);
    if (extent.step_end < RestEnd(extent, step) || RestEnd(extent, step) < step.end)
      AddRemainders(program, i, extent, context, remainders);
    // A step in flight was not done, unless the next start resumed after it.
    const std::int64_t done = step.in_flight ? kept : step.count();
    if (step.in_flight && kept > 0) program.summary.last_step = step.hi;
    AddSteps(counts.executed, done);
    AddSteps(counts.kept, kept);
    AddSteps(not_kept == Bucket::kAtRisk ? counts.at_risk : counts.lost, done - kept);
    if (kept > 0) {
      program.summary.kept_step = std::max(program.summary.kept_step.value_or(step.lo), step.lo + kept - 1);
    }
    const bool last = i + 1 == program.steps.size();
    if (last) program.summary.last_step_begin = step.begin;
    const bool unfinished = last && step.work_end == step.end && !context.finished;
    program.summary.last_progress = unfinished ? step.begin : std::min(step.work_end, extent.step_end);
    if (last && program.placed) {
      // It is unknown when the last one began; of many in one record, all but one are done.
      program.summary.last_step_begin.reset();
      if (unfinished) {
        program.summary.last_progress = AfterNetTime(program.cuts, step.begin, extent.step_end,
                                                     TimesAtMost(*program.median_step, step.count() - 1));
      }
    }
  }
  return remainders;
}

Ns FirstStepExcess(const IncarnationFacts& program, const StepOutcome& fate, const TimelineOptions& options) {
  if (program.steps.size() < 3 || !program.median_step || program.placed) return 0;
  const StepRecord& first = program.steps.front();
  // Beyond the factor, the excess already counts as startup; a first step that was not kept is not productive
  // at all.
  if (KeptSteps(fate, first) != first.count()) return 0;
  if (first.net > TimesAtMost(TimesAtMost(*program.median_step, first.count()), kFirstStepFactor)) return 0;
  __int128 net = 0;
  std::int64_t count = 0;
  for (std::size_t i = 1; i + 1 < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    const Ns expected = TimesAtMost(*program.median_step, step.count());
    const bool stalled = step.block == nullptr && step.net > StallLimit(expected, options);
    net += stalled ? expected : step.net;
    AddSteps(count, step.count());
  }
  if (count == 0) return 0;
  const __int128 mean = net / count * first.count() + net % count * first.count() / count;
  return mean < first.net ? first.net - static_cast<Ns>(mean) : 0;
}

}  // namespace goodput
