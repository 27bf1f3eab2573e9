#include "tools/goodputd/checkpoints/checkpoint_news.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "spank/event.h"
#include "tools/goodputd/job_record.h"

namespace goodput {
namespace {

// Names remembered for a job. One look finds at most a tenth of it.
constexpr std::size_t kMaxTold = 5000;

}  // namespace

void CheckpointNews::Take(const std::vector<CheckpointSeen>& found, bool whole, std::int64_t looked_ns) {
  ++looks_;
  // What is written under a temporary name, beside the last one of its name.
  std::set<std::string_view> written;
  for (const CheckpointSeen& seen : found) {
    const auto told = told_.find(seen.name);
    if (!seen.complete_ns && told != told_.end() && told->second.id == seen.id) written.insert(seen.name);
  }
  for (const CheckpointSeen& seen : found) {
    const auto known = told_.find(seen.name);
    if (known == told_.end() && told_.size() >= kMaxTold) ForgetOldest();
    Told& told = known == told_.end() ? told_[seen.name] : known->second;
    if (seen.id != 0 && told.id != seen.id) {
      if (IsDone(seen, told)) continue;
      if (seen.complete_ns && written.count(seen.name) != 0) {
        TakeDone(seen, told);
        continue;
      }
      // Another thing of the same name: saved anew.
      if (told.id != 0) told = Anew(told);
    }
    if (seen.id != 0) told.id = seen.id;
    told.look = looks_;
    if (seen.complete_ns) {
      TakeComplete(seen, told);
    } else if (told.complete) {
      // Being removed, or written over: only its completion will tell.
      if (told.reopened_ns == 0) told.reopened_ns = std::max(seen.written_ns, told.complete_ns);
    } else if (told.begin_ns == 0 && seen.begin_ns >= job_.since_ns) {
      Write(seen, true, told.begin_ns = seen.begin_ns);
    }
  }
  if (!whole) return;
  looked_ns_ = looked_ns;
  // What vanished incomplete and comes back is begun again. The complete are known for good: they may only be
  // away for a moment.
  for (auto at = told_.begin(); at != told_.end();) {
    Told& told = at->second;
    const bool vanished = told.look != looks_ && !told.complete;
    if (vanished && told.done_id != 0) told = Anew(told);
    at = vanished && told.done_id == 0 ? told_.erase(at) : std::next(at);
  }
}

CheckpointNews::Told CheckpointNews::Anew(const Told& before) {
  Told told;
  told.look = before.look;
  told.done_id = before.done_id;
  told.done_written_ns = before.done_written_ns;
  return told;
}

bool CheckpointNews::IsDone(const CheckpointSeen& seen, const Told& told) {
  return seen.id == told.done_id && seen.written_ns <= told.done_written_ns;
}

// Complete, though the next one of its name was seen before it was known to be.
void CheckpointNews::TakeDone(const CheckpointSeen& seen, Told& told) {
  told.done_id = seen.id;
  told.done_written_ns = seen.written_ns;
  if (*seen.complete_ns < job_.since_ns) return;
  Write(seen, true, *seen.complete_ns);
  Write(seen, false, *seen.complete_ns);
}

void CheckpointNews::ForgetOldest() {
  std::uint64_t oldest = looks_;
  for (const auto& [name, told] : told_) oldest = std::min(oldest, told.look);
  for (auto at = told_.begin(); at != told_.end();) {
    at = at->second.look == oldest && oldest != looks_ ? told_.erase(at) : std::next(at);
  }
}

void CheckpointNews::TakeComplete(const CheckpointSeen& seen, Told& told) {
  std::int64_t begin_ns = seen.begin_ns;
  if (told.complete) {
    const bool again = seen.written_ns > told.written_ns;
    if (again) begin_ns = told.reopened_ns != 0 ? told.reopened_ns : *seen.complete_ns;
    told.reopened_ns = 0;
    if (!again) return;
    told.begin_ns = 0;
  }
  told.complete = true;
  told.complete_ns = *seen.complete_ns;
  told.written_ns = seen.written_ns;
  told.done_id = seen.id;
  told.done_written_ns = seen.written_ns;
  if (*seen.complete_ns < job_.since_ns) return;
  if (told.begin_ns == 0) {
    // Of an older thing nothing tells when it was written again but that it was.
    if (begin_ns < job_.since_ns) begin_ns = *seen.complete_ns;
    Write(seen, true, told.begin_ns = begin_ns);
  }
  Write(seen, false, *seen.complete_ns);
}

void CheckpointNews::Saw(const std::string& view, const std::string& problem) {
  // A directory that is not there, or not at this moment, is neither.
  if ((view == view_ || view.empty()) && problem == problem_) return;
  if (!view.empty()) view_ = view;
  problem_ = problem;
  JobRecord record(kind::kCheckpoint, job_, StampAtReal(clock_, job_.node, clock_.real_ns()));
  if (!view_.empty()) record.Text(key::kView, view_);
  record.Text(key::kProblem, problem_);
  store_(job_, record.Finish());
}

std::int64_t CheckpointNews::Earlier(const CheckpointSeen& seen, std::int64_t t_ns) const {
  // Of one that was only seen complete, the timeline knows nothing of a begin.
  if (seen.begin_known || t_ns == seen.complete_ns) return 0;
  return std::max<std::int64_t>(0, t_ns - std::max(looked_ns_, job_.since_ns));
}

void CheckpointNews::Write(const CheckpointSeen& seen, bool begin, std::int64_t t_ns) {
  JobRecord record(kind::kCheckpoint, job_, StampAtReal(clock_, job_.node, t_ns));
  record.Text(key::kEdge, begin ? "begin" : "end");
  if (const std::int64_t earlier = begin ? Earlier(seen, t_ns) : 0; earlier > 0)
    record.Int(key::kEarlierNs, earlier);
  if (seen.train_step) record.Int(key::kTrainStep, *seen.train_step);
  record.Text(key::kName, seen.name);
  record.Text(key::kLayout, seen.layout);
  store_(job_, record.Finish());
}

}  // namespace goodput
