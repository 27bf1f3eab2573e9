#include "tools/sources/import_export/google_export.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/accounting/timeline/saves.h"
#include "tools/base/decimal.h"

namespace goodput {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10U;

using Teller = std::pair<std::int32_t, std::int32_t>;  // Slurm step, task

// Slurm's name of a step; omitted for the first srun.
std::string StepName(std::int32_t slurm_step) {
  switch (slurm_step) {
    case kBatchStep:
      return "batch";
    case kInteractiveStep:
      return "interactive";
    case kExternStep:
      return "extern";
    default:
      return slurm_step < 0 ? "none" : std::to_string(slurm_step);
  }
}

// Writes one object member by member.
class Object {
 public:
  explicit Object(std::string& text) : text_(text) { text_ += '{'; }
  Object& Time(std::string_view name, Ns t) {
    Name(name);
    AppendSeconds(t, text_);
    return *this;
  }
  Object& Int(std::string_view name, std::int64_t value) {
    Name(name);
    text_ += std::to_string(value);
    return *this;
  }
  Object& Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJson(text_, value);
    return *this;
  }
  Object& Raw(std::string_view name, std::string_view value) {
    Name(name);
    text_.append(value);
    return *this;
  }
  Object Inner(std::string_view name) {
    Name(name);
    return Object(text_);
  }
  void Close() { text_ += '}'; }

 private:
  void Name(std::string_view name) {
    if (!first_) text_ += ',';
    first_ = false;
    text_.append("\"").append(name).append("\":");
  }
  std::string& text_;
  bool first_ = true;
};

// A line other than a step; steps are too many to keep.
struct Line {
  Ns t = 0;
  int order = 0;  // among lines of the same time; steps come last
  std::string text;
};
constexpr int kEndOrder = 0;
constexpr int kStartOrder = 1;
constexpr int kOtherOrder = 2;

class Exporter {
 public:
  Exporter(const RunFacts& facts, const Timeline& timeline, const std::string& job_name,
           const std::function<absl::Status(std::string_view)>& write)
      : facts_(facts), timeline_(timeline), write_(write), quoted_name_(QuotedJson(job_name)) {}
  absl::Status Export();

 private:
  template <typename Fill>
  void Add(Ns t, int order, Fill fill);
  void AddBounds(const AttemptFacts& attempt, const Allocation& allocation);
  void AddPhase(std::string_view name, Ns begin, Ns end);
  void AddSchedulerPhases(int index, const Allocation& allocation);
  void AddSruns(const Allocation& allocation);
  void AddMarks(const AttemptFacts& attempt);
  struct Open {
    const Mark* begin = nullptr;
    const Mark* released = nullptr;  // training continued while the save ran in the background
  };
  void AddCheckpoint(bool save, const Open& open, const Mark* end, const AttemptFacts& attempt);
  void AddPhaseMark(const Mark& mark);
  absl::Status WriteAttempt(const AttemptFacts& attempt);
  absl::Status WriteSteps(std::vector<StepMark> marks, std::size_t& next_line);
  absl::Status Put(std::string_view line);
  absl::Status Flush();

  const RunFacts& facts_;
  const Timeline& timeline_;
  const std::function<absl::Status(std::string_view)>& write_;
  std::string quoted_name_;
  std::vector<Line> lines_;  // of the attempt
  std::string piece_;
};

template <typename Fill>
void Exporter::Add(Ns t, int order, Fill fill) {
  Line line{t, order, {}};
  Object object(line.text);
  object.Raw("job_name", quoted_name_);
  fill(object);
  object.Close();
  lines_.push_back(std::move(line));
}

absl::Status Exporter::Put(std::string_view line) {
  piece_.append(line).append("\n");
  return piece_.size() < kPiece ? absl::OkStatus() : Flush();
}

absl::Status Exporter::Flush() {
  absl::Status status = piece_.empty() ? absl::OkStatus() : write_(piece_);
  piece_.clear();
  return status;
}

void Exporter::AddBounds(const AttemptFacts& attempt, const Allocation& allocation) {
  Add(allocation.begin, kStartOrder, [&](Object& object) {
    object.Time("job_start_time", allocation.begin);
    object.Inner("slurm_goodput").Int("v", 1).Close();
  });
  const Ns end = allocation.end;
  if (allocation.ended) {
    Add(end, kEndOrder, [&](Object& object) {
      object.Time("job_end_time", end);
      Object ours = object.Inner("slurm_goodput");
      ours.Text("state", attempt.state);
      if (attempt.preempt_time) ours.Time("stop_time", *attempt.preempt_time);
      ours.Close();
    });
  } else {
    Add(end, kOtherOrder, [&](Object& object) {
      Object ours = object.Inner("slurm_goodput");
      ours.Time("running_time", end);
      if (attempt.preempt_time) ours.Time("stop_time", *attempt.preempt_time);
      ours.Close();
    });
  }
}

void Exporter::AddPhase(std::string_view name, Ns begin, Ns end) {
  for (const bool begins : {true, false}) {
    Add(begins ? begin : end, kOtherOrder, [&](Object& object) {
      object.Text("custom_badput_event_type", name);
      object.Time(begins ? "custom_badput_event_start_time" : "custom_badput_event_end_time",
                  begins ? begin : end);
      // Two adjacent ones are two.
      object.Inner("slurm_goodput").Int("task", 0).Close();
    });
  }
}

// What Slurm recorded, in the vocabulary of badput.
void Exporter::AddSchedulerPhases(int index, const Allocation& allocation) {
  if (allocation.ready) AddPhase("provisioning", allocation.begin, *allocation.ready);
  for (const TimeSpan& span : allocation.suspended) AddPhase("suspended", span.begin, span.end);
  for (const Interval& interval : timeline_.intervals) {
    const bool told = interval.bucket == Bucket::kLaunch || interval.bucket == Bucket::kDrain ||
                      interval.bucket == Bucket::kTeardown;
    if (told && interval.attempt == index)
      AddPhase(BucketName(interval.bucket), interval.begin, interval.end);
  }
}

// The tasks of a Slurm step together, and those without a seen exit as another entry.
void Exporter::AddSruns(const Allocation& allocation) {
  struct Srun {
    std::optional<Ns> begin;
    std::optional<Ns> end;
    std::optional<int> exit_code;
    std::optional<int> exit_signal;
  };
  std::map<std::pair<std::int32_t, bool>, Srun> sruns;  // Slurm step, exit not seen
  for (const TaskLife& life : allocation.lives) {
    Srun& srun = sruns[{life.slurm_step, !life.end}];
    srun.begin = std::min(srun.begin.value_or(life.begin), life.begin);
    if (life.end) {
      const Ns end = life.exit_time.value_or(*life.end);
      srun.end = std::max(srun.end.value_or(end), end);
    }
    if (life.exit_code) srun.exit_code = std::max(srun.exit_code.value_or(0), *life.exit_code);
    if (life.exit_signal && !srun.exit_signal) srun.exit_signal = life.exit_signal;
  }
  for (const auto& [of, srun] : sruns) {
    Add(*srun.begin, kOtherOrder,
        [&, slurm_step = of.first, alive = of.second, &srun = srun](Object& object) {
          Object ours = object.Inner("slurm_goodput");
          ours.Text("slurm_step", StepName(slurm_step)).Int("task", alive ? 1 : 0);
          ours.Time("srun_start_time", *srun.begin);
          if (srun.end) ours.Time("srun_end_time", std::max(*srun.end, Ns{0}));
          if (srun.exit_code) ours.Int("exit_code", *srun.exit_code);
          if (srun.exit_signal) ours.Int("exit_signal", *srun.exit_signal);
          ours.Close();
        });
  }
}

void Exporter::AddPhaseMark(const Mark& mark) {
  Add(mark.t, kOtherOrder, [&](Object& object) {
    std::string name = "custom_badput_event";
    if (mark.name == "init") {
      name = "tpu_init";
    } else if (mark.name == "training_prep" || mark.name == "data_loading") {
      name = mark.name;
    } else {
      object.Text("custom_badput_event_type", mark.name.empty() ? "phase" : mark.name);
    }
    object.Time(name + (mark.begin ? "_start_time" : "_end_time"), mark.t);
    object.Inner("slurm_goodput")
        .Text("slurm_step", StepName(mark.slurm_step))
        .Int("task", mark.task)
        .Close();
  });
}

// The save blocked training until it was complete, or until a step began meanwhile.
Ns BlockedUntil(const AttemptFacts& attempt, Ns begin, Ns complete) {
  Ns until = complete;
  for (const StepMark& mark : attempt.step_marks) {
    if (mark.t > begin) until = std::min(until, mark.t);
  }
  for (const StepBlock& block : attempt.step_blocks) {
    if (block.first.t > begin) until = std::min(until, block.first.t);
    // Inside a block, the next step is about one step away.
    if (block.first.t <= begin && begin < block.last.t) {
      const Ns step = block.durations.Median().value_or(complete - begin);
      until = std::min(until, begin + TimesAtMost(step, block.stride));
    }
  }
  return until;
}

void Exporter::AddCheckpoint(bool save, const Open& open, const Mark* end, const AttemptFacts& attempt) {
  const Mark& begin = *open.begin;
  std::optional<std::int64_t> step = begin.train_step;
  if (!step && end != nullptr) step = end->train_step;
  Add(begin.t, kOtherOrder, [&](Object& object) {
    object.Text("event_type", save ? "save" : "restore");
    // Google's calculator ends with an error if a save or a restore lacks any of the members that Orbax
    // writes.
    object.Raw("step", step ? std::to_string(*step) : "null").Text("directory", "");
    const std::string_view start =
        save ? "checkpoint_manager_blocking_start_time" : "checkpoint_manager_start_time";
    const std::string_view lasted =
        save ? "checkpoint_manager_blocking_duration_secs" : "checkpoint_manager_duration_secs";
    object.Time(start, begin.t);
    std::optional<Ns> blocked;
    if (end != nullptr) blocked = save ? BlockedUntil(attempt, begin.t, end->t) : end->t;
    if (open.released != nullptr) blocked = open.released->t;
    const Ns lasts = blocked ? *blocked - begin.t : 0;
    object.Time(lasted, lasts);
    object.Time(save ? "checkpointer_blocking_duration_secs" : "checkpointer_duration_secs", lasts);
    if (save) object.Time("wait_for_prev_duration_secs", 0).Time("get_old_steps_duration_secs", 0);
    if (open.released != nullptr) object.Raw("synchronous", "false");
    Object ours = object.Inner("slurm_goodput");
    ours.Text("slurm_step", StepName(begin.slurm_step)).Int("task", begin.task);
    if (end != nullptr && *blocked != end->t) ours.Time("complete_time", end->t);
    if (!blocked) ours.Raw("unfinished", "true");
    ours.Close();
  });
}

// Begin and end of a save or restore are one entry; they are paired in the same way as in the timeline.
void Exporter::AddMarks(const AttemptFacts& attempt) {
  std::vector<const Mark*> marks;
  marks.reserve(attempt.marks.size());
  for (const Mark& mark : attempt.marks) marks.push_back(&mark);
  std::vector<Mark> of_saves;
  for (const SaveBlock& block : attempt.save_blocks) AppendMarks(block, of_saves);
  for (const Mark& mark : of_saves) marks.push_back(&mark);
  std::sort(marks.begin(), marks.end(), [](const Mark* a, const Mark* b) {
    return std::tie(a->t, a->ref.source, a->ref.offset, a->kind, b->begin, a->slurm_step, a->task, a->name,
                    a->train_step) < std::tie(b->t, b->ref.source, b->ref.offset, b->kind, a->begin,
                                              b->slurm_step, b->task, b->name, b->train_step);
  });
  std::map<std::pair<bool, Teller>, Open> open;
  for (const Mark* mark : marks) {
    // The format cannot express these.
    if (mark->kind == Mark::Kind::kStop || mark->kind == Mark::Kind::kStepEnd ||
        mark->kind == Mark::Kind::kStepFailed || mark->kind == Mark::Kind::kStart)
      continue;
    if (mark->kind == Mark::Kind::kPhase) {
      AddPhaseMark(*mark);
      continue;
    }
    const bool save = mark->kind == Mark::Kind::kCheckpoint;
    const std::pair key{save, Teller{mark->slurm_step, mark->task}};
    const auto found = open.find(key);
    if (mark->begin) {
      if (found != open.end()) {
        const Mark& begun = *found->second.begin;
        if (begun.t == mark->t && (!save || begun.train_step == mark->train_step)) continue;
        AddCheckpoint(save, found->second, nullptr, attempt);
      }
      open[key] = {mark, nullptr};
    } else if (found != open.end() && mark->name == kInBackground) {
      if (found->second.released == nullptr) found->second.released = mark;
    } else if (found != open.end()) {
      AddCheckpoint(save, found->second, mark, attempt);
      open.erase(found);
    } else if (!save && mark->train_step) {
      // Only that it was done, and which step it restored.
      AddCheckpoint(save, {mark, nullptr}, mark, attempt);
    }
  }
  for (const auto& [key, begun] : open) AddCheckpoint(key.first, begun, nullptr, attempt);
}

absl::Status Exporter::WriteSteps(std::vector<StepMark> marks, std::size_t& next_line) {
  std::sort(marks.begin(), marks.end(), [](const StepMark& a, const StepMark& b) {
    return std::tie(a.t, a.train_step, a.slurm_step, a.task, a.ref.source, a.ref.offset) <
           std::tie(b.t, b.train_step, b.slurm_step, b.task, b.ref.source, b.ref.offset);
  });
  std::string line;
  for (const StepMark& mark : marks) {
    for (; next_line < lines_.size() && lines_[next_line].t <= mark.t; ++next_line) {
      if (absl::Status status = Put(lines_[next_line].text); !status.ok()) return status;
    }
    line.clear();
    Object object(line);
    object.Raw("job_name", quoted_name_).Int("step_count", mark.train_step).Time("step_start_time", mark.t);
    if (mark.slurm_step != 0 || mark.task != 0) {
      object.Inner("slurm_goodput")
          .Text("slurm_step", StepName(mark.slurm_step))
          .Int("task", mark.task)
          .Close();
    }
    object.Close();
    if (absl::Status status = Put(line); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Blocks are read one after the other; overlapping ones, of several tasks, together.
absl::Status Exporter::WriteAttempt(const AttemptFacts& attempt) {
  std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return std::tie(a.t, a.order) < std::tie(b.t, b.order);
  });
  std::vector<const StepBlock*> blocks;
  blocks.reserve(attempt.step_blocks.size());
  for (const StepBlock& block : attempt.step_blocks) blocks.push_back(&block);
  std::sort(blocks.begin(), blocks.end(),
            [](const StepBlock* a, const StepBlock* b) { return a->first.t < b->first.t; });
  std::vector<StepMark> loose = attempt.step_marks;
  std::sort(loose.begin(), loose.end(), [](const StepMark& a, const StepMark& b) { return a.t < b.t; });
  std::size_t next_line = 0;
  auto next_loose = loose.begin();
  for (std::size_t i = 0; i < blocks.size();) {
    std::vector<StepMark> together;
    Ns until = blocks[i]->last.t;
    for (; i < blocks.size() && blocks[i]->first.t <= until; ++i) {
      until = std::max(until, blocks[i]->last.t);
      std::vector<StepMark> marks;
      if (facts_.step_reader != nullptr) marks = facts_.step_reader->Read(*blocks[i]);
      if (marks.empty()) marks = {blocks[i]->first, blocks[i]->last};
      together.insert(together.end(), marks.begin(), marks.end());
    }
    for (; next_loose != loose.end() && next_loose->t <= until; ++next_loose) together.push_back(*next_loose);
    if (absl::Status status = WriteSteps(std::move(together), next_line); !status.ok()) return status;
  }
  RETURN_IF_ERROR(WriteSteps({next_loose, loose.end()}, next_line));
  for (; next_line < lines_.size(); ++next_line) {
    if (absl::Status status = Put(lines_[next_line].text); !status.ok()) return status;
  }
  lines_.clear();
  return absl::OkStatus();
}

absl::Status Exporter::Export() {
  for (std::size_t i = 0; i < timeline_.attempts.size(); ++i) {
    const AttemptFacts& attempt = *timeline_.attempts[i].facts;
    if (!attempt.start) continue;
    const Allocation allocation = ReadAllocation(attempt, facts_.now);
    AddBounds(attempt, allocation);
    AddSchedulerPhases(static_cast<int>(i), allocation);
    AddSruns(allocation);
    AddMarks(attempt);
    if (absl::Status status = WriteAttempt(attempt); !status.ok()) return status;
  }
  return Flush();
}

}  // namespace

absl::Status ExportGoogleLog(const RunFacts& facts, const Timeline& timeline, const std::string& job_name,
                             const std::function<absl::Status(std::string_view)>& write) {
  // The timeline may have removed impossible facts.
  return Exporter(timeline.mended ? *timeline.mended : facts, timeline, job_name, write).Export();
}

}  // namespace goodput
