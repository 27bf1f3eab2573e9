#include "tools/accounting/timeline/steps.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace goodput {
namespace {

// The task that marked last, if it is this one: often there is no other.
bool IsLastTask(const Folded& folded, const StepMark& mark) {
  const std::vector<ArrivingTask>& tasks = folded.arrivals.tasks;
  return folded.last_task < tasks.size() &&
         tasks[folded.last_task].teller == Teller(mark.slurm_step, mark.task);
}

// Null: it has not marked in this program yet.
const ArrivingTask* TaskIn(const Folded& folded, const StepMark& mark) {
  if (IsLastTask(folded, mark)) return &folded.arrivals.tasks[folded.last_task];
  const auto found = folded.task_of.find({mark.slurm_step, mark.task});
  return found == folded.task_of.end() ? nullptr : &folded.arrivals.tasks[found->second];
}

// A lower number in the same task means that the program restarted. So does a lower number than any known one
// from a new task; otherwise a new task is merely slow.
bool StartsAgain(const Folded& folded, const StepMark& mark) {
  if (folded.steps.empty()) return false;
  if (const ArrivingTask* task = TaskIn(folded, mark)) return mark.train_step < task->last_step;
  return mark.train_step < folded.steps.front().mark.train_step;
}

std::uint32_t AddTask(const StepMark& mark, Folded& folded) {
  if (IsLastTask(folded, mark)) return folded.last_task;
  const auto next = static_cast<std::uint32_t>(folded.arrivals.tasks.size());
  const auto [number, fresh] = folded.task_of.try_emplace({mark.slurm_step, mark.task}, next);
  if (fresh) {
    ArrivingTask task;
    task.teller = number->first;
    task.ref = mark.ref;
    task.first_step = mark.train_step;
    task.last_step = mark.train_step - 1;
    folded.arrivals.tasks.push_back(task);
  }
  folded.last_task = number->second;
  return number->second;
}

// The tasks that began the newest step of a program.
class NewestStep {
 public:
  void Begin(const StepMark& mark, std::uint32_t task) {
    step_ = {mark.train_step, mark.t, 0};
    begins_.assign(1, {task, 0});
  }
  void Add(const StepMark& mark, std::uint32_t task) {
    constexpr Ns kMicrosecond = 1000;
    constexpr Ns kMost = 3'600'000'000;
    begins_.push_back(
        {task, static_cast<std::uint32_t>(std::min(kMost, (mark.t - step_.first) / kMicrosecond))});
  }
  // No task begins it any more.
  void End(Arrivals& arrivals) {
    if (begins_.size() > 1) {
      step_.begins = arrivals.begins.size();
      arrivals.steps.push_back(step_);
      arrivals.begins.insert(arrivals.begins.end(), begins_.begin(), begins_.end());
      for (const TaskArrival& begin : begins_) ++arrivals.tasks[begin.task].compared;
    }
    begins_.clear();
  }

 private:
  StepArrivals step_;
  std::vector<TaskArrival> begins_;
};

class Folder {
 public:
  explicit Folder(std::size_t marks) : marks_(marks) {}

  void Add(const StepMark& mark) {
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), mark)) Start();
    Folded& folded = incarnations_.back();
    const std::uint32_t number = AddTask(mark, folded);
    ArrivingTask& task = folded.arrivals.tasks[number];
    const bool repeated = task.last_step == mark.train_step;
    task.last_step = mark.train_step;
    task.marks += repeated ? 0 : 1;
    // A task that lags behind the first one adds nothing.
    if (folded.steps.empty() || mark.train_step > folded.steps.back().mark.train_step) {
      newest_.End(folded.arrivals);
      newest_.Begin(mark, number);
      folded.steps.push_back({mark, nullptr});
    } else if (repeated) {
      return;
    } else if (mark.train_step < folded.steps.back().mark.train_step) {
      ++task.out_of_step;
    } else {
      newest_.Add(mark, number);
    }
  }

  // Of a task that marked `before` before, and a step after both next.
  void LeaveOut(const StepMark& mark, std::int64_t before) {
    if (incarnations_.empty()) return;
    std::vector<std::int64_t>& out_of_order = incarnations_.back().arrivals.out_of_order;
    out_of_order.insert(out_of_order.end(), {mark.train_step, before});
  }

  // False: its marks must be examined one by one.
  bool AddWhole(const StepBlock& block) {
    // The first step of a start differs from the others.
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), block.first)) return false;
    Folded& folded = incarnations_.back();
    if (block.first.train_step <= folded.steps.back().mark.train_step) return false;
    const std::uint32_t number = AddTask(block.first, folded);
    ArrivingTask& task = folded.arrivals.tasks[number];
    task.last_step = block.last.train_step;
    task.marks +=
        (block.last.train_step - block.first.train_step) / std::max<std::int64_t>(1, block.stride) + 1;
    newest_.End(folded.arrivals);
    newest_.Begin(block.last, number);
    folded.steps.push_back({block.first, &block});
    folded.steps.push_back({block.last, nullptr});
    return true;
  }

  std::vector<Folded> Finish() && {
    EndOfProgram();
    return std::move(incarnations_);
  }

 private:
  void Start() {
    EndOfProgram();
    incarnations_.emplace_back();
    // Mostly there is one program.
    if (incarnations_.size() == 1) incarnations_.back().steps.reserve(marks_);
  }
  void EndOfProgram() {
    if (!incarnations_.empty()) newest_.End(incarnations_.back().arrivals);
  }

  const std::size_t marks_;
  std::vector<Folded> incarnations_;
  NewestStep newest_;  // of the last one
};

// Marks of one task, none of which goes back: as most programs mark.
bool AreInOrder(const std::vector<StepMark>& marks) {
  return std::adjacent_find(marks.begin(), marks.end(), [](const StepMark& a, const StepMark& b) {
           return std::tie(a.slurm_step, a.task) != std::tie(b.slurm_step, b.task) ||
                  b.train_step < a.train_step;
         }) == marks.end();
}

// The marks that came out of order (see FoldStepMarks), by index, each with the step that its task had marked
// before. A mark that repeats its task's last one changes nothing.
std::map<std::size_t, std::int64_t> FindOutOfOrder(const std::vector<StepMark>& marks) {
  constexpr std::size_t kNone = ~std::size_t{0};
  struct Last {
    std::vector<std::size_t> previous;  // with its repetitions
    std::size_t earlier = kNone;        // the one before
    std::size_t others_then = 0;        // marks of other tasks until then
    std::size_t others = 0;             // until the previous one
    std::size_t own = 0;                // marks of this task
    bool went_back = false;             // the previous one
  };
  std::map<std::size_t, std::int64_t> found;
  std::vector<std::size_t> back;  // marks that go back; ascending
  std::map<Teller, Last> tasks;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const StepMark& mark = marks[i];
    Last& last = tasks[{mark.slurm_step, mark.task}];
    const std::size_t others = i - last.own++;
    const bool first = last.previous.empty();
    if (!first && mark.train_step == marks[last.previous.front()].train_step) {
      last.previous.push_back(i);
      continue;
    }
    if (last.went_back && mark.train_step > marks[last.earlier].train_step) {
      const auto meanwhile = back.end() - std::upper_bound(back.begin(), back.end(), last.earlier);
      const bool others_mark = others > last.others_then;
      for (const std::size_t stray : last.previous) {
        if (meanwhile == 1 && others_mark) found[stray] = marks[last.earlier].train_step;
      }
    }
    last.went_back = !first && mark.train_step < marks[last.previous.front()].train_step;
    if (last.went_back) back.push_back(i);
    last.earlier = first ? kNone : last.previous.front();
    last.others_then = std::exchange(last.others, others);
    last.previous.assign(1, i);
  }
  return found;
}

bool Before(const StepMark& a, const StepMark& b) {
  return std::tie(a.t, a.train_step, a.slurm_step, a.task, a.ref.source, a.ref.offset) <
         std::tie(b.t, b.train_step, b.slurm_step, b.task, b.ref.source, b.ref.offset);
}

// Blocks that overlap with marks of other tasks are expanded into marks.
void DissolveOverlapping(std::vector<StepMark>& marks, std::vector<const StepBlock*>& blocks,
                         const StepReader* reader) {
  std::sort(blocks.begin(), blocks.end(), [](const StepBlock* a, const StepBlock* b) {
    return std::tie(a->first.t, a->last.t, a->key) < std::tie(b->first.t, b->last.t, b->key);
  });
  std::vector<bool> alone(blocks.size(), true);
  Ns last = INT64_MIN;
  std::size_t owner = 0;  // of `last`
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i > 0 && blocks[i]->first.t <= last) alone[i] = alone[owner] = false;
    if (blocks[i]->last.t < last) continue;
    last = blocks[i]->last.t;
    owner = i;
  }
  std::sort(marks.begin(), marks.end(), Before);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto next = std::lower_bound(marks.begin(), marks.end(), blocks[i]->first.t,
                                       [](const StepMark& mark, Ns t) { return mark.t < t; });
    if (next != marks.end() && next->t <= blocks[i]->last.t) alone[i] = false;
  }
  std::vector<const StepBlock*> whole;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (alone[i]) {
      whole.push_back(blocks[i]);
      continue;
    }
    const std::vector<StepMark> its = MarksOf(*blocks[i], reader);
    marks.insert(marks.end(), its.begin(), its.end());
  }
  if (whole.size() < blocks.size()) std::sort(marks.begin(), marks.end(), Before);
  blocks = std::move(whole);
}

StepRecord RecordFrom(const StepMark& mark) {
  StepRecord record;
  record.lo = record.hi = mark.train_step;
  record.begin = mark.t;
  record.ref = mark.ref;
  return record;
}

void EndAt(StepRecord& record, const StepMark& next) {
  record.hi = next.train_step - 1;
  record.end = record.work_end = next.t;
  record.next_ref = next.ref;
}

// The marks of the block that was read last: its parts follow each other.
class BlockMarks {
 public:
  explicit BlockMarks(const StepReader* reader) : reader_(reader) {}
  const std::vector<StepMark>& Of(const StepBlock* block) {
    if (block_ != block) marks_ = MarksOf(*block, reader_);
    block_ = block;
    return marks_;
  }

 private:
  const StepReader* reader_;
  const StepBlock* block_ = nullptr;
  std::vector<StepMark> marks_;
};

// What a record says, before it is worth one.
struct Piece {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  Ns begin = 0;
  Ns end = 0;
  EvidenceRef ref;
  EvidenceRef next_ref;
};

StepRecord RecordOf(const Piece& piece) {
  StepRecord record;
  record.lo = piece.lo;
  record.hi = piece.hi;
  record.begin = piece.begin;
  record.end = record.work_end = piece.end;
  record.net = piece.end - piece.begin;
  record.ref = piece.ref;
  record.next_ref = piece.next_ref;
  return record;
}

// Calls `take` with each record that `whole` stands for; with one that took many steps at once if its marks
// cannot be had or are not what was said of them.
template <typename Take>
void Expand(const StepRecord& whole, const std::vector<StepMark>& marks, Take take) {
  Piece piece{whole.lo, whole.hi, whole.begin, whole.end, whole.ref, whole.next_ref};
  const StepMark* last = nullptr;
  for (const StepMark& mark : marks) {
    if (mark.train_step > whole.hi || mark.t >= whole.end) break;
    if (mark.t < whole.begin || mark.train_step < whole.lo) continue;
    if (last != nullptr) {
      if (mark.train_step <= last->train_step || mark.t <= last->t) continue;
      take(Piece{piece.lo, mark.train_step - 1, piece.begin, mark.t, piece.ref, mark.ref});
      piece.lo = mark.train_step;
      piece.begin = mark.t;
      piece.ref = mark.ref;
    }
    last = &mark;
  }
  take(piece);
}

// A shorter stretch costs less as records of its own.
constexpr std::ptrdiff_t kLeastPart = 4;

// Counts the last step of a part, which has `count` numbers.
void Count(StepRecord& part, std::int64_t count, Ns net, bool saved, StepsOfParts& parts) {
  part.longest = std::max(part.longest, net / count);
  part.saved = saved;
  parts.times.Add(net / count);
}

// Makes a record the first step of a part.
void Begin(const StepBlock* block, StepRecord& part, StepsOfParts& parts) {
  part.block = block;
  part.part = true;
  part.first_net = part.net;
  part.first_after_save = parts.after_saves.size();
  Count(part, part.count(), part.net, part.saved, parts);
}

// Makes `part` longer by the step that follows it.
void Extend(StepRecord& part, const Piece& step, Ns net, bool saved, StepsOfParts& parts) {
  if (part.saved) {
    parts.after_saves.push_back(net);
    ++part.after_saves;
  }
  part.hi = step.hi;
  part.end = part.work_end = step.end;
  part.net += net;
  part.next_ref = step.next_ref;
  Count(part, step.hi - step.lo + 1, net, saved, parts);
}

// Appends the block's records, with its long stretches of steps as parts of it.
void Split(const StepRecord& whole, const std::vector<StepMark>& marks, StepsOfParts& parts,
           const LookInto& look, std::vector<StepRecord>& records) {
  if (whole.part) {
    Expand(whole, marks, [&](const Piece& piece) {
      const Ns net = piece.end - piece.begin - look(piece.begin, piece.end).save_ns;
      parts.times.Remove(net / (piece.hi - piece.lo + 1));
    });
  }
  std::ptrdiff_t stretch = 0;  // of steps that may be a part
  InStep in;
  Expand(whole, marks, [&](const Piece& piece) {
    if (piece.end > in.nothing_until) in = look(piece.begin, piece.end);
    const Ns net = piece.end - piece.begin - in.save_ns;
    stretch = piece.hi - piece.lo + 1 == whole.block->stride && !in.other ? stretch + 1 : 0;
    if (stretch > kLeastPart) return Extend(records.back(), piece, net, in.saved, parts);
    records.push_back(RecordOf(piece));
    records.back().net = net;
    records.back().saved = in.saved;
    if (stretch < kLeastPart) return;
    const auto part = records.end() - kLeastPart;
    Begin(whole.block, *part, parts);
    for (auto next = std::next(part); next != records.end(); ++next) {
      const Piece step{next->lo, next->hi, next->begin, next->end, next->ref, next->next_ref};
      Extend(*part, step, next->net, next->saved, parts);
    }
    records.erase(std::next(part), records.end());
  });
}

// In the place of each block that `which` says so of: what `replace` appends for it.
void ReplaceBlocks(std::vector<StepRecord>& records, const std::function<bool(const StepRecord&)>& which,
                   const std::function<void(const StepRecord&, std::vector<StepRecord>&)>& replace) {
  std::vector<StepRecord> replaced;
  std::size_t done = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].block == nullptr || !which(records[i])) continue;
    replaced.insert(replaced.end(), records.begin() + static_cast<std::ptrdiff_t>(done),
                    records.begin() + static_cast<std::ptrdiff_t>(i));
    replace(records[i], replaced);
    done = i + 1;
  }
  if (done == 0) return;
  replaced.insert(replaced.end(), records.begin() + static_cast<std::ptrdiff_t>(done), records.end());
  records = std::move(replaced);
}

std::int64_t RecordsIn(const StepRecord& record) {
  return record.block == nullptr ? 1 : record.count() / record.block->stride;
}

}  // namespace

std::vector<StepMark> MarksOf(const StepBlock& block, const StepReader* reader) {
  std::vector<StepMark> marks;
  if (reader != nullptr) marks = reader->Read(block);
  if (marks.empty()) marks = {block.first, block.last};
  // All marks belong to the block's task, whatever the reader says.
  for (StepMark& mark : marks) {
    mark.slurm_step = block.first.slurm_step;
    mark.task = block.first.task;
  }
  return marks;
}

std::vector<Folded> FoldStepMarks(std::vector<StepMark> marks, std::vector<const StepBlock*> blocks,
                                  const StepReader* reader) {
  DissolveOverlapping(marks, blocks, reader);
  // Blocks that are left have marks of one task only.
  const std::map<std::size_t, std::int64_t> out_of_order =
      blocks.empty() && !AreInOrder(marks) ? FindOutOfOrder(marks) : std::map<std::size_t, std::int64_t>();
  Folder folder(marks.size());
  std::size_t mark = 0;
  for (const StepBlock* block : blocks) {
    for (; mark < marks.size() && marks[mark].t < block->first.t; ++mark) folder.Add(marks[mark]);
    if (folder.AddWhole(*block)) continue;
    for (const StepMark& its : MarksOf(*block, reader)) folder.Add(its);
  }
  auto next = out_of_order.begin();
  for (; mark < marks.size(); ++mark) {
    if (next == out_of_order.end() || next->first != mark) {
      folder.Add(marks[mark]);
    } else {
      folder.LeaveOut(marks[mark], (next++)->second);
    }
  }
  return std::move(folder).Finish();
}

std::vector<StepRecord> RecordsOf(const Folded& folded) {
  std::vector<StepRecord> records;
  records.reserve(folded.steps.size());
  for (const FoldedStep& step : folded.steps) {
    // Marks at the same time: the steps between took no time.
    if (!records.empty() && step.mark.t == records.back().begin) {
      records.back().hi = step.mark.train_step;
      continue;
    }
    if (!records.empty()) EndAt(records.back(), step.mark);
    records.push_back(RecordFrom(step.mark));
    records.back().block = step.block;
  }
  return records;
}

std::int64_t UsualCount(const std::vector<StepRecord>& records) {
  if (records.size() < 2) return 1;
  const auto count_of = [](const StepRecord& record) {
    return record.block == nullptr ? record.count() : record.block->stride;
  };
  const std::int64_t first = count_of(records.front());
  if (std::all_of(records.begin(), std::prev(records.end()),
                  [&](const StepRecord& record) { return count_of(record) == first; }))
    return std::max<std::int64_t>(0, first);
  DurationHistogram counts;
  for (std::size_t i = 0; i + 1 < records.size(); ++i) {
    if (records[i].block == nullptr) {
      counts.Add(records[i].count());
    } else {
      counts.Add(records[i].block->stride, RecordsIn(records[i]));
    }
  }
  return counts.Median().value_or(1);
}

std::int64_t CountRecords(const std::vector<StepRecord>& records) {
  std::int64_t count = 0;
  for (const StepRecord& record : records) {
    if (__builtin_add_overflow(count, RecordsIn(record), &count)) return INT64_MAX;
  }
  return count;
}

void SplitBlocks(std::vector<StepRecord>& records, const StepReader* reader, StepsOfParts& parts,
                 const LookInto& look) {
  BlockMarks marks(reader);
  ReplaceBlocks(
      records,
      [&](const StepRecord& block) {
        const InStep in = look(block.begin, block.end);
        return in.other || in.saved;
      },
      [&](const StepRecord& block, std::vector<StepRecord>& replaced) {
        Split(block, marks.Of(block.block), parts, look, replaced);
      });
}

void ExpandBlocks(std::vector<StepRecord>& records, const StepReader* reader,
                  const std::function<bool(const StepRecord&)>& which,
                  const std::function<void(StepRecord&)>& finish) {
  BlockMarks marks(reader);
  ReplaceBlocks(records, which, [&](const StepRecord& block, std::vector<StepRecord>& replaced) {
    Expand(block, marks.Of(block.block), [&](const Piece& piece) {
      replaced.push_back(RecordOf(piece));
      if (finish) finish(replaced.back());
    });
  });
}

}  // namespace goodput
