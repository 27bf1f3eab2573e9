#include "tools/accounting/timeline/steps.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace goodput {
namespace {

// A lower number in the same task means that the program restarted. So does a lower number than any known one
// from a new task; otherwise a new task is merely slow.
bool StartsAgain(const Folded& folded, const StepMark& mark) {
  if (folded.steps.empty()) return false;
  const auto last = folded.last_of.find({mark.slurm_step, mark.task});
  if (last != folded.last_of.end()) return mark.train_step < last->second;
  return mark.train_step < folded.steps.front().mark.train_step;
}

// The tasks that began the newest step of a program.
class NewestStep {
 public:
  void Begin(const StepMark& mark) {
    arrivals_ = {mark.train_step, mark.t, mark.t, 0, {mark.slurm_step, mark.task}, mark.ref};
    tasks_ = 1;
    after_first_ = 0;
  }
  void Add(const StepMark& mark) {
    arrivals_.last = mark.t;
    arrivals_.last_task = {mark.slurm_step, mark.task};
    arrivals_.last_mark = mark.ref;
    ++tasks_;
    after_first_ += mark.t - arrivals_.first;
  }
  // No task begins it any more.
  void End(Arrivals& arrivals) {
    if (tasks_ > 1) ++arrivals.compared;
    if (tasks_ > 1 && arrivals_.last - arrivals_.first > kClocksAgree) {
      arrivals_.wait = arrivals_.last - arrivals_.first - after_first_ / tasks_;
      arrivals.late.push_back(arrivals_);
    }
    tasks_ = 0;
  }

 private:
  StepArrivals arrivals_;
  std::int64_t tasks_ = 0;
  Ns after_first_ = 0;  // the sum over its tasks
};

class Folder {
 public:
  void Add(const StepMark& mark) {
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), mark)) Start();
    Folded& folded = incarnations_.back();
    const auto [last, fresh] = folded.last_of.try_emplace({mark.slurm_step, mark.task}, mark.train_step);
    const bool repeated = !fresh && last->second == mark.train_step;
    last->second = mark.train_step;
    // A task that lags behind the first one adds nothing.
    if (folded.steps.empty() || mark.train_step > folded.steps.back().mark.train_step) {
      newest_.End(folded.arrivals);
      newest_.Begin(mark);
      folded.steps.push_back({mark, nullptr});
    } else if (mark.train_step < folded.steps.back().mark.train_step) {
      ++folded.arrivals.out_of_step;
    } else if (!repeated) {
      newest_.Add(mark);
    }
  }

  // False: its marks must be examined one by one.
  bool AddWhole(const StepBlock& block) {
    // The first step of a start differs from the others.
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), block.first)) return false;
    Folded& folded = incarnations_.back();
    if (block.first.train_step <= folded.steps.back().mark.train_step) return false;
    newest_.End(folded.arrivals);
    newest_.Begin(block.last);
    folded.steps.push_back({block.first, &block});
    folded.steps.push_back({block.last, nullptr});
    folded.last_of[{block.last.slurm_step, block.last.task}] = block.last.train_step;
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
  }
  void EndOfProgram() {
    if (incarnations_.empty()) return;
    Folded& folded = incarnations_.back();
    newest_.End(folded.arrivals);
    folded.arrivals.tasks = folded.last_of.size();
  }

  std::vector<Folded> incarnations_;
  NewestStep newest_;  // of the last one
};

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

  Ns of_a_step() const { return (end - begin) / (hi - lo + 1); }
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

// Makes `part` longer by what follows it.
void Extend(StepRecord& part, std::int64_t hi, Ns end, const EvidenceRef& next_ref, Ns of_a_step) {
  part.hi = hi;
  part.end = part.work_end = end;
  part.net = part.end - part.begin;
  part.next_ref = next_ref;
  part.longest = std::max(part.longest, of_a_step);
}

// Appends the block's records, with its long quiet stretches as parts of it.
void Split(const StepRecord& whole, const std::vector<StepMark>& marks, DurationHistogram& parts,
           const IsQuiet& quiet, std::vector<StepRecord>& records) {
  if (whole.part) Expand(whole, marks, [&](const Piece& piece) { parts.Remove(piece.of_a_step()); });
  std::ptrdiff_t stretch = 0;  // quiet records since the last other one
  Expand(whole, marks, [&](const Piece& piece) {
    stretch =
        piece.hi - piece.lo + 1 == whole.block->stride && quiet(piece.begin, piece.end) ? stretch + 1 : 0;
    if (stretch > kLeastPart) {
      Extend(records.back(), piece.hi, piece.end, piece.next_ref, piece.of_a_step());
      parts.Add(piece.of_a_step());
      return;
    }
    records.push_back(RecordOf(piece));
    if (stretch < kLeastPart) return;
    const auto part = records.end() - kLeastPart;
    part->block = whole.block;
    part->part = true;
    for (auto next = part; next != records.end(); ++next) {
      const Ns of_a_step = next->net / next->count();
      parts.Add(of_a_step);
      Extend(*part, next->hi, next->end, next->next_ref, of_a_step);
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
  Folder folder;
  auto mark = marks.begin();
  for (const StepBlock* block : blocks) {
    for (; mark != marks.end() && mark->t < block->first.t; ++mark) folder.Add(*mark);
    if (folder.AddWhole(*block)) continue;
    for (const StepMark& its : MarksOf(*block, reader)) folder.Add(its);
  }
  for (; mark != marks.end(); ++mark) folder.Add(*mark);
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

void SplitBlocks(std::vector<StepRecord>& records, const StepReader* reader, DurationHistogram& parts,
                 const IsQuiet& quiet) {
  BlockMarks marks(reader);
  ReplaceBlocks(
      records, [&](const StepRecord& block) { return !quiet(block.begin, block.end); },
      [&](const StepRecord& block, std::vector<StepRecord>& replaced) {
        Split(block, marks.Of(block.block), parts, quiet, replaced);
      });
}

void ExpandBlocks(std::vector<StepRecord>& records, const StepReader* reader,
                  const std::function<bool(const StepRecord&)>& which) {
  BlockMarks marks(reader);
  ReplaceBlocks(records, which, [&](const StepRecord& block, std::vector<StepRecord>& replaced) {
    Expand(block, marks.Of(block.block), [&](const Piece& piece) { replaced.push_back(RecordOf(piece)); });
  });
}

}  // namespace goodput
