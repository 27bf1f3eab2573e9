#include "tools/accounting/timeline/read_incarnation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tools/accounting/timeline/sanitize_facts.h"

namespace goodput {
namespace {

// A program needs about this long to mark the end of one step and the begin of the next.
constexpr Ns kLeastBetweenSteps = kSecond / 1000;

// Finds steps for one time after another, of which most are a little later.
class NextStep {
 public:
  explicit NextStep(const IncarnationFacts& program) : program_(program) {}

  // The begin of the first step after `t`, else the program's end: where something that never ended is cut
  // off.
  std::pair<Ns, EvidenceRef> After(Ns t) {
    const std::vector<StepRecord>& steps = program_.steps;
    for (int i = 0; i < kFew && next_ < steps.size() && steps[next_].begin <= t; ++i) ++next_;
    const bool found =
        (next_ == 0 || steps[next_ - 1].begin <= t) && (next_ == steps.size() || t < steps[next_].begin);
    if (!found) {
      const auto after = std::upper_bound(
          steps.begin(), steps.end(), t, [](Ns value, const StepRecord& step) { return value < step.begin; });
      next_ = static_cast<std::size_t>(after - steps.begin());
    }
    if (next_ == steps.size()) return {program_.summary.end, {}};
    return {steps[next_].begin, steps[next_].ref};
  }

 private:
  static constexpr int kFew = 8;
  const IncarnationFacts& program_;
  std::size_t next_ = 0;
};

// The only step that began within (begin, end), if there is exactly one: then training was blocked after its
// begin as well. If there are several, training continued, whatever the phase says.
const StepRecord* OnlyStepWithin(const IncarnationFacts& program, Ns begin, Ns end) {
  const auto first = std::upper_bound(program.steps.begin(), program.steps.end(), begin,
                                      [](Ns value, const StepRecord& step) { return value < step.begin; });
  if (first == program.steps.end() || first->begin >= end || first->block != nullptr) return nullptr;
  const auto second = std::next(first);
  return second == program.steps.end() || second->begin >= end ? &*first : nullptr;
}

void ReadCheckpoints(const std::vector<const Mark*>& marks, IncarnationFacts& program) {
  struct Open {
    const Mark* begin = nullptr;
    const Mark* released = nullptr;  // when training continued, for a background save
  };
  std::map<Teller, Open> open;
  constexpr std::size_t kNone = ~std::size_t{0};
  struct Try {
    Teller writer;               // the first
    std::size_t before = kNone;  // of the same step
  };
  std::vector<Try> tries;                                  // of checkpoints
  std::set<std::pair<std::size_t, Teller>> more_writers;   // of which of them
  std::unordered_map<std::int64_t, std::size_t> last_try;  // of a step
  const auto saves = static_cast<std::size_t>(std::count_if(marks.begin(), marks.end(), [](const Mark* mark) {
    return mark->kind == Mark::Kind::kCheckpoint && mark->begin;
  }));
  std::vector<Checkpoint>& checkpoints = program.checkpoints.own();
  program.saves.reserve(saves);
  checkpoints.reserve(saves);
  tries.reserve(saves);
  NextStep next(program);
  const auto add = [&](const Teller& teller, const Open& save, const Mark* end) {
    const Mark* begin = save.begin;
    Checkpoint checkpoint;
    checkpoint.step = begin->train_step ? begin->train_step : end != nullptr ? end->train_step : std::nullopt;
    checkpoint.begin = begin->t;
    checkpoint.ref = begin->ref;
    if (end != nullptr) checkpoint.complete = end->t;
    checkpoint.stands_for_steps = begin->name == kStepsUntold;
    auto [blocked_until, closing] = next.After(begin->t);
    for (const Mark* over : {end, save.released}) {
      if (over != nullptr && over->t < blocked_until) {
        std::tie(blocked_until, closing) = std::pair{over->t, over->ref};
      }
    }
    program.saves.push_back({begin->t, blocked_until, "", begin->ref, closing});
    // Ranks that save the same step write one checkpoint: it begins with the first and is complete with the
    // last. The same rank saving it once more is another try.
    std::size_t before = kNone;
    if (checkpoint.step)
      before = std::exchange(last_try.try_emplace(*checkpoint.step, kNone).first->second, tries.size());
    for (std::size_t i = before; i != kNone; i = tries[i].before) {
      Checkpoint& same = checkpoints[i];
      if (tries[i].writer == teller || more_writers.count({i, teller}) != 0) continue;
      if (checkpoint.begin < same.begin) {
        same.begin = checkpoint.begin;
        same.ref = checkpoint.ref;
      }
      same.complete = same.complete && checkpoint.complete
                          ? std::optional<Ns>(std::max(*same.complete, *checkpoint.complete))
                          : std::nullopt;
      more_writers.insert({i, teller});
      last_try[*checkpoint.step] = before;
      return;
    }
    checkpoints.push_back(checkpoint);
    tries.push_back({teller, before});
  };
  for (const Mark* mark : marks) {
    if (mark->kind != Mark::Kind::kCheckpoint) continue;
    const Teller teller{mark->slurm_step, mark->task};
    auto found = open.find(teller);
    if (mark->begin) {
      if (found != open.end()) {
        // A duplicate.
        const Mark& begun = *found->second.begin;
        if (begun.t == mark->t && begun.train_step == mark->train_step) continue;
        add(teller, found->second, nullptr);
      }
      open[teller] = {mark, nullptr};
    } else if (found != open.end() && mark->name == kInBackground) {
      if (found->second.released == nullptr) found->second.released = mark;
    } else if (found != open.end()) {
      add(teller, found->second, mark);
      open.erase(found);
    }
  }
  for (const auto& [teller, save] : open) add(teller, save, nullptr);
  std::sort(checkpoints.begin(), checkpoints.end(), [](const Checkpoint& a, const Checkpoint& b) {
    return std::tie(a.begin, a.complete, a.step) < std::tie(b.begin, b.complete, b.step);
  });
}

void ReadPhases(const std::vector<const Mark*>& marks, IncarnationFacts& program) {
  std::map<std::pair<std::string, Teller>, const Mark*> open;
  NextStep next(program);
  const auto add = [&](const std::string& name, const Mark* begin, const Mark* end) {
    auto [until, closing] = next.After(begin->t);
    if (end != nullptr && end->t < until) std::tie(until, closing) = std::pair{end->t, end->ref};
    if (name.compare(0, kSavePart.size(), kSavePart) == 0) {
      program.save_parts.push_back({begin->t, until, name.substr(kSavePart.size()), begin->ref, closing});
      return;
    }
    const bool started = program.summary.first_step_begin && begin->t >= *program.summary.first_step_begin;
    // If another rank began a step meanwhile, it waited for this one's.
    const bool blocks = end != nullptr && !IsStartupPhase(name) && name != kBetweenSteps;
    const StepRecord* within = blocks ? OnlyStepWithin(program, begin->t, end->t) : nullptr;
    if (within != nullptr && started) std::tie(until, closing) = std::pair{end->t, end->ref};
    if (within != nullptr && !started)
      program.overhead.push_back({within->begin, end->t, name, begin->ref, end->ref});
    // Loading data is part of a step.
    if (started && name == "data_loading") return;
    (started ? program.overhead : program.startup_parts)
        .push_back({begin->t, until, name, begin->ref, closing});
  };
  for (const Mark* mark : marks) {
    if (mark->kind != Mark::Kind::kPhase && mark->kind != Mark::Kind::kRestore) continue;
    const std::pair key{mark->kind == Mark::Kind::kRestore ? std::string("restore") : mark->name,
                        Teller{mark->slurm_step, mark->task}};
    auto found = open.find(key);
    if (mark->begin) {
      if (found != open.end()) {
        if (found->second->t == mark->t) continue;
        add(key.first, found->second, nullptr);
      }
      open[key] = mark;
    } else if (found != open.end()) {
      add(key.first, found->second, mark);
      open.erase(found);
    }
  }
  for (const auto& [key, begin] : open) add(key.first, begin, nullptr);
}

// For a save in the middle of a record: had the step's result been computed by then? Programs save after the
// update (nearly all of the step's work lies before) or at the top of the loop (nearly all lies after).
//
// `saves`: those that begin in the record, by begin. `expected_ns`: what the step usually takes, 0 where that
// is not known.
Ns WorkEnd(const IncarnationFacts& program, const StepRecord& step, const std::vector<TimeSpan>& saves,
           bool last, Ns expected_ns) {
  for (const TimeSpan& save : saves) {
    const Ns before = NetTime(program.cuts, step.begin, save.begin);
    const Ns after = NetTime(program.cuts, save.end, step.end);
    // If a save took the rest of the step, or was still being written when the next began, only the time
    // before it can be judged.
    const bool done = last || after == 0 ? before >= expected_ns / 2 : before >= after;
    if (done) return save.begin;
  }
  return step.end;
}

// Looks for what begins in one step after the other.
class SavesOfSteps {
 public:
  explicit SavesOfSteps(const IncarnationFacts& program)
      : program_(program), save_(program.saves.begin()), whole_(program.whole_saves.begin()) {}

  // By begin; valid until the next call.
  const std::vector<TimeSpan>& In(const StepRecord& step) {
    found_.clear();
    while (save_ != program_.saves.end() && save_->begin < step.begin) ++save_;
    for (; save_ != program_.saves.end() && save_->begin < step.end; ++save_)
      found_.push_back({save_->begin, save_->end});
    const auto others = static_cast<std::ptrdiff_t>(found_.size());
    while (whole_ != program_.whole_saves.end() && whole_->begin < step.begin) ++whole_;
    for (; whole_ != program_.whole_saves.end() && whole_->begin < step.end; ++whole_)
      found_.push_back({whole_->begin, whole_->end});
    std::inplace_merge(found_.begin(), found_.begin() + others, found_.end(),
                       [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
    return found_;
  }

 private:
  const IncarnationFacts& program_;
  std::vector<PhaseSpan>::const_iterator save_;
  SaveRanges::Iterator whole_;
  std::vector<TimeSpan> found_;
};

// The last record, if the program marked the end of its last step: then the next step had begun, unless the
// program was done.
void CloseLastStep(const std::vector<const Mark*>& marks, bool finished, IncarnationFacts& program) {
  const StepRecord& last = program.steps.back();
  const Mark* end = nullptr;
  for (const Mark* mark : marks) {
    const bool its = mark->kind == Mark::Kind::kStepEnd && mark->train_step.value_or(-1) >= last.lo &&
                     mark->t >= last.begin && mark->t <= program.summary.end;
    if (its && (end == nullptr || std::tie(*mark->train_step, mark->t) > std::tie(*end->train_step, end->t)))
      end = mark;
  }
  if (end == nullptr) return;
  StepRecord next = last;
  program.steps.back().hi = *end->train_step;
  program.steps.back().end = end->t;
  program.steps.back().next_ref = end->ref;
  const bool may_be_more = end->name == kMayBeMore;
  if ((finished && !may_be_more) || end->t >= program.summary.end) return;
  next.may_be_more = may_be_more;
  next.lo = next.hi = *end->train_step + 1;
  next.begin = end->t;
  next.end = std::max(next.begin, program.summary.end);
  next.ref = end->ref;
  next.next_ref = {};
  next.in_flight = true;
  program.steps.push_back(next);
}

// What happened in one step after the other.
class Contents {
 public:
  Contents(const Told& told, const Allocation& allocation) : told_(told), allocation_(allocation) {}

  InStep Of(Ns begin, Ns end) {
    if (begin < asked_) Rewind();
    asked_ = begin;
    while (mark_t_ < begin) NextMark();
    while (save_t_ < begin) NextSave();
    InStep in;
    in.other = mark_t_ < end;
    for (const TimeSpan& suspended : allocation_.suspended)
      in.other |= suspended.begin < end && suspended.end > begin;
    if (!in.other && save_t_ >= end && allocation_.suspended.empty())
      in.nothing_until = std::min(mark_t_, save_t_);
    for (auto save = save_; save != told_.saves.end() && save->begin < end; ++save) {
      in.saved = true;
      in.save_ns += save->end - save->begin;
      in.other |= save->end >= end;
    }
    return in;
  }

 private:
  void Rewind() {
    mark_ = told_.marks.begin();
    save_ = told_.saves.begin();
    ReadTimes();
  }
  void NextMark() {
    ++mark_;
    ReadTimes();
  }
  void NextSave() {
    ++save_;
    ReadTimes();
  }
  void ReadTimes() {
    mark_t_ = mark_ == told_.marks.end() ? INT64_MAX : (*mark_)->t;
    save_t_ = save_ == told_.saves.end() ? INT64_MAX : save_->begin;
  }

  const Told& told_;
  const Allocation& allocation_;
  std::vector<const Mark*>::const_iterator mark_;  // the next one, as save_
  SaveRanges::Iterator save_;
  Ns mark_t_ = 0;  // the time of mark_
  Ns save_t_ = 0;
  Ns asked_ = INT64_MAX;
};

// Blocks of steps without other events are not expanded. The first step of a start is different, and the last
// one is already a separate record.
void ReadSteps(const Folded& folded, const Allocation& allocation, const Told& told, const StepReader* reader,
               bool finished, IncarnationFacts& program) {
  const std::vector<const Mark*>& marks = told.marks;
  program.steps = RecordsOf(folded);
  program.arrivals = folded.arrivals;
  if (program.steps.empty()) return;
  StepRecord& last = program.steps.back();
  last.hi = std::max(last.hi, last.lo + UsualCount(program.steps) - 1);
  last.end = std::max(last.begin, program.summary.end);
  CloseLastStep(marks, finished, program);
  program.summary.first_step = program.steps.front().lo;
  program.summary.first_step_begin = program.steps.front().begin;
  program.summary.last_step = program.steps.back().hi - (program.steps.back().in_flight ? 1 : 0);
  // Few enough for an exact median.
  const bool few = CountRecords(program.steps) <= static_cast<std::int64_t>(kExactDurations) + 2;
  const Ns first_begin = program.steps.front().begin;
  ExpandBlocks(program.steps, reader, [&](const StepRecord& step) {
    return few || step.begin == first_begin || !told.step_ends.empty();
  });
  Contents contents(told, allocation);
  SplitBlocks(program.steps, reader, program.parts,
              [&](Ns begin, Ns end) { return contents.Of(begin, end); });
}

// Those within one step become program.whole_saves. Returns marks for the others.
std::vector<Mark> ReadWholeSaves(const SaveRanges& saves, IncarnationFacts& program) {
  std::vector<Mark> others;
  const std::vector<StepRecord>& steps = program.steps;
  std::size_t next = 0;  // step
  for (auto save = saves.begin(); save != saves.end(); ++save) {
    while (next < steps.size() && steps[next].begin <= save->begin) ++next;
    // A part has only saves that are within one of its steps.
    if (next > 0 && save->end < steps[next - 1].end) {
      program.whole_saves.Add(save.block(), save.index());
    } else {
      AppendMarks(save.block(), *save, others);
    }
  }
  program.checkpoints.SetSaves(program.whole_saves);
  return others;
}

// The incarnation's marks of saves.
void ReadSaves(const Told& told, IncarnationFacts& program) {
  const std::vector<Mark> others = ReadWholeSaves(told.saves, program);
  if (others.empty()) return ReadCheckpoints(told.marks, program);
  std::vector<const Mark*> marks = told.marks;
  for (const Mark& mark : others) marks.push_back(&mark);
  ReadCheckpoints(InOrder(std::move(marks)), program);
}

// From the end of a step, by the last task that marks it, to the begin of the next.
void ReadTimeBetweenSteps(const std::vector<StepMark>& step_ends, IncarnationFacts& program) {
  std::vector<const StepMark*> ends(program.steps.size());
  for (const StepMark& end : step_ends) {
    const auto after = std::upper_bound(program.steps.begin(), program.steps.end(), end.t,
                                        [](Ns t, const StepRecord& step) { return t < step.begin; });
    if (after == program.steps.begin()) continue;
    const StepRecord& step = *std::prev(after);
    const StepMark*& last = ends[static_cast<std::size_t>(std::prev(after) - program.steps.begin())];
    if (step.hi == end.train_step && end.t < step.end && (last == nullptr || end.t > last->t)) last = &end;
  }
  for (std::size_t i = 0; i + 1 < program.steps.size(); ++i) {
    const StepRecord& step = program.steps[i];
    if (ends[i] == nullptr || step.end - ends[i]->t < kLeastBetweenSteps) continue;
    program.overhead.push_back(
        {ends[i]->t, step.end, std::string(kBetweenSteps), ends[i]->ref, step.next_ref});
  }
}

// Failures of the steps of one record, by task, each in order.
using Failures = std::map<Teller, std::vector<const Mark*>>;

// All tasks may say that a step failed; the one that said so most often has missed the least.
const std::vector<const Mark*>& MostOf(const Failures& failures) {
  return std::max_element(failures.begin(), failures.end(),
                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->second;
}

// What a step's try took that failed: the time since the step's begin, or since the try before it failed. Of
// several steps in one record, when each began is not known, and each try takes an equal share of it.
void AddFailedTries(const StepRecord& step, const std::vector<const Mark*>& tries,
                    IncarnationFacts& program) {
  const bool one = step.count() == 1;
  const Ns share = (step.end - step.begin) / (step.count() + static_cast<Ns>(tries.size()));
  Ns last = step.begin;
  EvidenceRef ref = step.ref;
  for (const Mark* mark : tries) {
    const Ns end = std::min(mark->t, step.end);
    const Ns begin = one ? last : std::max(last, end - share);
    PhaseSpan failed{begin, end, std::string(kFailedStep), ref, mark->ref};
    if (!one) failed.evidence = Evidence::kInferred;
    if (begin < end) program.failed_tries.push_back(std::move(failed));
    last = end;
    ref = mark->ref;
  }
}

void ReadFailedTries(const std::vector<const Mark*>& marks, IncarnationFacts& program) {
  std::map<std::size_t, Failures> failures;  // by step record
  const std::vector<StepRecord>& steps = program.steps;
  for (const Mark* mark : marks) {
    if (mark->kind != Mark::Kind::kStepFailed) continue;
    const auto next = std::lower_bound(steps.begin(), steps.end(), mark->t,
                                       [](const StepRecord& step, Ns t) { return step.begin < t; });
    if (next == steps.begin()) continue;
    std::vector<const Mark*>& tries =
        failures[static_cast<std::size_t>(next - steps.begin()) - 1][{mark->slurm_step, mark->task}];
    const bool duplicate = !tries.empty() && tries.back()->t == mark->t;
    if (!duplicate) tries.push_back(mark);
  }
  for (const auto& [index, of_step] : failures) AddFailedTries(steps[index], MostOf(of_step), program);
}

void ReadExit(const Allocation& allocation, IncarnationFacts& program) {
  Incarnation& incarnation = program.summary;
  for (const TaskLife& life : allocation.lives) {
    if (program.slurm_steps.count(life.slurm_step) == 0) continue;
    const bool failed = life.exit_signal || life.exit_code.value_or(0) != 0;
    if (failed && life.exit_time && (!program.failed_at || *life.exit_time < *program.failed_at)) {
      program.failed_at = life.exit_time;
      program.failed_by = life.exit_signal;
    }
    if (life.exit_signal && !incarnation.exit_signal) incarnation.exit_signal = life.exit_signal;
    if (life.exit_code) incarnation.exit_code = std::max(incarnation.exit_code.value_or(0), *life.exit_code);
    if (life.exit_time)
      incarnation.exited = std::max(incarnation.exited.value_or(*life.exit_time), *life.exit_time);
  }
}

}  // namespace

bool IsStartupPhase(std::string_view name) {
  constexpr std::array kNames{"init",        "data_loading",  "compile",       "restore",
                              "rendezvous",  "health_check",  "worker_launch", "container_load",
                              "python_init", "megatron_init", "model_init",    "dataloader"};
  return name == kElasticReinitPhase || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<const Mark*> InOrder(std::vector<const Mark*> marks) {
  std::sort(marks.begin(), marks.end(), [](const Mark* a, const Mark* b) {
    // At the same time, the order in the file; without a file, begins before ends.
    return std::tie(a->t, a->ref.source, a->ref.offset, a->kind, b->begin, a->slurm_step, a->task, a->name,
                    a->train_step) < std::tie(b->t, b->ref.source, b->ref.offset, b->kind, a->begin,
                                              b->slurm_step, b->task, b->name, b->train_step);
  });
  return marks;
}

void MeasureSteps(const Allocation& allocation, IncarnationFacts& program) {
  program.step_times = program.parts.times;
  std::vector<TimeSpan> cuts = allocation.suspended;
  cuts.reserve(cuts.size() + program.whole_saves.size() + program.saves.size());
  for (const SaveSpan& save : program.whole_saves) cuts.push_back({save.begin, save.end});
  for (const PhaseSpan& save : program.saves) cuts.push_back({save.begin, save.end});
  for (const PhaseSpan& part : program.save_parts) cuts.push_back({part.begin, part.end});
  for (const PhaseSpan& phase : program.overhead) cuts.push_back({phase.begin, phase.end});
  for (const PhaseSpan& failed : program.failed_tries) cuts.push_back({failed.begin, failed.end});
  program.cuts = MergeSpans(std::move(cuts));
  std::sort(program.saves.begin(), program.saves.end(),
            [](const PhaseSpan& a, const PhaseSpan& b) { return a.begin < b.begin; });
  auto cut = program.cuts.begin();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    StepRecord& step = program.steps[i];
    // Most steps have no cut.
    while (cut != program.cuts.end() && cut->end <= step.begin) ++cut;
    const bool whole = cut == program.cuts.end() || cut->begin >= step.end;
    step.net = whole ? std::max<Ns>(0, step.end - step.begin) : NetTime(program.cuts, step.begin, step.end);
    if (i == 0 || i + 1 == program.steps.size()) continue;
    if (step.block != nullptr) {
      if (!step.part) program.step_times.Merge(step.block->durations);
    } else {
      program.step_times.Add(step.net / step.count());
    }
  }
  program.median_step = program.step_times.Median();
  SavesOfSteps saves(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    StepRecord& step = program.steps[i];
    // If only some of a block's steps are kept, it is expanded.
    if (step.block != nullptr) continue;
    const bool last = i + 1 == program.steps.size();
    step.work_end = WorkEnd(program, step, saves.In(step), last,
                            TimesAtMost(program.median_step.value_or(0), step.count()));
  }
}

void MeasureStep(const IncarnationFacts& program, StepRecord& step) {
  step.net = NetTime(program.cuts, step.begin, step.end);
  std::vector<TimeSpan> saves;
  const SaveRanges& whole = program.whole_saves;
  for (auto save = whole.FirstAt(step.begin); save != whole.end() && save->begin < step.end; ++save)
    saves.push_back({save->begin, save->end});
  step.work_end = WorkEnd(program, step, saves, false, 0);
}

IncarnationFacts ReadIncarnation(int attempt_index, const std::set<std::int32_t>& slurm_steps,
                                 const Bounds& bounds, const Folded& folded, const Told& told,
                                 const Allocation& allocation, const StepReader* reader) {
  const std::vector<const Mark*>& marks = told.marks;
  IncarnationFacts program;
  program.summary.attempt = attempt_index;
  program.summary.slurm_step = slurm_steps.empty() ? kNoStep : *slurm_steps.begin();
  program.slurm_steps = slurm_steps;
  program.summary.begin = bounds.begin;
  program.summary.end = bounds.end;
  program.summary.ended = bounds.ended;
  if (bounds.exits) ReadExit(allocation, program);
  const Incarnation& summary = program.summary;
  const bool finished = bounds.exits && !summary.exit_signal &&
                        (summary.exit_code ? *summary.exit_code == 0 : bounds.completed);
  ReadSteps(folded, allocation, told, reader, finished, program);
  ReadSaves(told, program);
  ReadPhases(marks, program);
  ReadFailedTries(marks, program);
  // Covers only what has no name of its own.
  ReadTimeBetweenSteps(told.step_ends, program);
  MeasureSteps(allocation, program);
  for (const Mark* mark : marks) {
    program.last_evidence = std::max(program.last_evidence.value_or(mark->t), mark->t);
    const bool before_steps =
        !program.summary.first_step_begin || mark->t <= *program.summary.first_step_begin;
    if (mark->kind == Mark::Kind::kRestore && mark->train_step && before_steps) {
      program.summary.restored_step = mark->train_step;
    }
  }
  for (const SaveSpan& save : told.saves)
    program.last_evidence = std::max(program.last_evidence.value_or(save.end), save.end);
  if (!program.steps.empty()) {
    program.last_evidence = std::max(program.last_evidence.value_or(0), program.steps.back().begin);
  }
  return program;
}

}  // namespace goodput
