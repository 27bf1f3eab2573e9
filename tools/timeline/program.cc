#include "tools/timeline/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tools/timeline/checkpoint_files.h"
#include "tools/timeline/plausible.h"

namespace goodput {
namespace {

bool IsStartupPhase(const std::string& name) {
  return name == "init" || name == "data_loading" || name == "compile" || name == "restore";
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

// The begin of the first step after `t`, else the program's end: where something that never ended is cut off.
std::pair<Ns, EvidenceRef> NextStepAfter(const Program& program, Ns t) {
  const auto next = std::upper_bound(program.steps.begin(), program.steps.end(), t,
                                     [](Ns value, const StepRecord& step) { return value < step.begin; });
  if (next == program.steps.end()) return {program.summary.end, {}};
  return {next->begin, next->ref};
}

void ReadCheckpoints(const std::vector<const Mark*>& marks, Program& program) {
  std::map<Teller, const Mark*> open;
  std::vector<std::set<Teller>> writers;                     // of program.checkpoints
  std::map<std::int64_t, std::vector<std::size_t>> of_step;  // which of them
  const auto add = [&](const Teller& teller, const Mark* begin, const Mark* end) {
    Checkpoint checkpoint;
    checkpoint.step = begin->train_step ? begin->train_step : end != nullptr ? end->train_step : std::nullopt;
    checkpoint.begin = begin->t;
    checkpoint.ref = begin->ref;
    if (end != nullptr) checkpoint.complete = end->t;
    auto [blocked_until, closing] = NextStepAfter(program, begin->t);
    if (end != nullptr && end->t < blocked_until) {
      std::tie(blocked_until, closing) = std::pair{end->t, end->ref};
    }
    program.saves.push_back({begin->t, blocked_until, "", begin->ref, closing});
    // Ranks that save the same step write one checkpoint: it begins with the first and is complete with the
    // last. The same rank saving it once more is another try.
    std::vector<std::size_t> none;
    std::vector<std::size_t>& tries = checkpoint.step ? of_step[*checkpoint.step] : none;
    for (auto i = tries.rbegin(); i != tries.rend(); ++i) {
      Checkpoint& same = program.checkpoints[*i];
      if (writers[*i].count(teller) != 0) continue;
      if (checkpoint.begin < same.begin) {
        same.begin = checkpoint.begin;
        same.ref = checkpoint.ref;
      }
      same.complete = same.complete && checkpoint.complete
                          ? std::optional<Ns>(std::max(*same.complete, *checkpoint.complete))
                          : std::nullopt;
      writers[*i].insert(teller);
      return;
    }
    tries.push_back(program.checkpoints.size());
    program.checkpoints.push_back(checkpoint);
    writers.push_back({teller});
  };
  for (const Mark* mark : marks) {
    if (mark->kind != Mark::Kind::kCheckpoint) continue;
    const Teller teller{mark->slurm_step, mark->task};
    auto found = open.find(teller);
    if (mark->begin) {
      if (found != open.end()) {
        // A duplicate.
        if (found->second->t == mark->t && found->second->train_step == mark->train_step) continue;
        add(teller, found->second, nullptr);
      }
      open[teller] = mark;
    } else if (found != open.end()) {
      add(teller, found->second, mark);
      open.erase(found);
    }
  }
  for (const auto& [teller, begin] : open) add(teller, begin, nullptr);
  std::sort(program.checkpoints.begin(), program.checkpoints.end(),
            [](const Checkpoint& a, const Checkpoint& b) {
              return std::tie(a.begin, a.complete, a.step) < std::tie(b.begin, b.complete, b.step);
            });
}

void ReadPhases(const std::vector<const Mark*>& marks, Program& program) {
  std::map<std::pair<std::string, Teller>, const Mark*> open;
  const auto add = [&](const std::string& name, const Mark* begin, const Mark* end) {
    auto [until, closing] = NextStepAfter(program, begin->t);
    if (end != nullptr && end->t < until) std::tie(until, closing) = std::pair{end->t, end->ref};
    const bool started = program.summary.first_step_begin && begin->t >= *program.summary.first_step_begin;
    // Loading data is part of what a step costs.
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

// A save in the middle of a record: has the step's result been computed by then? The loop either saves after
// the update (nearly all of the step's work lies before) or at its top (nearly all lies after).
//
// `expected_ns`: what the step usually takes, 0 where that is not known.
Ns WorkEnd(const Program& program, const StepRecord& step, bool last, Ns expected_ns) {
  auto save = std::lower_bound(program.saves.begin(), program.saves.end(), step.begin,
                               [](const PhaseSpan& span, Ns t) { return span.begin < t; });
  for (; save != program.saves.end() && save->begin < step.end; ++save) {
    const Ns before = NetTime(program.cuts, step.begin, save->begin);
    const Ns after = NetTime(program.cuts, save->end, step.end);
    // Of a save that took the rest of the step, or was still being written when the next began, only what
    // came before can be judged.
    const bool done = last || after == 0 ? before >= expected_ns / 2 : before >= after;
    if (done) return save->begin;
  }
  return step.end;
}

// The last record where the program says when its last step was done: then the next was begun, unless the
// program had done what it was to do.
void CloseLastStep(const std::vector<const Mark*>& marks, bool finished, Program& program) {
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
  if (finished || end->t >= program.summary.end) return;
  next.lo = next.hi = *end->train_step + 1;
  next.begin = end->t;
  next.end = std::max(next.begin, program.summary.end);
  next.ref = end->ref;
  next.next_ref = {};
  program.steps.push_back(next);
}

// Blocks of steps that nothing happened in stay as they are. The first step of a start is like no other, the
// last one is a record of its own already.
void ReadSteps(const Folded& folded, const Allocation& allocation, const std::vector<const Mark*>& marks,
               const StepReader* reader, bool finished, Program& program) {
  program.steps = RecordsOf(folded);
  if (program.steps.empty()) return;
  StepRecord& last = program.steps.back();
  last.hi = std::max(last.hi, last.lo + UsualCount(program.steps) - 1);
  last.end = std::max(last.begin, program.summary.end);
  CloseLastStep(marks, finished, program);
  program.summary.first_step = program.steps.front().lo;
  program.summary.first_step_begin = program.steps.front().begin;
  program.summary.last_step = program.steps.back().hi;
  // Few enough for their median to be exact.
  const bool few = CountRecords(program.steps) <= static_cast<std::int64_t>(kExactDurations) + 2;
  const Ns first_begin = program.steps.front().begin;
  ExpandBlocks(program.steps, reader, [&](const StepRecord& step) {
    if (few || step.begin == first_begin) return true;
    const auto mark = std::lower_bound(marks.begin(), marks.end(), step.begin,
                                       [](const Mark* m, Ns t) { return m->t < t; });
    if (mark != marks.end() && (*mark)->t < step.end) return true;
    return std::any_of(allocation.suspended.begin(), allocation.suspended.end(),
                       [&](const TimeSpan& s) { return s.begin < step.end && s.end > step.begin; });
  });
}

void MeasureSteps(const Allocation& allocation, Program& program) {
  program.step_times = DurationHistogram();
  std::vector<TimeSpan> cuts = allocation.suspended;
  for (const PhaseSpan& save : program.saves) cuts.push_back({save.begin, save.end});
  for (const PhaseSpan& phase : program.overhead) cuts.push_back({phase.begin, phase.end});
  program.cuts = MergeSpans(std::move(cuts));
  std::sort(program.saves.begin(), program.saves.end(),
            [](const PhaseSpan& a, const PhaseSpan& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    StepRecord& step = program.steps[i];
    step.net = NetTime(program.cuts, step.begin, step.end);
    if (i == 0 || i + 1 == program.steps.size()) continue;
    if (step.block != nullptr) {
      program.step_times.Merge(step.block->durations);
    } else {
      program.step_times.Add(step.net / step.count());
    }
  }
  program.median_step = program.step_times.Median();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    StepRecord& step = program.steps[i];
    const bool last = i + 1 == program.steps.size();
    step.work_end = WorkEnd(program, step, last, TimesAtMost(program.median_step.value_or(0), step.count()));
  }
}

void ReadExit(const Allocation& allocation, Program& program) {
  Incarnation& incarnation = program.summary;
  for (const TaskLife& life : allocation.lives) {
    if (program.slurm_steps.count(life.slurm_step) == 0) continue;
    const bool failed = life.exit_signal || life.exit_code.value_or(0) != 0;
    if (failed && life.exit_time && (!program.failed_at || *life.exit_time < *program.failed_at))
      program.failed_at = life.exit_time;
    if (life.exit_signal && !incarnation.exit_signal) incarnation.exit_signal = life.exit_signal;
    if (life.exit_code) incarnation.exit_code = std::max(incarnation.exit_code.value_or(0), *life.exit_code);
    if (life.exit_time)
      incarnation.exited = std::max(incarnation.exited.value_or(*life.exit_time), *life.exit_time);
  }
}

// Begin and end of all tasks of Slurm steps; the end is absent where one was not seen to exit.
struct StepLife {
  std::optional<Ns> begin;
  std::optional<Ns> end;
};

StepLife LifeOf(const Allocation& allocation, const std::set<std::int32_t>& slurm_steps) {
  StepLife life;
  bool all_ended = true;
  for (const TaskLife& task : allocation.lives) {
    if (slurm_steps.count(task.slurm_step) == 0) continue;
    if (!life.begin || task.begin < *life.begin) life.begin = task.begin;
    if (!task.end) all_ended = false;
    if (task.end && (!life.end || *task.end > *life.end)) life.end = task.end;
  }
  if (!all_ended) life.end.reset();
  return life;
}

struct Bounds {
  Ns begin;
  Ns end;
  bool ended;
  bool exits;              // the end is the exit of its tasks, not the begin of the next incarnation in them
  bool completed = false;  // the attempt was
};

// `marks`: the incarnation's own, in order.
Program ReadProgram(int attempt_index, const std::set<std::int32_t>& slurm_steps, const Bounds& bounds,
                    const Folded& folded, const std::vector<const Mark*>& marks, const Allocation& allocation,
                    const StepReader* reader) {
  Program program;
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
  ReadSteps(folded, allocation, marks, reader, finished, program);
  ReadCheckpoints(marks, program);
  ReadPhases(marks, program);
  MeasureSteps(allocation, program);
  for (const Mark* mark : marks) {
    program.last_evidence = std::max(program.last_evidence.value_or(mark->t), mark->t);
    const bool before_steps =
        !program.summary.first_step_begin || mark->t <= *program.summary.first_step_begin;
    if (mark->kind == Mark::Kind::kRestore && mark->train_step && before_steps) {
      program.summary.restored_step = mark->train_step;
    }
  }
  if (!program.steps.empty()) {
    program.last_evidence = std::max(program.last_evidence.value_or(0), program.steps.back().begin);
  }
  return program;
}

// Sruns that train at the same time are one program; one after the other each is a new start.
struct Strand {
  std::set<std::int32_t> slurm_steps;
  std::vector<StepMark> step_marks;
  std::vector<const StepBlock*> blocks;
  std::vector<const Mark*> marks;
  Ns first = INT64_MAX;  // step marks
  Ns last = 0;
};

std::vector<Strand> FindStrands(const AttemptFacts& attempt, Ns attempt_begin, const StepReader* reader) {
  std::map<std::int32_t, Strand> of_step;
  const auto strand_of = [&](std::int32_t slurm_step, Ns first, Ns last) -> Strand& {
    Strand& strand = of_step[slurm_step];
    strand.slurm_steps.insert(slurm_step);
    strand.first = std::min(strand.first, first);
    strand.last = std::max(strand.last, last);
    return strand;
  };
  const auto add = [&](StepMark mark) {
    // Steps marked while the job is completing are after the attempt's end: they take no time of it, but they
    // count.
    mark.t = std::max(mark.t, attempt_begin);
    strand_of(mark.slurm_step, mark.t, mark.t).step_marks.push_back(mark);
  };
  for (const StepMark& mark : attempt.step_marks) add(mark);
  for (const StepBlock& block : attempt.step_blocks) {
    if (block.first.t >= attempt_begin) {
      strand_of(block.first.slurm_step, block.first.t, block.last.t).blocks.push_back(&block);
    } else {
      for (const StepMark& mark : MarksOf(block, reader)) add(mark);
    }
  }
  std::vector<Strand> sorted;
  sorted.reserve(of_step.size());
  for (auto& [slurm_step, strand] : of_step) sorted.push_back(std::move(strand));
  std::sort(sorted.begin(), sorted.end(), [](const Strand& a, const Strand& b) {
    return std::tie(a.first, a.last, *a.slurm_steps.begin()) <
           std::tie(b.first, b.last, *b.slurm_steps.begin());
  });
  std::vector<Strand> strands;
  for (Strand& strand : sorted) {
    if (strands.empty() || strand.first >= strands.back().last) {
      strands.push_back(std::move(strand));
      continue;
    }
    Strand& into = strands.back();
    into.slurm_steps.insert(strand.slurm_steps.begin(), strand.slurm_steps.end());
    into.step_marks.insert(into.step_marks.end(), strand.step_marks.begin(), strand.step_marks.end());
    into.blocks.insert(into.blocks.end(), strand.blocks.begin(), strand.blocks.end());
    into.last = std::max(into.last, strand.last);
  }
  // What a batch script says is about the program it runs at the time.
  for (const Mark& mark : attempt.marks) {
    Strand* owner = nullptr;
    for (Strand& strand : strands) {
      if (strand.slurm_steps.count(mark.slurm_step) != 0) owner = &strand;
    }
    for (Strand& strand : strands) {
      if (owner != nullptr || mark.slurm_step >= 0) break;
      if (&strand == &strands.back() || mark.t < (&strand)[1].first) owner = &strand;
    }
    if (owner != nullptr) owner->marks.push_back(&mark);
  }
  for (Strand& strand : strands) strand.marks = InOrder(std::move(strand.marks));
  return strands;
}

// Where one incarnation gives way to the next in the same tasks: with the first thing a program does before
// its steps.
Ns GivesWay(const std::vector<const Mark*>& marks, Ns last_step, Ns next_step) {
  for (const Mark* mark : marks) {
    const bool starts = mark->kind == Mark::Kind::kRestore ||
                        (mark->kind == Mark::Kind::kPhase && IsStartupPhase(mark->name));
    if (starts && mark->begin && mark->t > last_step && mark->t < next_step) return mark->t;
  }
  return next_step;
}

// `not_before`: the last step of the strand before; `overtaken`: the first step of the strand after, if there
// is one.
void ReadStrand(int attempt_index, bool completed, const Allocation& allocation, Strand strand, Ns not_before,
                std::optional<Ns> overtaken, const StepReader* reader, std::vector<Program>& programs) {
  const StepLife life = LifeOf(allocation, strand.slurm_steps);
  const std::vector<Folded> folded =
      FoldStepMarks(std::move(strand.step_marks), std::move(strand.blocks), reader);
  // Steps beyond what is known of its life prove that it lived.
  Ns begin = std::min(life.begin.value_or(INT64_MAX), strand.first);
  if (!life.begin && !strand.marks.empty()) begin = std::min(begin, strand.marks.front()->t);
  begin = std::max(begin, not_before);
  auto mark = strand.marks.begin();
  for (std::size_t i = 0; i < folded.size(); ++i) {
    // Whatever of it lives on, the training is the next one's from its first step.
    Ns end = std::max(life.end.value_or(allocation.end), strand.last);
    if (overtaken) end = std::min(end, *overtaken);
    const bool last = i + 1 == folded.size();
    auto until = strand.marks.end();
    if (!last) {
      end = GivesWay(strand.marks, folded[i].steps.back().mark.t, folded[i + 1].steps.front().mark.t);
      until = std::find_if(mark, strand.marks.end(), [&](const Mark* m) { return m->t >= end; });
    }
    // Programs live on while a job completes, but its time is the allocation's.
    Bounds bounds{std::clamp(begin, allocation.begin, allocation.end), std::min(end, allocation.end),
                  !last || allocation.ended || life.end || overtaken, last, completed};
    bounds.end = std::max(bounds.begin, bounds.end);
    programs.push_back(
        ReadProgram(attempt_index, strand.slurm_steps, bounds, folded[i], {mark, until}, allocation, reader));
    mark = until;
    begin = end;
  }
}

std::vector<const Mark*> MarksIn(const AttemptFacts& attempt, const std::set<std::int32_t>& slurm_steps) {
  std::vector<const Mark*> marks;
  for (const Mark& mark : attempt.marks) {
    if (slurm_steps.count(mark.slurm_step) != 0) marks.push_back(&mark);
  }
  return InOrder(std::move(marks));
}

// What its node saw of its checkpoints: each is of the program that was running when it began.
void AttachFiles(const AttemptFacts& attempt, const Allocation& allocation, const StepReader* reader,
                 std::vector<Program>& programs) {
  if (attempt.checkpoint_files.empty()) return;
  const std::vector<SavedFile> files = PairFiles(attempt);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    Program& program = programs[i];
    const Ns begin = i == 0 ? INT64_MIN : program.summary.begin;
    const Ns end = i + 1 == programs.size() ? INT64_MAX : programs[i + 1].summary.begin;
    if (program.checkpoints.empty()) {
      ExpandBlocks(program.steps, reader, [&](const StepRecord& step) {
        return std::any_of(files.begin(), files.end(), [&](const SavedFile& file) {
          return file.begin >= step.begin && file.begin < step.end;
        });
      });
    }
    if (TakeFiles(files, begin, end, program)) MeasureSteps(allocation, program);
  }
}

// Sruns one after the other that left checkpoints, each with those that ran beside it: of a program that
// tells no steps these are its starts.
std::vector<std::set<std::int32_t>> StartsByFiles(const AttemptFacts& attempt, const Allocation& allocation,
                                                  const std::set<std::int32_t>& slurm_steps) {
  struct Start {
    std::set<std::int32_t> slurm_steps;
    Ns begin = 0;
    Ns end = 0;
  };
  std::vector<Start> starts;
  for (const std::int32_t slurm_step : slurm_steps) {
    const StepLife life = LifeOf(allocation, {slurm_step});
    if (slurm_step >= 0 && life.begin)
      starts.push_back({{slurm_step}, *life.begin, life.end.value_or(allocation.end)});
  }
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
    return std::tie(a.begin, a.end, a.slurm_steps) < std::tie(b.begin, b.end, b.slurm_steps);
  });
  std::vector<Start> merged;
  for (Start& start : starts) {
    if (merged.empty() || start.begin >= merged.back().end) {
      merged.push_back(std::move(start));
      continue;
    }
    merged.back().slurm_steps.insert(start.slurm_steps.begin(), start.slurm_steps.end());
    merged.back().end = std::max(merged.back().end, start.end);
  }
  std::vector<std::set<std::int32_t>> with_files;
  for (const Start& start : merged) {
    const bool saved = std::any_of(attempt.checkpoint_files.begin(), attempt.checkpoint_files.end(),
                                   [&](const CheckpointFile& file) {
                                     return file.begin && file.t >= start.begin && file.t < start.end;
                                   });
    if (saved) with_files.push_back(start.slurm_steps);
  }
  return with_files;
}

// No step in the whole attempt: the attempt itself is the one start of the program.
Program ReadStepless(int attempt_index, const AttemptFacts& attempt, const Allocation& allocation,
                     const std::set<std::int32_t>& slurm_steps) {
  std::optional<Ns> begin;
  std::optional<Ns> end;
  bool ended = true;
  for (const std::int32_t slurm_step : slurm_steps) {
    const StepLife life = LifeOf(allocation, {slurm_step});
    if (life.begin && (!begin || *life.begin < *begin)) begin = life.begin;
    if (life.end && (!end || *life.end > *end)) end = life.end;
    if (life.begin && !life.end) ended = false;
  }
  Bounds bounds{begin.value_or(allocation.ready.value_or(allocation.begin)),
                ended && end ? *end : allocation.end, allocation.ended || (ended && end), true};
  bounds.end = std::max(bounds.begin, bounds.end);
  // How it ended is how its last srun did.
  const std::set<std::int32_t> last = slurm_steps.empty() ? slurm_steps : std::set{*slurm_steps.rbegin()};
  return ReadProgram(attempt_index, last, bounds, {}, MarksIn(attempt, slurm_steps), allocation, nullptr);
}

}  // namespace

Ns NetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end) {
  if (begin >= end) return 0;
  Ns net = end - begin;
  auto it = std::lower_bound(cuts.begin(), cuts.end(), begin,
                             [](const TimeSpan& span, Ns value) { return span.end <= value; });
  for (; it != cuts.end() && it->begin < end; ++it)
    net -= std::min(end, it->end) - std::max(begin, it->begin);
  return net;
}

Ns AfterNetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end, Ns net) {
  auto it = std::lower_bound(cuts.begin(), cuts.end(), begin,
                             [](const TimeSpan& span, Ns value) { return span.end <= value; });
  Ns at = begin;
  for (; it != cuts.end() && it->begin < end; ++it) {
    const Ns stretch = std::max<Ns>(0, it->begin - at);
    if (net <= stretch) return at + net;
    net -= stretch;
    at = std::max(at, it->end);
  }
  return std::min(end, at + net);
}

std::vector<Program> ReadPrograms(int attempt_index, const AttemptFacts& attempt,
                                  const Allocation& allocation, const StepReader* reader) {
  std::vector<Program> programs;
  std::set<std::int32_t> others;
  for (const std::int32_t slurm_step : ProgramSteps(attempt, allocation)) others.insert(slurm_step);
  Ns not_before = allocation.begin;
  std::vector<TimeSpan> training;
  std::vector<Strand> strands = FindStrands(attempt, allocation.begin, reader);
  for (std::size_t i = 0; i < strands.size(); ++i) {
    for (const std::int32_t slurm_step : strands[i].slurm_steps) others.erase(slurm_step);
    const Ns last = strands[i].last;
    training.push_back({strands[i].first, last});
    const std::optional<Ns> overtaken =
        i + 1 < strands.size() ? std::optional<Ns>(strands[i + 1].first) : std::nullopt;
    ReadStrand(attempt_index, attempt.state == "COMPLETED", allocation, std::move(strands[i]), not_before,
               overtaken, reader, programs);
    not_before = last;
  }
  if (programs.empty()) {
    const std::vector<std::set<std::int32_t>> starts = StartsByFiles(attempt, allocation, others);
    for (const std::set<std::int32_t>& start : starts) {
      if (starts.size() > 1) programs.push_back(ReadStepless(attempt_index, attempt, allocation, start));
    }
    if (starts.size() < 2) programs.push_back(ReadStepless(attempt_index, attempt, allocation, others));
  } else {
    // Beside those that trained, each srun that failed before its first step. One that lived while another
    // trained is a helper, and however it ended interrupted nothing.
    for (const std::int32_t slurm_step : others) {
      const StepLife life = LifeOf(allocation, {slurm_step});
      if (slurm_step < 0 || !life.begin || !life.end) continue;
      const Ns begin = *life.begin;
      const Ns end = *life.end;
      const bool helper = std::any_of(training.begin(), training.end(), [&](const TimeSpan& span) {
        return begin < span.end && span.begin < end;
      });
      if (helper) continue;
      Program program = ReadProgram(attempt_index, {slurm_step}, {begin, end, true, true}, {},
                                    MarksIn(attempt, {slurm_step}), allocation, nullptr);
      if (program.summary.exit_signal || program.summary.exit_code.value_or(0) != 0) {
        programs.push_back(std::move(program));
      }
    }
  }
  std::stable_sort(programs.begin(), programs.end(), [](const Program& a, const Program& b) {
    return std::tie(a.summary.begin, a.summary.end) < std::tie(b.summary.begin, b.summary.end);
  });
  AttachFiles(attempt, allocation, reader, programs);
  return programs;
}

}  // namespace goodput
