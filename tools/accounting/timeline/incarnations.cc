#include "tools/accounting/timeline/incarnations.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tools/accounting/timeline/checkpoint_files.h"
#include "tools/accounting/timeline/read_incarnation.h"
#include "tools/accounting/timeline/saves.h"

namespace goodput {
namespace {

// Begin and end of all tasks of Slurm steps; the end is absent if an exit was not seen.
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

// Sruns that train concurrently are one program; consecutive ones are separate starts.
struct Strand {
  std::set<std::int32_t> slurm_steps;
  std::vector<StepMark> step_marks;
  std::vector<const StepBlock*> blocks;
  std::vector<const Mark*> marks;
  std::vector<const SaveBlock*> saves;  // more marks
  // Some of `marks`.
  std::vector<Mark> own_marks;
  std::vector<Mark> marks_of_saves;
  std::vector<StepMark> step_ends;
  Ns first = INT64_MAX;  // step marks
  Ns last = 0;
};

std::vector<Strand> FindConcurrentRuns(const AttemptFacts& attempt, Ns attempt_begin,
                                       const StepReader* reader) {
  std::map<std::int32_t, Strand> of_step;
  const auto strand_of = [&](std::int32_t slurm_step, Ns first, Ns last) -> Strand& {
    Strand& strand = of_step[slurm_step];
    strand.slurm_steps.insert(slurm_step);
    strand.first = std::min(strand.first, first);
    strand.last = std::max(strand.last, last);
    return strand;
  };
  const auto add = [&](StepMark mark) {
    // Steps marked while the job completes come after the attempt's end: they take no time of it, but they
    // count.
    mark.t = std::max(mark.t, attempt_begin);
    std::vector<StepMark>& marks = strand_of(mark.slurm_step, mark.t, mark.t).step_marks;
    // Nearly always the only one.
    if (marks.empty() && of_step.size() == 1) marks.reserve(attempt.step_marks.size());
    marks.push_back(mark);
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
  // Marks of a batch script belong to the program that runs at that time.
  const auto owner_of = [&](std::int32_t slurm_step, Ns t) -> Strand* {
    for (Strand& strand : strands) {
      if (strand.slurm_steps.count(slurm_step) != 0) return &strand;
    }
    for (Strand& strand : strands) {
      if (slurm_step < 0 && (&strand == &strands.back() || t < (&strand)[1].first)) return &strand;
    }
    return nullptr;
  };
  for (const Mark& mark : attempt.marks) {
    if (Strand* owner = owner_of(mark.slurm_step, mark.t)) owner->marks.push_back(&mark);
  }
  std::vector<Mark> apart;  // of blocks with saves of several strands
  for (const SaveBlock& block : attempt.save_blocks) {
    Strand* owner = owner_of(block.slurm_step, block.saves.front().begin);
    if (owner != owner_of(block.slurm_step, block.saves.back().end)) {
      AppendMarks(block, apart);
    } else if (owner != nullptr) {
      owner->saves.push_back(&block);
    }
  }
  for (const Mark& mark : apart) {
    if (Strand* owner = owner_of(mark.slurm_step, mark.t)) owner->own_marks.push_back(mark);
  }
  for (Strand& strand : strands) {
    for (const Mark& mark : strand.own_marks) strand.marks.push_back(&mark);
  }
  for (const StepMark& end : attempt.step_ends) {
    const auto owner = std::find_if(strands.begin(), strands.end(), [&](const Strand& strand) {
      return strand.slurm_steps.count(end.slurm_step) != 0;
    });
    if (owner != strands.end()) owner->step_ends.push_back(end);
  }
  for (Strand& strand : strands) strand.marks = InOrder(std::move(strand.marks));
  return strands;
}

// The saves of the blocks, if they are those of one task, one after another, and no mark tells of another
// save before the end of the last; else empty.
SaveRanges SavesOf(std::vector<const SaveBlock*> blocks, const std::vector<const Mark*>& marks) {
  if (blocks.empty()) return {};
  std::sort(blocks.begin(), blocks.end(), [](const SaveBlock* a, const SaveBlock* b) {
    return a->saves.front().begin < b->saves.front().begin;
  });
  SaveRanges saves;
  const auto of_another = [&](const auto& one) {
    return one.slurm_step != blocks.front()->slurm_step || one.task != blocks.front()->task;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool follows = i == 0 || blocks[i - 1]->saves.back().end < blocks[i]->saves.front().begin;
    if (!follows || of_another(*blocks[i])) return {};
    for (std::size_t save = 0; save < blocks[i]->saves.size(); ++save) saves.Add(*blocks[i], save);
  }
  // A begin before them is ended by the first of them.
  const auto conflicts = [&](const Mark* mark) {
    return mark->kind == Mark::Kind::kCheckpoint &&
           (of_another(*mark) || mark->t <= blocks.back()->saves.back().end);
  };
  if (std::any_of(marks.begin(), marks.end(), conflicts)) return {};
  return saves;
}

// Makes marks of its saves.
void DissolveSaves(Strand& strand) {
  if (strand.saves.empty()) return;
  for (const SaveBlock* block : strand.saves) AppendMarks(*block, strand.marks_of_saves);
  for (const Mark& mark : strand.marks_of_saves) strand.marks.push_back(&mark);
  strand.marks = InOrder(std::move(strand.marks));
}

// Where one incarnation follows another in the same tasks (torchrun restarts its workers): at the begin of
// its process, or at the first thing a program does before its steps.
struct Change {
  Ns t = 0;
  bool of_process = false;
};
Change GivesWay(const std::vector<const Mark*>& marks, Ns last_step, Ns next_step) {
  for (const Mark* mark : marks) {
    const bool starts = mark->kind == Mark::Kind::kStart || mark->kind == Mark::Kind::kRestore ||
                        (mark->kind == Mark::Kind::kPhase && IsStartupPhase(mark->name));
    if (starts && mark->begin && mark->t > last_step && mark->t < next_step)
      return {mark->t, mark->kind == Mark::Kind::kStart};
  }
  return {next_step, false};
}

// `not_before`: the last step of the previous strand; `overtaken`: the first step of the next strand, if any.
// `files`: its node saw checkpoints.
void ReadConcurrentRun(int attempt_index, bool completed, bool files, const Allocation& allocation,
                       Strand strand, Ns not_before, std::optional<Ns> overtaken, const StepReader* reader,
                       std::vector<IncarnationFacts>& programs) {
  const StepLife life = LifeOf(allocation, strand.slurm_steps);
  const std::vector<Folded> folded =
      FoldStepMarks(std::move(strand.step_marks), std::move(strand.blocks), reader);
  SaveRanges saves;
  // Of several starts, and with files, which may be of the same checkpoints, each mark is looked at.
  if (folded.size() == 1 && !files) saves = SavesOf(strand.saves, strand.marks);
  if (saves.empty()) DissolveSaves(strand);
  // Steps outside its known life prove that it was alive.
  Ns begin = std::min(life.begin.value_or(INT64_MAX), strand.first);
  if (!life.begin && !strand.marks.empty()) begin = std::min(begin, strand.marks.front()->t);
  if (!life.begin && !saves.empty()) begin = std::min(begin, saves.begin()->begin);
  begin = std::max(begin, not_before);
  auto mark = strand.marks.begin();
  for (std::size_t i = 0; i < folded.size(); ++i) {
    // Even if some of it lives on, training belongs to the next one from its first step.
    Ns end = std::max(life.end.value_or(allocation.end), strand.last);
    if (overtaken) end = std::min(end, *overtaken);
    const bool last = i + 1 == folded.size();
    auto until = strand.marks.end();
    bool replaced = false;
    if (!last) {
      const Change change =
          GivesWay(strand.marks, folded[i].steps.back().mark.t, folded[i + 1].steps.front().mark.t);
      end = change.t;
      replaced = change.of_process;
      until = std::find_if(mark, strand.marks.end(), [&](const Mark* m) { return m->t >= end; });
    }
    // Programs live on while a job completes, but its time is the allocation's.
    Bounds bounds{std::clamp(begin, allocation.begin, allocation.end), std::min(end, allocation.end),
                  !last || allocation.ended || life.end || overtaken, last, completed};
    bounds.end = std::max(bounds.begin, bounds.end);
    programs.push_back(ReadIncarnation(attempt_index, strand.slurm_steps, bounds, folded[i],
                                       {{mark, until}, strand.step_ends, saves}, allocation, reader));
    programs.back().summary.replaced = replaced;
    mark = until;
    begin = end;
  }
}

// `of_saves`: where those of blocks are kept.
std::vector<const Mark*> MarksIn(const AttemptFacts& attempt, const std::set<std::int32_t>& slurm_steps,
                                 std::vector<Mark>& of_saves) {
  std::vector<const Mark*> marks;
  for (const Mark& mark : attempt.marks) {
    if (slurm_steps.count(mark.slurm_step) != 0) marks.push_back(&mark);
  }
  for (const SaveBlock& block : attempt.save_blocks) {
    if (slurm_steps.count(block.slurm_step) != 0) AppendMarks(block, of_saves);
  }
  for (const Mark& mark : of_saves) marks.push_back(&mark);
  return InOrder(std::move(marks));
}

// The checkpoints that its node saw: each belongs to the program that was running when it began.
void AttachFiles(const AttemptFacts& attempt, const Allocation& allocation, const StepReader* reader,
                 std::vector<IncarnationFacts>& programs) {
  for (IncarnationFacts& program : programs) {
    if (program.checkpoints.empty()) program.saves_unseen = attempt.checkpoints_unseen;
  }
  if (attempt.checkpoint_files.empty()) return;
  const std::vector<SavedFile> files = PairFiles(attempt);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    IncarnationFacts& program = programs[i];
    const Ns begin = i == 0 ? INT64_MIN : program.summary.begin;
    const Ns end = i + 1 == programs.size() ? INT64_MAX : programs[i + 1].summary.begin;
    if (program.checkpoints.empty()) {
      SplitBlocks(program.steps, reader, program.parts, [&](Ns from, Ns until) {
        InStep in;
        in.other = std::any_of(files.begin(), files.end(), [&](const SavedFile& file) {
          return file.begin >= from && file.begin < until;
        });
        return in;
      });
    }
    if (TakeFiles(files, begin, end, program)) MeasureSteps(allocation, program);
  }
}

// Consecutive sruns that left checkpoints, each with those that ran concurrently: the starts of a program
// without marked steps.
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

// No step in the whole attempt: the attempt is a single start of the program.
IncarnationFacts ReadStepless(int attempt_index, const AttemptFacts& attempt, const Allocation& allocation,
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
  // It ended as its last srun did.
  const std::set<std::int32_t> last = slurm_steps.empty() ? slurm_steps : std::set{*slurm_steps.rbegin()};
  std::vector<Mark> of_saves;
  return ReadIncarnation(attempt_index, last, bounds, {}, {MarksIn(attempt, slurm_steps, of_saves), {}, {}},
                         allocation, nullptr);
}

}  // namespace

std::vector<IncarnationFacts> SplitIntoIncarnations(int attempt_index, const AttemptFacts& attempt,
                                                    const Allocation& allocation, const StepReader* reader) {
  std::vector<IncarnationFacts> programs;
  std::set<std::int32_t> others;
  for (const std::int32_t slurm_step : ProgramSteps(attempt, allocation)) others.insert(slurm_step);
  Ns not_before = allocation.begin;
  std::vector<TimeSpan> training;
  std::vector<Strand> strands = FindConcurrentRuns(attempt, allocation.begin, reader);
  for (std::size_t i = 0; i < strands.size(); ++i) {
    for (const std::int32_t slurm_step : strands[i].slurm_steps) others.erase(slurm_step);
    const Ns last = strands[i].last;
    training.push_back({strands[i].first, last});
    const std::optional<Ns> overtaken =
        i + 1 < strands.size() ? std::optional<Ns>(strands[i + 1].first) : std::nullopt;
    ReadConcurrentRun(attempt_index, attempt.state == "COMPLETED", !attempt.checkpoint_files.empty(),
                      allocation, std::move(strands[i]), not_before, overtaken, reader, programs);
    not_before = last;
  }
  if (programs.empty()) {
    const std::vector<std::set<std::int32_t>> starts = StartsByFiles(attempt, allocation, others);
    for (const std::set<std::int32_t>& start : starts) {
      if (starts.size() > 1) programs.push_back(ReadStepless(attempt_index, attempt, allocation, start));
    }
    if (starts.size() < 2) programs.push_back(ReadStepless(attempt_index, attempt, allocation, others));
  } else {
    // In addition to those that trained, each srun that failed before its first step. An srun that lived
    // while another trained is a helper, and its end interrupted nothing.
    for (const std::int32_t slurm_step : others) {
      const StepLife life = LifeOf(allocation, {slurm_step});
      if (slurm_step < 0 || !life.begin || !life.end) continue;
      const Ns begin = *life.begin;
      const Ns end = *life.end;
      const bool helper = std::any_of(training.begin(), training.end(), [&](const TimeSpan& span) {
        return begin < span.end && span.begin < end;
      });
      if (helper) continue;
      std::vector<Mark> of_saves;
      IncarnationFacts program =
          ReadIncarnation(attempt_index, {slurm_step}, {begin, end, true, true}, {},
                          {MarksIn(attempt, {slurm_step}, of_saves), {}, {}}, allocation, nullptr);
      if (program.summary.exit_signal || program.summary.exit_code.value_or(0) != 0) {
        programs.push_back(std::move(program));
      }
    }
  }
  std::stable_sort(
      programs.begin(), programs.end(), [](const IncarnationFacts& a, const IncarnationFacts& b) {
        return std::tie(a.summary.begin, a.summary.end) < std::tie(b.summary.begin, b.summary.end);
      });
  AttachFiles(attempt, allocation, reader, programs);
  return programs;
}

}  // namespace goodput
