#include "tools/accounting/timeline/inferred_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/step_rate.h"

namespace goodput {
namespace {

// An interval that took this much longer than its steps elsewhere contains something else.
constexpr double kSlack = 0.05;
// A checkpoint is overdue if none came for this many times the longest interval between two.
constexpr double kOverdue = 1.5;

constexpr const char* kUnknownSave =
    "a checkpoint was written; it is not known whether training waited for it";
constexpr const char* kUnknownBegin = "steps, or a save that was seen only once complete";
constexpr const char* kUnknownEarlier = "steps, or a save whose begin the file system does not record";
constexpr const char* kUnknownRate = "steps or startup, depending on whether training waited for its saves";
constexpr const char* kUnknownExcess = "longer than the same steps took elsewhere";
constexpr const char* kUnknownOrigin =
    "too short for all steps up to the first checkpoint: it is not known at which step it resumed";
constexpr const char* kUnknownStep = "the step during which it was told to stop, or its shutdown";
constexpr const char* kOverdueTail = "a checkpoint was overdue: it is not known when training stopped";

// One checkpoint as a milestone of training.
struct Milestone {
  std::int64_t step = 0;  // number of steps done
  Ns begin = 0;
  std::optional<Ns> complete;
  EvidenceRef ref;
  EvidenceRef complete_ref;
  // If it was seen only once complete, it is unknown since when training may have waited for it.
  bool begin_known = true;
  // The real time: a program may live on while its job completes, but its time is the allocation's.
  Ns begun = 0;
  Ns earlier = 0;  // it may have begun up to this much earlier
  // The program told of it, and for how long training waited: a part of `saves` and `cuts`.
  bool told = false;

  Evidence evidence() const { return told ? Evidence::kLog : Evidence::kFile; }
};

struct Journey {
  const Placeable* of = nullptr;
  std::vector<Milestone> milestones;
  std::optional<std::int64_t> resumed_from;  // absent: from the beginning
};

// Empty if steps decrease: the program restarted in between, at an unknown time.
std::vector<Milestone> MilestonesOf(const IncarnationFacts& program) {
  std::vector<Milestone> milestones;
  for (const Checkpoint& checkpoint : program.checkpoints) {
    const bool told = checkpoint.stands_for_steps;
    if ((checkpoint.evidence != Evidence::kFile && !told) || !checkpoint.step) continue;
    if (!milestones.empty() && *checkpoint.step == milestones.back().step) continue;
    if (!milestones.empty() && *checkpoint.step < milestones.back().step) return {};
    const Ns begin = std::clamp(checkpoint.begin, program.summary.begin, program.summary.end);
    milestones.push_back({*checkpoint.step, begin, checkpoint.complete, checkpoint.ref,
                          checkpoint.complete_ref, checkpoint.complete != checkpoint.begin, checkpoint.begin,
                          checkpoint.earlier, told});
  }
  return milestones;
}

Ns CompleteBy(const Milestone& milestone, Ns limit) {
  return std::clamp(milestone.complete.value_or(limit), milestone.begin, limit);
}

std::vector<Journey> FindJourneys(const std::vector<Placeable>& programs) {
  std::vector<Journey> journeys;
  std::vector<Milestone> complete;  // of all previous programs
  for (const Placeable& placeable : programs) {
    const IncarnationFacts& program = *placeable.program;
    if (program.steps.empty()) {
      Journey journey{&placeable, MilestonesOf(program), std::nullopt};
      if (!journey.milestones.empty()) {
        for (const Milestone& before : complete) {
          if (*before.complete > program.summary.begin || before.step >= journey.milestones.front().step)
            continue;
          journey.resumed_from = std::max(journey.resumed_from.value_or(before.step), before.step);
        }
        const std::optional<std::int64_t>& restored = program.summary.restored_step;
        if (journey.milestones.front().told && restored && *restored < journey.milestones.front().step)
          journey.resumed_from = restored;
        journeys.push_back(std::move(journey));
      }
    }
    for (const Milestone& milestone : MilestonesOf(program)) {
      if (milestone.complete) complete.push_back(milestone);
    }
  }
  return journeys;
}

std::vector<SaveInterval> IntervalsOf(const std::vector<Journey>& journeys) {
  std::vector<SaveInterval> intervals;
  for (const Journey& journey : journeys) {
    const std::vector<TimeSpan>& cuts = journey.of->program->cuts;
    for (std::size_t i = 1; i < journey.milestones.size(); ++i) {
      const Milestone& from = journey.milestones[i - 1];
      const Milestone& to = journey.milestones[i];
      // The duration of a save that never completed is unknown.
      if (!from.complete || to.begun != to.begin) continue;
      intervals.push_back({NetTime(cuts, from.begin, to.begin),
                           from.told ? 0 : NetTime(cuts, from.begin, CompleteBy(from, to.begin)),
                           to.step - from.step});
    }
  }
  return intervals;
}

// Places one program's steps.
class Placer {
 public:
  Placer(const Journey& journey, const StepRate& rate, Ns overdue)
      : program_(*journey.of->program),
        of_(*journey.of),
        milestones_(journey.milestones),
        resumed_from_(journey.resumed_from.value_or(0)),
        rate_(rate),
        overdue_(overdue) {}

  void Place() {
    PlaceFirst();
    for (std::size_t i = 1; i < milestones_.size(); ++i)
      PlaceBetween(i, Resume(i - 1, During::kAsUsual, milestones_[i].begin));
    PlaceTail();
    if (!program_.steps.empty()) Finish();
  }

 private:
  Ns TimeOf(std::int64_t steps, Ns each) const { return TimesAtMost(each, steps); }

  void AddRecord(std::int64_t lo, std::int64_t hi, Ns begin, Ns end, Evidence evidence,
                 const EvidenceRef& from, const EvidenceRef& to) {
    StepRecord record;
    record.lo = lo;
    record.hi = hi;
    record.begin = begin;
    record.end = record.work_end = std::max(begin, end);
    record.ref = from;
    record.next_ref = to;
    record.evidence = evidence;
    program_.steps.push_back(record);
  }

  void AddUnknown(Ns begin, Ns end, const char* why, const EvidenceRef& from) {
    if (begin < end) program_.unknown.push_back({begin, end, why, from, {}, Evidence::kInferred});
  }

  // The moment this much net time before `end`, at the earliest `begin`.
  Ns Before(Ns begin, Ns end, Ns net) const {
    const Ns whole = NetTime(program_.cuts, begin, end);
    return net >= whole ? begin : AfterNetTime(program_.cuts, begin, end, whole - net);
  }

  void PlaceFirst() {
    const Milestone& first = milestones_.front();
    const std::int64_t steps = first.step - resumed_from_;
    const Ns begin = program_.summary.begin;
    const Ns available = NetTime(program_.cuts, begin, first.begin);
    const double needed = static_cast<double>(TimeOf(steps, rate_.fastest));
    if (steps <= 0) return;
    if (!first.begin_known) {
      AddUnknown(begin, first.begin, kUnknownBegin, first.ref);
      return;
    }
    if (needed > static_cast<double>(available) * (1 + kSlack) + static_cast<double>(rate_.fastest)) {
      AddUnknown(begin, first.begin, kUnknownOrigin, first.ref);
      return;
    }
    const Ns late = Before(begin, first.begin, TimeOf(steps, rate_.fastest));
    const Ns early = Before(begin, first.begin, TimeOf(steps, rate_.slowest));
    AddUnknown(early, late, kUnknownRate, first.ref);
    AddUnknown(std::max(late, first.begin - first.earlier), first.begin, kUnknownEarlier, first.ref);
    AddRecord(resumed_from_ + 1, first.step, late, first.begin, Evidence::kInferred, {}, first.ref);
  }

  // What training did while milestone i was written, until `limit`; returns when it continued.
  enum class During { kAsUsual, kWaited, kUnknown };
  Ns Resume(std::size_t i, During during, Ns limit) {
    const Milestone& milestone = milestones_[i];
    if (milestone.told) return milestone.begin;
    const Ns complete = CompleteBy(milestone, std::max(limit, milestone.begin));
    if (during == During::kAsUsual && rate_.saves_block)
      during = *rate_.saves_block ? During::kWaited : During::kAsUsual;
    if (during == During::kAsUsual && rate_.saves_block) return milestone.begin;
    if (during == During::kWaited) {
      program_.saves.push_back(
          {milestone.begin, complete, "", milestone.ref, milestone.complete_ref, Evidence::kFile});
    } else {
      AddUnknown(milestone.begin, complete, kUnknownSave, milestone.ref);
    }
    return complete;
  }

  void PlaceBetween(std::size_t i, Ns resumes) {
    const Milestone& from = milestones_[i - 1];
    const Milestone& to = milestones_[i];
    if (!to.begin_known) {
      AddUnknown(resumes, to.begin, kUnknownBegin, to.ref);
      AddRecord(from.step + 1, to.step, resumes, to.begin, from.evidence(), from.ref, to.ref);
      return;
    }
    const std::int64_t steps = to.step - from.step;
    const Ns net = NetTime(program_.cuts, resumes, to.begin);
    const Ns usual = TimeOf(steps, rate_.slowest);
    const auto most = static_cast<double>(usual) * (1 + kSlack) + static_cast<double>(rate_.slowest);
    if (static_cast<double>(net) > most) {
      const Ns late = Before(resumes, to.begin, usual);
      AddUnknown(resumes, late, kUnknownExcess, from.ref);
      resumes = late;
    }
    AddUnknown(std::max(resumes, to.begin - to.earlier), to.begin, kUnknownEarlier, to.ref);
    AddRecord(from.step + 1, to.step, resumes, to.begin, from.evidence(), from.ref, to.ref);
  }

  // After the last checkpoint. The record of the last steps extends to the end, as if they had been marked:
  // excess time is judged as for any program.
  void PlaceTail() {
    const Milestone& last = milestones_.back();
    const std::size_t i = milestones_.size() - 1;
    const Ns end = std::max(of_.end, last.begin);
    const bool answered = of_.stop && last.begun >= *of_.stop;
    // No step came after a requested save. A program that exited as soon as another save was complete may
    // have waited for it, even if it usually does not.
    During during = answered ? During::kWaited : During::kAsUsual;
    const bool left_with_it = last.complete && end - CompleteBy(last, end) < rate_.fastest;
    if (!answered && left_with_it && rate_.saves_block == false) during = During::kUnknown;
    const bool trains_meanwhile = last.told || (during == During::kAsUsual && rate_.saves_block == false);
    const Ns from = trains_meanwhile ? last.begin : CompleteBy(last, end);
    const Ns until = of_.stop ? std::clamp(*of_.stop, from, end) : end;
    const Ns net = answered ? 0 : NetTime(program_.cuts, from, until);
    if (net > overdue_) {
      // It stopped training somewhere in between.
      Resume(i, during, end);
      AddUnknown(from, until, kOverdueTail, last.ref);
      if (of_.stop) AddUnknown(until, std::min(end, until + rate_.slowest), kUnknownStep, last.ref);
      if (of_.stop && !program_.steps.empty()) program_.steps.back().end = end;
      return;
    }
    // Less than half a step is the shutdown; but the step in flight at a kill had begun.
    std::int64_t steps = net / rate_.fastest;
    const Ns rest = net % rate_.fastest;
    if (of_.finished ? 2 * rest >= rate_.fastest : rest > 0) ++steps;
    if (steps == 0) {
      // No step came after it.
      Resume(i, during == During::kAsUsual ? During::kWaited : during, end);
      if (!program_.steps.empty()) program_.steps.back().end = end;
      return;
    }
    Resume(i, during, end);
    AddRecord(last.step + 1, last.step + steps, from, end, Evidence::kInferred, last.ref, {});
    if (of_.stop && rate_.fastest != rate_.slowest) {
      // It is also unknown where in a step it was told to stop.
      AddUnknown(until, std::min(end, until + rate_.slowest), kUnknownStep, last.ref);
      program_.steps.back().work_end = until;
    }
  }

  void Finish() {
    IncarnationFacts& program = program_;
    std::vector<TimeSpan> cuts = program.cuts;
    for (const PhaseSpan& save : program.saves) cuts.push_back({save.begin, save.end});
    for (const PhaseSpan& span : program.unknown) cuts.push_back({span.begin, span.end});
    program.cuts = MergeSpans(std::move(cuts));
    for (StepRecord& step : program.steps) {
      step.net = NetTime(program.cuts, step.begin, step.end);
      program.step_times.Add(rate_.fastest, step.count());
    }
    program.median_step = rate_.fastest;
    program.placed = true;
    program.summary.first_step = program.steps.front().lo;
    program.summary.first_step_begin = program.steps.front().begin;
    program.summary.last_step = program.steps.back().hi;
  }

  IncarnationFacts& program_;
  const Placeable& of_;
  const std::vector<Milestone>& milestones_;
  std::int64_t resumed_from_;
  const StepRate& rate_;
  Ns overdue_;
};

}  // namespace

void InferSteps(const std::vector<Placeable>& programs) {
  const std::vector<Journey> journeys = FindJourneys(programs);
  const std::vector<SaveInterval> intervals = IntervalsOf(journeys);
  const std::optional<StepRate> rate = FindStepRate(intervals);
  if (!rate) return;
  Ns longest = 0;
  for (const SaveInterval& interval : intervals) longest = std::max(longest, interval.ns);
  const auto overdue = static_cast<Ns>(std::min(kOverdue * static_cast<double>(longest), 1e18));
  for (const Journey& journey : journeys) Placer(journey, *rate, overdue).Place();
}

}  // namespace goodput
