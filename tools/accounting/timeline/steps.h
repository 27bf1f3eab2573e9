// The training steps of one program, as ordered records from marks and from blocks of marks.
//
// A steady loop is stored in a few blocks, and most results about a block follow from its ends and its
// histogram. If something happens inside one (a save, a stall, the end of the kept steps), it is expanded
// into its records; the result is the same as with single marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Steps [lo, hi], from the start mark of `lo` to the next start mark.
struct StepRecord {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  Ns begin = 0;
  Ns end = 0;
  Ns net = 0;       // without saves and overhead
  Ns work_end = 0;  // a save that begins at or after this contains the steps' result
  EvidenceRef ref;
  EvidenceRef next_ref;
  // Set: many records in one, all marks of the block but the last, or a part of these. Nothing cuts into it.
  const StepBlock* block = nullptr;
  Ns longest = 0;                    // of a part's steps, without saves
  bool part = false;                 // of the block
  bool saved = false;                // of what SplitBlocks read: the last of its steps had a save
  Ns first_net = 0;                  // of a part's first step
  std::size_t after_saves = 0;       // of a part: how many of its steps followed one with a save,
  std::size_t first_after_save = 0;  // and the first of these in StepsOfParts::after_saves
  bool in_flight = false;            // nobody told of it: the one before was done, and the program went on
  bool may_be_more = false;          // in flight, or several that were done
  std::optional<Evidence> evidence = std::nullopt;  // absent: as the record it is from

  std::int64_t count() const { return hi - lo + 1; }
};

// The task that sent a mark; equal ranks of two concurrent sruns are two tasks.
using Teller = std::pair<std::int32_t, std::int32_t>;  // Slurm step, task

// The marks of the block; only its ends if the reader no longer has them.
std::vector<StepMark> MarksOf(const StepBlock& block, const StepReader* reader);

// A step begins with the first mark of any task. With `block`, it stands for all of the block's marks but the
// last, which follows as a step of its own.
struct FoldedStep {
  StepMark mark;
  const StepBlock* block = nullptr;
};

// A task's begin of a step.
struct TaskArrival {
  std::uint32_t task = 0;      // of Arrivals::tasks
  std::uint32_t after_us = 0;  // after the first task's; more than an hour is an hour
};

// A step that at least two tasks began, before any task began the next one.
struct StepArrivals {
  std::int64_t train_step = 0;
  Ns first = 0;            // when the first task began it
  std::size_t begins = 0;  // the index of its first begin in Arrivals::begins; the others follow, by time
};

// A task that marked begins of steps.
struct ArrivingTask {
  Teller teller;
  EvidenceRef ref;  // of its first mark
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t marks = 0;
  std::int64_t compared = 0;     // of Arrivals::steps
  std::int64_t out_of_step = 0;  // marks that came after another task had begun the next step
};

// How the tasks of one program began its steps.
struct Arrivals {
  std::vector<ArrivingTask> tasks;
  std::vector<StepArrivals> steps;  // numbers and times ascend
  std::vector<TaskArrival> begins;
  std::vector<std::int64_t> out_of_order;  // steps with a mark that its task sent out of order
};

// The clocks of nodes that keep the time by NTP or PTP agree at least this well.
inline constexpr Ns kClocksAgree = 10'000'000;

// Step marks of one program, merged over its tasks; numbers and times ascend.
struct Folded {
  std::vector<FoldedStep> steps;
  std::map<Teller, std::uint32_t> task_of;  // of arrivals.tasks
  std::uint32_t last_task = 0;              // that marked
  Arrivals arrivals;
};

// One for each start of the program: a lower number in the same task begins the next. A single lower number
// does not if other tasks mark, none of them goes back, and the task itself goes on after its highest: such a
// mark came out of order, and is left out.
std::vector<Folded> FoldStepMarks(std::vector<StepMark> marks, std::vector<const StepBlock*> blocks,
                                  const StepReader* reader);

// The records; steps and end of the last one are not known.
std::vector<StepRecord> RecordsOf(const Folded& folded);

// How many steps a record usually has; ignores the last record.
std::int64_t UsualCount(const std::vector<StepRecord>& records);

// The number of records once all blocks are expanded.
std::int64_t CountRecords(const std::vector<StepRecord>& records);

// What happened in a step besides the step.
struct InStep {
  bool other = false;  // anything but saves that began and ended in it
  bool saved = false;
  Ns save_ns = 0;  // how long training waited for these saves
  // If nothing happened in it: nothing happens in the steps after it that end by then, either.
  Ns nothing_until = INT64_MIN;
};
// Asked of one step after the other; may be left out where the one before says that nothing happens.
using LookInto = std::function<InStep(Ns begin, Ns end)>;

// What the steps of parts of blocks took, without saves.
struct StepsOfParts {
  DurationHistogram times;
  std::vector<Ns> after_saves;  // of those that followed one with a save in their part, by begin
};

// Expands the blocks in which other things happened. Long stretches of steps, or of steps and their saves,
// stay one record each, a part of the block.
void SplitBlocks(std::vector<StepRecord>& records, const StepReader* reader, StepsOfParts& parts,
                 const LookInto& look);

// Expands the blocks for which `which` returns true. `finish`: called for each of the new records.
void ExpandBlocks(std::vector<StepRecord>& records, const StepReader* reader,
                  const std::function<bool(const StepRecord&)>& which,
                  const std::function<void(StepRecord&)>& finish = {});

}  // namespace goodput
