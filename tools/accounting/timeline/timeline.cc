#include "tools/accounting/timeline/timeline.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/attempt_order.h"
#include "tools/accounting/timeline/attempt_painter.h"
#include "tools/accounting/timeline/checkpoint_files.h"
#include "tools/accounting/timeline/hang.h"
#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/incarnations.h"
#include "tools/accounting/timeline/inferred_steps.h"
#include "tools/accounting/timeline/interruption.h"
#include "tools/accounting/timeline/kept_steps.h"
#include "tools/accounting/timeline/kept_tokens.h"
#include "tools/accounting/timeline/node_loss.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/stale_preempted_state.h"
#include "tools/accounting/timeline/stalls.h"
#include "tools/accounting/timeline/step_painter.h"
#include "tools/accounting/timeline/stop_signal.h"
#include "tools/accounting/timeline/waiting.h"
#include "tools/accounting/timeline/world.h"

namespace goodput {
namespace {

// Instead of an allocation's number.
constexpr int kImported = -1;

// One attempt with everything derived from it.
struct Episode {
  const AttemptFacts* facts = nullptr;
  Allocation allocation;
  std::size_t first_program = 0;  // its programs are [first, end)
  std::size_t end_program = 0;
};

// One program with what was decided about it.
struct Judged {
  IncarnationFacts program;
  bool last_of_attempt = false;
  std::optional<StopRequest> stop;
  std::optional<LastSeen> node_loss;  // that ended it
  bool finished = false;
};

// The last step that the program itself reported.
std::optional<std::int64_t> LastReportedStep(const IncarnationFacts& program) {
  std::optional<std::int64_t> last;
  for (const StepRecord& step : program.steps) {
    if (!step.in_flight) last = std::max(last.value_or(step.hi), step.hi);
  }
  return last;
}

// Warns of output that Slurm cut short: the next attempt went on with a later step than the one after its
// last. With proctrack/cgroup, TERM ends the script's shell, and srun with it, while the program still
// prints.
void WarnOfCutOutput(const RunFacts& facts, const std::vector<const AttemptFacts*>& attempts,
                     const std::vector<Judged>& programs, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i + 1 < programs.size(); ++i) {
    const IncarnationFacts& program = programs[i].program;
    const std::vector<StepRecord>& next = programs[i + 1].program.steps;
    const std::optional<std::int64_t> last = LastReportedStep(program);
    if (!programs[i].last_of_attempt || !last || next.empty() || next.front().lo <= *last + 1) continue;
    const std::optional<StopRequest>& stop = programs[i].stop;
    const bool got_term = stop && (stop->evidence == Evidence::kScheduler || stop->signo == SIGTERM);
    if (!got_term || EvidenceOf(facts, program.steps.front()) != Evidence::kLog) continue;
    const AttemptFacts& attempt = *attempts[static_cast<std::size_t>(program.summary.attempt)];
    warnings.push_back("job " + std::to_string(attempt.job_id) + ": its output ends with step " +
                       std::to_string(*last) + ", and the next attempt began with step " +
                       std::to_string(next.front().lo) +
                       ": if the script's shell ends at TERM, srun ends with it, and what the program prints "
                       "then is lost; start it with exec srun, or write trap : TERM before srun");
  }
}

void WarnOfRefusedRecords(const std::vector<const AttemptFacts*>& attempts,
                          std::vector<std::string>& warnings) {
  for (const AttemptFacts* attempt : attempts) {
    if (attempt->refused_records == 0) continue;
    warnings.push_back("job " + std::to_string(attempt->job_id) + ": nodes did not store " +
                       std::to_string(attempt->refused_records) +
                       " records of this job, since it reported more than its share or the spool had no "
                       "room: steps and checkpoints may be missing; report fewer marks");
  }
}

class TimelineBuilder {
 public:
  TimelineBuilder(const RunFacts& facts, const TimelineOptions& options, Timeline& timeline)
      : facts_(facts), options_(options), timeline_(timeline), attempts_(AttemptsInOrder(facts)) {}

  void Build() {
    if (attempts_.empty()) return;
    ReadBounds();
    ReadEpisodes();
    JudgeIncarnations();
    Paint();
    FindStalePreemptedStates();
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      Summarise(i);
      FindInterruption(i);
    }
    timeline_.worlds = ReadWorlds(facts_, timeline_.attempts, timeline_.incarnations);
    for (std::string& warning : WarningsOfWorlds(timeline_.worlds, timeline_.attempts))
      timeline_.warnings.push_back(std::move(warning));
    std::vector<const IncarnationFacts*> programs;
    for (const Judged& judged : programs_) programs.push_back(&judged.program);
    if (!timeline_.worlds.empty())
      timeline_.steps.kept_tokens = KeptTokens(programs, fates_, timeline_.worlds, facts_.step_reader.get());
    timeline_.pace = MeasurePace(programs, fates_, facts_.step_reader.get());
    RankWaitOrWhy waited = MeasureRankWait(programs, fates_, attempts_, facts_);
    timeline_.rank_wait = std::move(waited.wait);
    timeline_.rank_wait_why = std::move(waited.why);
    timeline_.ranks_marked = waited.ranks;
    if (timeline_.rank_wait) timeline_.rank_wait->kept = timeline_.steps.kept;
    NameHangs(timeline_);
    timeline_.signals = ReadSignalLedger(timeline_);
  }

 private:
  void ReadBounds();
  void ReadEpisodes();
  void JudgeIncarnations();
  void CountTrainings();
  void Paint();
  void PaintEpisode(std::size_t index, Painter& painter);
  void PaintRemainders(int attempt, const std::vector<Remainder>& remainders, AttemptPainter& paint);
  void PaintWaiting(Painter& painter) const;
  void Summarise(std::size_t i);
  EndContext ContextOf(std::size_t i) const;
  void FindStalePreemptedStates();
  void FindInterruption(std::size_t i);
  bool KeptAll(std::size_t i) const;
  const AttemptFacts& AttemptOf(std::size_t i) const {
    return *attempts_[static_cast<std::size_t>(programs_[i].program.summary.attempt)];
  }

  const RunFacts& facts_;
  const TimelineOptions& options_;
  Timeline& timeline_;
  std::vector<const AttemptFacts*> attempts_;
  std::vector<Episode> episodes_;
  std::vector<Judged> programs_;
  std::vector<StepOutcome> fates_;      // of programs_
  std::vector<Remembered> remembered_;  // of attempts_
  bool instrumented_ = false;           // a program of the run sent marks
};

void TimelineBuilder::ReadBounds() {
  timeline_.begin = attempts_.front()->submit;
  for (const AttemptFacts* attempt : attempts_) timeline_.begin = std::min(timeline_.begin, attempt->submit);
  timeline_.end = timeline_.begin;
  for (const AttemptFacts* attempt : attempts_) {
    if (!attempt->end) timeline_.running = true;
    timeline_.end = std::max({timeline_.end, attempt->submit, attempt->end.value_or(facts_.now)});
  }
  WarnOfOverlaps(attempts_, facts_.now, timeline_.warnings);
}

void TimelineBuilder::ReadEpisodes() {
  for (std::size_t a = 0; a < attempts_.size(); ++a) {
    const AttemptFacts& attempt = *attempts_[a];
    Episode episode;
    episode.facts = &attempt;
    AttemptSummary summary;
    summary.facts = &attempt;
    episode.first_program = programs_.size();
    if (attempt.start) {
      episode.allocation = ReadAllocation(attempt, facts_.now);
      summary.ready = episode.allocation.ready;
      for (IncarnationFacts& program : SplitIntoIncarnations(static_cast<int>(a), attempt, episode.allocation,
                                                             facts_.step_reader.get())) {
        programs_.emplace_back().program = std::move(program);
      }
      programs_.back().last_of_attempt = true;
    }
    episode.end_program = programs_.size();
    timeline_.attempts.push_back(summary);
    episodes_.push_back(std::move(episode));
  }
}

// Decides for each program whether it was told to stop, whether it finished, and what was kept.
void TimelineBuilder::JudgeIncarnations() {
  std::vector<Placeable> placeable;
  std::vector<Ended> ends;
  DurationHistogram step_times;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Judged& judged = programs_[i];
    judged.stop = FindStopRequest(AttemptOf(i), judged.program);
    judged.finished = Finished(AttemptOf(i), judged.program, judged.stop, judged.last_of_attempt);
    if (judged.last_of_attempt) judged.node_loss = FindNodeLoss(AttemptOf(i), judged.program);
    if (!judged.program.steps.empty() || judged.program.last_evidence) instrumented_ = true;
    const Ns end = judged.node_loss ? judged.node_loss->t : judged.program.summary.end;
    placeable.push_back(
        {&judged.program, judged.stop ? std::optional(judged.stop->t) : std::nullopt, end, judged.finished});
  }
  InferSteps(placeable);
  for (Judged& judged : programs_) {
    if (judged.node_loss) EndWithNode(*judged.node_loss, judged.program);
    // The starts of a program in an imported log are attempts, and the log tells which of them finished.
    const AttemptFacts& attempt = *attempts_[static_cast<std::size_t>(judged.program.summary.attempt)];
    const bool imported = attempt.heard_until.has_value();
    ends.push_back({&judged.program, imported ? kImported : judged.program.summary.attempt, judged.finished,
                    judged.stop || (imported && !judged.finished), attempt.state == "COMPLETED"});
    step_times.Merge(judged.program.step_times);
  }
  timeline_.steps.median = step_times.Median();
  fates_ = DecideOutcomes(ends, timeline_.running);
  CountTrainings();
  WarnOfUnseenSaves(attempts_, timeline_.warnings);
  WarnOfRefusedRecords(attempts_, timeline_.warnings);
  WarnOfCutOutput(facts_, attempts_, programs_, timeline_.warnings);
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    SettleUntoldSteps(fates_[i], programs_[i].program);
    ExpandWhereStepsDiffer(programs_[i].program, fates_[i], timeline_.steps.median, options_,
                           facts_.step_reader.get());
  }
}

void TimelineBuilder::CountTrainings() {
  int training = 0;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Incarnation& summary = programs_[i].program.summary;
    summary.training = training;
    if (!programs_[i].program.steps.empty()) timeline_.steps.trainings = training + 1;
    if (fates_[i].training_ends) ++training;
  }
}

void TimelineBuilder::Paint() {
  Painter painter(timeline_.begin, timeline_.end);
  constexpr std::size_t kFew = 16;
  painter.Reserve(kFew);
  for (std::size_t a = 0; a < episodes_.size(); ++a) {
    if (episodes_[a].facts->start) PaintEpisode(a, painter);
  }
  // Waiting is painted after all allocations, so that an allocated attempt takes precedence over a pending
  // one.
  PaintWaiting(painter);
  painter.Paint(
      {timeline_.begin, timeline_.end, Bucket::kUnobserved, "gap", Evidence::kInferred, -1, {}, {}, ""});
  timeline_.intervals = std::move(painter).Finish();
  MeasureStalls(timeline_);
}

// In order of precedence.
void TimelineBuilder::PaintEpisode(std::size_t index, Painter& painter) {
  const Episode& episode = episodes_[index];
  AttemptPainter paint(painter, episode.allocation, static_cast<int>(index));
  const auto each = [&](const auto& f) {
    for (std::size_t i = episode.first_program; i < episode.end_program; ++i) f(i);
  };
  std::size_t phases = 0;
  each([&](std::size_t i) {
    const IncarnationFacts& program = programs_[i].program;
    phases += program.saves.size() + program.save_parts.size() + program.overhead.size() +
              program.failed_tries.size();
  });
  // A piece each, and one of the steps before it.
  painter.Reserve(2 * phases + phases / 8);
  PaintAllocationPhases(*episode.facts, episode.allocation, paint);
  each([&](std::size_t i) {
    PaintPhases(programs_[i].program.save_parts, Bucket::kCheckpointSave, facts_, paint);
    paint.PaintSaves(programs_[i].program.whole_saves, facts_);
    PaintPhases(programs_[i].program.saves, Bucket::kCheckpointSave, facts_, paint);
  });
  each([&](std::size_t i) { PaintPhases(programs_[i].program.overhead, Bucket::kOverhead, facts_, paint); });
  each([&](std::size_t i) {
    PaintPhases(programs_[i].program.failed_tries, Bucket::kLostWork, facts_, paint,
                "the step failed and was tried again");
  });
  each([&](std::size_t i) {
    for (const PhaseSpan& span : programs_[i].program.unknown) {
      paint.Paint(span.begin, span.end, Bucket::kUnobserved, "allocated", Evidence::kInferred, span.from,
                  span.to, span.name);
    }
  });
  std::vector<Remainder> remainders;
  each([&](std::size_t i) {
    Judged& judged = programs_[i];
    const StepContext context{&facts_,
                              &fates_[i],
                              timeline_.steps.median,
                              options_,
                              judged.stop,
                              judged.finished,
                              HeardUntil(facts_, *episode.facts, judged.program)};
    for (const Remainder& remainder : PaintSteps(judged.program, context, paint, timeline_.steps))
      remainders.push_back(remainder);
    if (judged.node_loss && !judged.program.steps.empty()) {
      const LastSeen& lost = *judged.node_loss;
      const StepRecord& last = judged.program.steps.back();
      judged.program.summary.last_progress = lost.t;
      remainders.push_back({lost.t,
                            judged.program.summary.end,
                            Bucket::kStall,
                            "node " + lost.node + " was last seen alive at the begin of this interval",
                            Evidence::kInferred,
                            last.ref,
                            {},
                            last.lo,
                            lost.t,
                            false});
    }
  });
  each([&](std::size_t i) { PaintStartup(programs_[i].program, instrumented_, facts_, paint); });
  PaintRemainders(static_cast<int>(index), remainders, paint);
  paint.Paint(episode.allocation.begin, episode.allocation.end, Bucket::kUnobserved, "allocated",
              Evidence::kInferred);
}

void TimelineBuilder::PaintRemainders(int attempt, const std::vector<Remainder>& remainders,
                                      AttemptPainter& paint) {
  for (const Bucket bucket : {Bucket::kDrain, Bucket::kStall}) {
    for (const Remainder& remainder : remainders) {
      if (remainder.bucket != bucket) continue;
      if (bucket == Bucket::kStall) {
        timeline_.stalls.push_back({attempt, remainder.step, remainder.last_progress, remainder.begin,
                                    remainder.end, 0, remainder.later_step, remainder.from});
      }
      paint.Paint(remainder.begin, remainder.end, bucket, "", remainder.evidence, remainder.from,
                  remainder.to, remainder.why);
    }
  }
  for (const Remainder& remainder : remainders) {
    paint.Paint(remainder.begin, remainder.end, Bucket::kUnobserved, "allocated", Evidence::kInferred,
                remainder.from, remainder.to, remainder.why);
  }
}

void TimelineBuilder::PaintWaiting(Painter& painter) const {
  Ns free_from = timeline_.begin;
  for (std::size_t a = 0; a < episodes_.size(); ++a) {
    const AttemptFacts& attempt = *episodes_[a].facts;
    // Of an imported attempt, only the time in which the log shows that it waited is known.
    if (attempt.heard_until && attempt.pending.empty()) continue;
    const Ns from = attempt.heard_until ? attempt.submit : free_from;
    const bool same_job = std::any_of(attempts_.begin(), attempts_.begin() + static_cast<std::ptrdiff_t>(a),
                                      [&](const AttemptFacts* b) { return b->job_id == attempt.job_id; });
    for (const Interval& claim : WaitingClaims(attempt, static_cast<int>(a), from, same_job, facts_.now)) {
      painter.Paint(claim);
    }
    free_from = std::max(free_from, attempt.end.value_or(facts_.now));
    if (a + 1 == episodes_.size()) continue;
    const AttemptFacts& next = *episodes_[a + 1].facts;
    const Ns requeued = std::max(free_from, next.submit);
    if (attempt.requeued_when_over) {
      painter.Paint(ResubmitGapClaim(next, static_cast<int>(a) + 1, free_from));
      free_from = requeued;
    }
    if (attempt.state != "REVOKED") continue;
    painter.Paint(RanElsewhereClaim(attempt, static_cast<int>(a), free_from, requeued));
    free_from = requeued;
  }
}

void TimelineBuilder::Summarise(std::size_t i) {
  IncarnationFacts& program = programs_[i].program;
  AttemptSummary& summary = timeline_.attempts[static_cast<std::size_t>(program.summary.attempt)];
  const auto widen = [](std::optional<std::int64_t>& into, const std::optional<std::int64_t>& value,
                        bool lower) {
    if (value && (!into || (lower ? *value < *into : *value > *into))) into = value;
  };
  widen(summary.first_step, program.summary.first_step, true);
  widen(summary.last_step, program.summary.last_step, false);
  widen(summary.kept_step, program.summary.kept_step, false);
  program.summary.first_step_excess = FirstStepExcess(program, fates_[i], options_);
  AddSteps(timeline_.steps.first_step_excess, program.summary.first_step_excess);
  // Checkpoints from files already have their evidence.
  for (Checkpoint& checkpoint : program.checkpoints.own()) {
    checkpoint.incarnation = static_cast<int>(i);
    if (checkpoint.evidence == Evidence::kMark) checkpoint.evidence = EvidenceOf(facts_, checkpoint.ref);
  }
  timeline_.checkpoints.Append(program.checkpoints, static_cast<int>(i), facts_);
  timeline_.incarnations.push_back(program.summary);
}

EndContext TimelineBuilder::ContextOf(std::size_t i) const {
  const Judged& judged = programs_[i];
  const auto a = static_cast<std::size_t>(judged.program.summary.attempt);
  EndContext context;
  context.attempt = attempts_[a];
  context.program = &judged.program;
  context.fate = &fates_[i];
  context.last_of_attempt = judged.last_of_attempt;
  context.stop = judged.stop;
  context.node_loss = judged.node_loss;
  context.script_killed = episodes_[a].allocation.script_killed;
  if (i + 1 < programs_.size()) {
    context.next = &programs_[i + 1].program;
    context.next_in_same_attempt = context.next->summary.attempt == judged.program.summary.attempt;
    context.next_of_same_job =
        attempts_[static_cast<std::size_t>(context.next->summary.attempt)]->job_id == context.attempt->job_id;
    context.next_ready = episodes_[static_cast<std::size_t>(context.next->summary.attempt)].allocation.ready;
  }
  return context;
}

void TimelineBuilder::FindStalePreemptedStates() {
  std::vector<EndContext> ends(attempts_.size());
  for (std::size_t a = 0; a < attempts_.size(); ++a) {
    const Episode& episode = episodes_[a];
    if (episode.end_program > episode.first_program) ends[a] = ContextOf(episode.end_program - 1);
    ends[a].attempt = attempts_[a];
  }
  remembered_ = FindRemembered(ends);
}

bool TimelineBuilder::KeptAll(std::size_t i) const {
  const std::vector<StepRecord>& steps = programs_[i].program.steps;
  return std::all_of(steps.begin(), steps.end(),
                     [&](const StepRecord& step) { return KeptSteps(fates_[i], step) == step.count(); });
}

void TimelineBuilder::FindInterruption(std::size_t i) {
  const Judged& judged = programs_[i];
  const Incarnation& summary = judged.program.summary;
  const auto a = static_cast<std::size_t>(summary.attempt);
  const bool last_program = i + 1 == programs_.size();
  const bool last_attempt = a + 1 == episodes_.size();
  if (!summary.ended) return;
  EndContext context = ContextOf(i);
  // A script may return success whatever its step did.
  const bool completed = !judged.stop && attempts_[a]->state == "COMPLETED" && !RanOutOfMemory(context);
  if (last_program && last_attempt && (judged.finished || completed)) return;
  // A job of a chain that did its work; the next one resumed from its last step.
  if (judged.last_of_attempt && completed && KeptAll(i)) return;
  if (!judged.last_of_attempt && judged.finished && programs_[i + 1].program.steps.empty()) return;
  if (fates_[i].training_ends) return;
  // The program ended but the allocation continues: whether that was an interruption is known when it ends.
  if (judged.last_of_attempt && !attempts_[a]->end) return;
  if (judged.last_of_attempt) context.remembered = remembered_[a];
  timeline_.interruptions.push_back(JudgeInterruption(context));
}

}  // namespace

Timeline BuildTimeline(const RunFacts& given, const TimelineOptions& options) {
  Timeline timeline;
  timeline.warnings = given.warnings;
  timeline.now = given.now;
  timeline.mended = WithoutTheImpossible(given, timeline.warnings);
  TimelineBuilder(timeline.mended ? *timeline.mended : given, options, timeline).Build();
  return timeline;
}

}  // namespace goodput
