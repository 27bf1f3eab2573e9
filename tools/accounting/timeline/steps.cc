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

class Folder {
 public:
  void Add(const StepMark& mark) {
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), mark)) incarnations_.emplace_back();
    Folded& folded = incarnations_.back();
    // A task that lags behind the first one adds nothing.
    if (folded.steps.empty() || mark.train_step > folded.steps.back().mark.train_step)
      folded.steps.push_back({mark, nullptr});
    folded.last_of[{mark.slurm_step, mark.task}] = mark.train_step;
  }

  // False: its marks must be examined one by one.
  bool AddWhole(const StepBlock& block) {
    // The first step of a start differs from the others.
    if (incarnations_.empty() || StartsAgain(incarnations_.back(), block.first)) return false;
    Folded& folded = incarnations_.back();
    if (block.first.train_step <= folded.steps.back().mark.train_step) return false;
    folded.steps.push_back({block.first, &block});
    folded.steps.push_back({block.last, nullptr});
    folded.last_of[{block.last.slurm_step, block.last.task}] = block.last.train_step;
    return true;
  }

  std::vector<Folded> Finish() && { return std::move(incarnations_); }

 private:
  std::vector<Folded> incarnations_;
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

// Its records; or itself, as one record of many steps, if its marks cannot be read or contradict the summary.
std::vector<StepRecord> Expanded(const StepRecord& whole, const StepReader* reader) {
  std::vector<StepRecord> records;
  for (const StepMark& mark : MarksOf(*whole.block, reader)) {
    if (mark.train_step > whole.hi || mark.t >= whole.end) break;
    if (mark.t < whole.begin || mark.train_step < whole.lo) continue;
    if (!records.empty()) {
      if (mark.train_step <= records.back().lo || mark.t <= records.back().begin) continue;
      EndAt(records.back(), mark);
    }
    records.push_back(RecordFrom(mark));
  }
  if (records.empty()) records.push_back(whole);
  records.front().lo = whole.lo;
  records.front().begin = whole.begin;
  records.front().ref = whole.ref;
  records.back().hi = whole.hi;
  records.back().end = records.back().work_end = whole.end;
  records.back().next_ref = whole.next_ref;
  for (StepRecord& record : records) {
    record.net = record.end - record.begin;
    record.block = nullptr;
    record.part = false;
    record.longest = 0;
  }
  return records;
}

// A shorter part is cheaper as separate records.
constexpr std::ptrdiff_t kLeastPart = 4;

Ns TimeOfAStep(const StepRecord& record) {
  return (record.end - record.begin) / record.count();
}

// One record in place of those in [first, last), which are consecutive in `whole`.
StepRecord PartOf(const StepRecord& whole, std::vector<StepRecord>::const_iterator first,
                  std::vector<StepRecord>::const_iterator last, DurationHistogram& parts) {
  StepRecord part = *first;
  part.hi = std::prev(last)->hi;
  part.end = part.work_end = std::prev(last)->end;
  part.net = part.end - part.begin;
  part.next_ref = std::prev(last)->next_ref;
  for (auto record = first; record != last; ++record) {
    const Ns took = TimeOfAStep(*record);
    part.longest = std::max(part.longest, took);
    parts.Add(took);
  }
  part.block = whole.block;
  part.part = true;
  return part;
}

// The block's records, with its long quiet stretches as parts of it.
std::vector<StepRecord> Split(const StepRecord& whole, const StepReader* reader, DurationHistogram& parts,
                              const std::function<bool(const StepRecord&)>& quiet) {
  const std::vector<StepRecord> records = Expanded(whole, reader);
  if (whole.part) {
    for (const StepRecord& record : records) parts.Remove(TimeOfAStep(record));
  }
  std::vector<StepRecord> split;
  const auto stays = [&](const StepRecord& record) {
    return record.count() == whole.block->stride && quiet(record);
  };
  for (auto record = records.begin(); record != records.end();) {
    const auto end = std::find_if_not(record, records.end(), stays);
    if (end - record >= kLeastPart) {
      split.push_back(PartOf(whole, record, end, parts));
    } else {
      split.insert(split.end(), record, end);
    }
    if (end != records.end()) split.push_back(*end);
    record = end == records.end() ? end : std::next(end);
  }
  return split;
}

// Caches the marks of the last block, since its parts are read consecutively.
class RememberingReader : public StepReader {
 public:
  explicit RememberingReader(const StepReader* reader) : reader_(reader) {}
  std::vector<StepMark> Read(const StepBlock& block) const override {
    if (key_ != block.key) {
      marks_ = reader_ == nullptr ? std::vector<StepMark>{} : reader_->Read(block);
      key_ = block.key;
    }
    return marks_;
  }

 private:
  const StepReader* reader_;
  mutable std::optional<std::int64_t> key_;
  mutable std::vector<StepMark> marks_;
};

// Replaces the blocks for which `which` returns true with the result of `make`.
void ReplaceBlocks(std::vector<StepRecord>& records, const std::function<bool(const StepRecord&)>& which,
                   const std::function<std::vector<StepRecord>(const StepRecord&)>& make) {
  std::vector<StepRecord> replaced;
  std::size_t done = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].block == nullptr || !which(records[i])) continue;
    replaced.insert(replaced.end(), records.begin() + static_cast<std::ptrdiff_t>(done),
                    records.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<StepRecord> its = make(records[i]);
    replaced.insert(replaced.end(), its.begin(), its.end());
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
                 const std::function<bool(const StepRecord&)>& quiet) {
  const RememberingReader remembering(reader);
  ReplaceBlocks(
      records, [&](const StepRecord& block) { return !quiet(block); },
      [&](const StepRecord& block) { return Split(block, &remembering, parts, quiet); });
}

void ExpandBlocks(std::vector<StepRecord>& records, const StepReader* reader,
                  const std::function<bool(const StepRecord&)>& which) {
  const RememberingReader remembering(reader);
  ReplaceBlocks(records, which, [&](const StepRecord& block) { return Expanded(block, &remembering); });
}

}  // namespace goodput
