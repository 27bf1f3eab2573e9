#include "tools/sources/logs/log_fold.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// Processes of one start print their begin within this time.
constexpr Ns kOneStart = 10 * kSecond;
// A rank lags by at most this many lines of steps, or this much time if those are short.
constexpr Ns kLagLines = 2;
constexpr Ns kLagTime = 2 * kSecond;
// Ranks of one start differ by at most this much.
constexpr Ns kRanksTime = 2 * kSecond;
// Time between steps that is worth recording: at least a fiftieth of the steps' time.
constexpr Ns kGap = kSecond / 20;
constexpr Ns kGapShare = 50;
// A program that was told to end is silent for at most this many lines of steps, or this long.
constexpr Ns kSilentLines = 3;
constexpr Ns kSilentTime = 10 * kSecond;
// A pace needs at least this many steps.
constexpr std::int64_t kPaceSteps = 4;
constexpr std::int64_t kStepUntold = -1;
constexpr std::string_view kPreempted = "PREEMPTED";

absl::Status SeveralPrograms(std::int64_t step, std::int64_t last, std::int64_t offset) {
  return absl::FailedPreconditionError(Cat("several programs print their steps at the same time: at byte ",
                                           offset, ", step ", step, " follows step ", last,
                                           "; give each its own output, such as --output=%A_%a.out"));
}

}  // namespace

// Defined here, because inside the class an optional cannot see that it needs no arguments.
LogFold::Start::Start() = default;

absl::Status LogFold::Mark(Ns t, PackedMark::Kind kind, bool begin, std::optional<std::int64_t> step,
                           std::string_view name, std::int64_t offset, int lane) {
  LogMark mark;
  mark.t = t;
  mark.kind = kind;
  mark.begin = begin;
  mark.step = step;
  mark.name = name;
  Speaker speaker;
  speaker.attempt = start_->told.number;
  speaker.task = lane;
  return sink_.Mark(mark, speaker, offset + used_++);
}

absl::Status LogFold::Step(Ns t, std::int64_t step, std::int64_t offset) {
  Speaker speaker;
  speaker.attempt = start_->told.number;
  return sink_.Step(t, step, speaker, offset + used_++);
}

bool LogFold::IsBehindSlurmsEnd(Ns t) const {
  if (!start_ || !start_->over_by_slurm) return false;
  return t - start_->last_heard > std::max(kSilentTime, kSilentLines * start_->line_ns);
}

absl::Status LogFold::Heard(Ns t) {
  if (IsBehindSlurmsEnd(t)) {
    if (absl::Status status = End(start_->last_heard); !status.ok()) return status;
  }
  if (!start_) {
    if (!heard_ || t - heard_->end > kOneStart) heard_ = TimeSpan{t, t};
    heard_->end = std::max(heard_->end, t);
    return absl::OkStatus();
  }
  if (start_->over) return absl::OkStatus();
  TimeSpan& silence = start_->silence;
  if (t - start_->last_heard > silence.end - silence.begin) silence = {start_->last_heard, t};
  start_->last_heard = std::max(start_->last_heard, t);
  return absl::OkStatus();
}

// `said`: a line announced the begin.
absl::Status LogFold::Begin(Ns t, std::int64_t offset, bool said) {
  if (start_) {
    const bool one_start = !start_->has_step && !start_->waiting && t - start_->told.begin < kOneStart;
    if (!said || one_start) {
      start_->explicit_begin |= said;
      return absl::OkStatus();
    }
    if (absl::Status status = End(t); !status.ok()) return status;
  }
  start_.emplace();
  start_->told.number = next_attempt_++;
  // It was alive when it printed its first line.
  const bool heard = heard_ && t - heard_->end <= kOneStart;
  start_->told.begin = heard ? std::min(t, heard_->begin) : t;
  // What was printed at the end of the previous start belongs to that one.
  if (start_->told.begin == ended_at_) ++start_->told.begin;
  heard_.reset();
  start_->told.offset = offset;
  start_->last_heard = t;
  start_->explicit_begin = said;
  recent_count_ = 0;
  return absl::OkStatus();
}

absl::Status LogFold::End(Ns t) {
  if (!start_) return absl::OkStatus();
  interleaving_ = Interleaving();
  const std::int64_t offset = offset_;
  RETURN_IF_ERROR(TakeUntoldSteps());
  RETURN_IF_ERROR(ReleaseWaiting(nullptr, t));
  Start& start = *start_;
  RETURN_IF_ERROR(CloseUntoldSaves(offset));
  RETURN_IF_ERROR(CloseSaves(std::nullopt, offset));
  if (start.has_step && !start.begin_marked) {
    Speaker speaker;
    speaker.attempt = start.told.number;
    if (absl::Status status = sink_.StepEnd(start.done_at, start.done, speaker, offset + used_++);
        !status.ok())
      return status;
  }
  if (start.of && start.done >= *start.of && !start.over) {
    start.over = true;
    start.told.end = std::min(start.last_heard, t);
  }
  start.told.ended = start.over || start.over_by_slurm;
  start.told.end = std::max(start.told.begin, start.over ? start.told.end : std::min(start.last_heard, t));
  if (start.told.ended && start.told.state.empty()) start.told.state = "COMPLETED";
  // Any other stop is not a preemption.
  if (start.told.state != kPreempted) start.told.stop.reset();
  ended_at_ = start.told.end;
  absl::Status status = sink_.Attempt(start.told);
  start_.reset();
  return status;
}

std::optional<LogFold::Memory> LogFold::memory() const {
  if (!start_ || !start_->has_step) return std::nullopt;
  return Memory{start_->done, start_->done_at, start_->stride};
}

void LogFold::Remember(const Memory& memory) {
  start_.emplace();
  start_->told.number = next_attempt_++;
  start_->told.begin = start_->last_heard = start_->done_at = memory.done_at;
  start_->has_step = true;
  start_->done = memory.steps_done;
  start_->stride = memory.stride;
}

bool LogFold::IsAnotherRanks(std::int64_t step, Ns t) const {
  if (step == start_->done) return true;
  const Ns lag = std::max(kLagTime, kLagLines * start_->line_ns);
  const std::size_t known = std::min(recent_count_, kRemembered);
  return std::any_of(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(known),
                     [&](const auto& told) { return told.first == step && t - told.second <= lag; });
}

// Records the time from the end of the latest step to `begin`, if it is long beside the steps, which take
// `steps`.
absl::Status LogFold::BetweenSteps(Ns begin, Ns steps, std::int64_t offset) {
  const Start& start = *start_;
  const Ns gap = begin - start.done_at;
  if (!start.has_step || start.begin_marked || gap <= kGap || gap <= steps / kGapShare)
    return absl::OkStatus();
  for (const bool begins : {true, false}) {
    RETURN_IF_ERROR(Mark(begins ? start.done_at : begin, PackedMark::Kind::kPhase, begins, std::nullopt,
                         kBetweenSteps, offset));
  }
  return absl::OkStatus();
}

// The steps from `first` to the event's.
absl::Status LogFold::Record(const LogEvent& event, Ns t, std::int64_t first, std::optional<Ns> begin,
                             std::int64_t offset) {
  Start& start = *start_;
  const std::int64_t count = *event.step - first + 1;
  std::optional<Ns> told;
  if (event.step_ns && *event.step_ns <= (INT64_MAX >> 2) / count) told = t - count * *event.step_ns;
  Ns from = told.value_or(begin.value_or(t));
  if (start.has_step) from = std::max(from, start.done_at);
  from = std::min(from, t);
  start.told.begin = std::min(start.told.begin, from);
  if (told) RETURN_IF_ERROR(BetweenSteps(from, t - from, offset));
  if (!start.begin_marked) {
    if (absl::Status status = Step(from, first, offset); !status.ok()) return status;
  }
  start.begin_marked = false;
  start.line_ns = t - (start.has_step ? start.done_at : from);
  start.steps.Add((t - from) / count);
  start.stride = count;
  start.has_step = true;
  start.done = *event.step;
  start.done_at = t;
  recent_[recent_count_++ % kRemembered] = {*event.step, t};
  return absl::OkStatus();
}

// `next`: the line that tells how many steps the waiting line reports; null: there is none.
absl::Status LogFold::ReleaseWaiting(const LogEvent* next, Ns t) {
  if (!start_ || !start_->waiting) return absl::OkStatus();
  const Waiting waiting = *std::move(start_->waiting);
  start_->waiting.reset();
  const std::int64_t step = *waiting.event.step;
  std::int64_t first = step;
  std::optional<Ns> begin;
  if (next != nullptr && *next->step > step) {
    const std::int64_t stride = *next->step - step;
    first = std::max<std::int64_t>(1, step - stride + 1);
    begin = waiting.t - (t - waiting.t) / stride * (step - first + 1);
  }
  // There was no step before other events of the same start.
  if (begin && waiting.offset != start_->told.offset) begin = std::max(*begin, start_->told.begin);
  if (start_->training_begin) begin = *start_->training_begin;
  const std::int64_t used = std::exchange(used_, waiting.used);
  absl::Status status = Record(waiting.event, waiting.t, first, begin, waiting.offset);
  used_ = waiting.offset == offset_ ? used_ : used;
  return status;
}

// When the steps of a line were done that was printed at `t`, or up to late_ before.
Ns LogFold::Settled(const LogEvent& event, Ns t) {
  Start& start = *start_;
  const bool only_steps = start.has_step && start.open_until_step.empty() &&
                          std::all_of(start.saves.begin(), start.saves.end(),
                                      [](const auto& save) { return save.second.released; });
  if (late_ == 0 || !only_steps) {
    start.in_loop_since.reset();
    return t;
  }
  if (!start.in_loop_since) start.in_loop_since = {*event.step, t};
  const auto& [first, since] = *start.in_loop_since;
  const std::int64_t count = *event.step - start.done;
  std::optional<Ns> each = event.step_ns;
  if (!each && *event.step - first >= kPaceSteps) each = (t - since) / (*event.step - first);
  if (!each || count <= 0 || *each > (INT64_MAX >> 2) / count) return t;
  const Ns due = start.done_at + count * *each;
  // Training was delayed: its pace is measured again from here.
  if (t - due > late_) start.in_loop_since = {*event.step, t};
  return std::clamp(due, t - late_, t);
}

absl::Status LogFold::StepEnd(const LogEvent& event, Ns t, std::int64_t offset) {
  Start* start = &*start_;
  const std::int64_t step = *event.step;
  if (step < 1 || event.epoch_begins) {
    // A bar at 0. A bar resumed within an epoch jumps to its first step, so the steps before it were not done
    // now.
    const bool trainings = !start->of || !event.of || *start->of == *event.of;
    if (!start->has_step && !start->training_begin) start->training_begin = t;
    if (start->has_step && !event.epoch_begins && trainings) start->begins_again = TimeSpan{heard_before_, t};
    if (!start->of) start->of = event.of;
    return absl::OkStatus();
  }
  if (event.of) {
    // Another bar than the training's, such as an evaluation's.
    if (start->of && *start->of != *event.of) return absl::OkStatus();
    start->of = event.of;
  } else if (start->of && step > *start->of) {
    start->of.reset();
  }
  const std::int64_t last = start->waiting ? *start->waiting->event.step : start->done;
  if (start->waiting && step == last) {
    ++repeated_;
    return absl::OkStatus();
  }
  const bool falls = (start->has_step || start->waiting) && step <= last;
  if (falls && start->has_step && IsAnotherRanks(step, t)) {
    ++repeated_;
    return absl::OkStatus();
  }
  if (interleaving_.See(step, t)) return SeveralPrograms(step, last, offset);
  if (falls) {
    // The program restarted without printing it.
    TimeSpan between = start->begins_again.value_or(TimeSpan{heard_before_, t});
    if (!start->has_step) between.end = start->training_begin.value_or(t);
    Interleaving interleaving = std::move(interleaving_);
    RETURN_IF_ERROR(End(between.begin));
    RETURN_IF_ERROR(Begin(between.end, offset, false));
    interleaving_ = std::move(interleaving);
    start = &*start_;
    start->of = event.of;
    if (between.end < t) start->training_begin = between.end;
  }
  start->begins_again.reset();
  if (start->waiting) {
    if (absl::Status status = ReleaseWaiting(&event, t); !status.ok()) return status;
  }
  t = std::max(Settled(event, t), start->has_step ? start->done_at : t - late_);
  const Ns each = event.step_ns.value_or(start->steps.Median().value_or(0));
  const std::int64_t count = start->has_step ? step - start->done : 1;
  const Ns next_step = t - std::min(t - start->done_at, each > (INT64_MAX >> 2) / count ? 0 : each * count);
  RETURN_IF_ERROR(CloseSaves(next_step, offset));
  if (start->has_step) return Record(event, t, start->done + 1, start->done_at, offset);
  std::optional<std::int64_t> first = start->first_step;
  if (!first && start->restore_step && *start->restore_step < step) first = *start->restore_step + 1;
  if (!first && step == 1) first = 1;
  if (first && *first <= step && (event.step_ns || start->training_begin))
    return Record(event, t, *first, start->training_begin, offset);
  start->waiting = Waiting{event, t, offset, used_};
  return absl::OkStatus();
}

absl::Status LogFold::LateStepEnd(const LogEvent& event, Ns t, std::int64_t offset) {
  start_->tells_late = true;
  const auto& saved_at = start_->saved_at;
  if (saved_at && *event.step <= saved_at->first && saved_at->first > start_->done) {
    const Ns each = start_->steps.Median().value_or(0);
    // Training waited for the save, and then printed this.
    for (auto& [step, save] : start_->saves) {
      if (save.over_at_next_step && !save.last_end) save.last_end = t;
    }
    t = std::min(t, saved_at->second - (saved_at->first - *event.step) * each);
    if (start_->has_step) t = std::max(t, start_->done_at);
  }
  return StepEnd(event, t, offset);
}

// The steps of a save that was cut off before the line about its step.
absl::Status LogFold::TakeUntoldSteps() {
  const Start& start = *start_;
  if (!start.tells_late || !start.has_step || !start.saved_at || start.saved_at->first <= start.done)
    return absl::OkStatus();
  LogEvent event;
  event.step = start.saved_at->first;
  return Record(event, std::max(start.done_at, start.saved_at->second), start.done + 1, start.done_at,
                offset_);
}

absl::Status LogFold::StepBegin(const LogEvent& event, Ns t, std::int64_t offset) {
  Start* start = &*start_;
  const std::int64_t step = *event.step;
  if (start->has_step && step <= start->done + (start->begin_marked ? 1 : 0)) {
    if (IsAnotherRanks(step - 1, t) || (start->begin_marked && step == start->done + 1)) {
      ++repeated_;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(End(heard_before_));
    RETURN_IF_ERROR(Begin(t, offset, false));
    start = &*start_;
  }
  RETURN_IF_ERROR(CloseSaves(t, offset));
  RETURN_IF_ERROR(BetweenSteps(t, start->steps.Median().value_or(0), offset));
  RETURN_IF_ERROR(Step(t, step, offset));
  if (start->has_step) start->line_ns = t - start->done_at;
  start->has_step = true;
  start->begin_marked = true;
  start->done = step - 1;
  start->done_at = t;
  recent_[recent_count_++ % kRemembered] = {step - 1, t};
  return absl::OkStatus();
}

absl::Status LogFold::SaveBegin(const LogEvent& event, Ns t, std::int64_t offset) {
  Start& start = *start_;
  const std::int64_t step = event.step.value_or(kStepUntold);
  start.saved.erase(step);
  if (event.step && (!start.saved_at || *event.step > start.saved_at->first)) start.saved_at = {step, t};
  const auto found = start.saves.find(step);
  if (found != start.saves.end()) {
    found->second.over_if_untold |= event.over_at_next_step;
    // If ends are not printed, there is nothing to wait for.
    if (event.complete_is_untold) return Release(step, found->second, t, offset);
    ++found->second.writers;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CloseUntoldSaves(offset));
  OpenSave save;
  save.begin = t;
  save.over_at_next_step = event.over_at_next_step;
  save.complete_is_untold = event.complete_is_untold;
  // A line that is printed when training continues, with the time that it waited.
  if (event.over_at_next_step && event.took_ns) save.last_end = t + *event.took_ns;
  const auto untold = start.saves.find(kStepUntold);
  if (event.step && untold != start.saves.end() && t - untold->second.begin < kLagTime) {
    // The same save, reported again in more detail.
    start.saves[step] = untold->second;
    start.saves.erase(untold);
    return absl::OkStatus();
  }
  const auto taken = [&](int lane) {
    return std::any_of(start.saves.begin(), start.saves.end(),
                       [&](const auto& open) { return open.second.lane == lane; });
  };
  while (taken(save.lane)) ++save.lane;
  start.saves[step] = save;
  return Mark(t, PackedMark::Kind::kCheckpoint, true, event.step, "", offset, save.lane);
}

// Training continues, and the save in the background.
absl::Status LogFold::Release(std::int64_t step, OpenSave& save, Ns t, std::int64_t offset) {
  if (save.released) return absl::OkStatus();
  save.released = true;
  const Ns waited_until = std::max(t, save.last_end.value_or(t));
  save.over_at_next_step = save.over_if_untold = false;
  save.last_end.reset();
  return Mark(waited_until, PackedMark::Kind::kCheckpoint, false,
              step == kStepUntold ? std::nullopt : std::optional<std::int64_t>(step), kInBackground, offset,
              save.lane);
}

absl::Status LogFold::SaveGoesOn(const LogEvent& event, Ns t, std::int64_t offset) {
  for (auto& [step, save] : start_->saves) {
    if (event.step && step != kStepUntold && step != *event.step) continue;
    if (absl::Status status = Release(step, save, t, offset); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LogFold::SaveEnd(const LogEvent& event, Ns t, std::optional<Ns> began, std::int64_t offset) {
  Start& start = *start_;
  start.ends_are_told = true;
  auto found = start.saves.find(event.step.value_or(kStepUntold));
  // A begin or end without a step can only belong to the single open one.
  if (found == start.saves.end() && start.saves.size() == 1 &&
      (!event.step || start.saves.begin()->first == kStepUntold))
    found = start.saves.begin();
  if (found == start.saves.end() && event.step && !start.saved.insert(*event.step).second)
    return absl::OkStatus();  // repeated
  if (found == start.saves.end() && !event.step && start.has_step) {
    // Another rank's, or another file of the same save.
    if (start.untold_save == start.done) return absl::OkStatus();
    start.untold_save = start.done;
  }
  if (found == start.saves.end()) {
    // Its begin was not printed: it covers the steps done before, and no more.
    const Ns known = event.took_ns ? t - *event.took_ns : start.has_step ? start.done_at : start.told.begin;
    const Ns begin = std::min(began.value_or(known), t);
    RETURN_IF_ERROR(Mark(begin, PackedMark::Kind::kCheckpoint, true, event.step, "", offset));
    const Ns end = began && event.took_ns ? *began + *event.took_ns : t;
    return Mark(std::max(begin, end), PackedMark::Kind::kCheckpoint, false, event.step, "", offset);
  }
  OpenSave& save = found->second;
  // Of two files that report it, one may have whole seconds only.
  t = std::max(t, save.begin);
  if (save.complete_is_untold) {
    absl::Status status = Release(found->first, save, t, offset);
    start.saves.erase(found);
    return status;
  }
  save.last_end = t;
  save.end_offset = offset;
  if (--save.writers > 0) return absl::OkStatus();
  const std::optional<std::int64_t> step =
      found->first == kStepUntold ? event.step : std::optional<std::int64_t>(found->first);
  const int lane = save.lane;
  start.saves.erase(found);
  if (step) start.saved.insert(*step);
  return Mark(t, PackedMark::Kind::kCheckpoint, false, step, "", offset, lane);
}

// Ends the saves that are over once the next step has begun; absent: there is no next step.
absl::Status LogFold::CloseSaves(std::optional<Ns> next_step, std::int64_t offset) {
  if (next_step) {
    for (const std::string& phase : start_->open_until_step) {
      start_->phases[phase] = 0;
      absl::Status status = Mark(*next_step, PackedMark::Kind::kPhase, false, std::nullopt, phase, offset);
      if (!status.ok()) return status;
    }
    start_->open_until_step.clear();
  }
  for (auto at = start_->saves.begin(); at != start_->saves.end();) {
    OpenSave& save = at->second;
    std::optional<Ns> end = save.last_end;
    if (next_step && !save.loop_went_on) save.loop_went_on = std::max(save.begin, *next_step);
    // Training waited for it, so it was over when the next step began.
    if (!end && save.over_at_next_step && next_step) end = std::max(save.begin, *next_step);
    if (!end) {
      ++at;
      continue;
    }
    const std::optional<std::int64_t> step =
        at->first == kStepUntold ? std::nullopt : std::optional<std::int64_t>(at->first);
    if (step) start_->saved.insert(*step);
    const int lane = save.lane;
    at = start_->saves.erase(at);
    absl::Status status = Mark(*end, PackedMark::Kind::kCheckpoint, false, step, "", offset, lane);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Saves whose end the program would have printed by now if it printed any.
absl::Status LogFold::CloseUntoldSaves(std::int64_t offset) {
  if (start_->ends_are_told) return absl::OkStatus();
  for (auto& [step, save] : start_->saves) {
    if (save.over_if_untold && save.loop_went_on) save.last_end = save.loop_went_on;
  }
  return CloseSaves(std::nullopt, offset);
}

absl::Status LogFold::Restore(const LogEvent& event, Ns t, std::int64_t offset) {
  Start& start = *start_;
  const bool begins = event.kind == LogEvent::Kind::kRestoreBegin;
  if (event.step) start.restore_step = event.step;
  if (begins) {
    if (start.restoring) return absl::OkStatus();
    start.restoring = t;
    return Mark(t, PackedMark::Kind::kRestore, true, event.step, "", offset);
  }
  if (!start.restoring) {
    if (!event.took_ns) return absl::OkStatus();
    absl::Status status = Mark(t - *event.took_ns, PackedMark::Kind::kRestore, true, event.step, "", offset);
    if (!status.ok()) return status;
  }
  start.restoring.reset();
  return Mark(t, PackedMark::Kind::kRestore, false, event.step ? event.step : start.restore_step, "", offset);
}

absl::Status LogFold::Phase(const LogEvent& event, Ns t, std::int64_t offset) {
  int& ranks = start_->phases[event.name];
  const bool begins = event.kind == LogEvent::Kind::kPhaseBegin;
  if (begins && event.over_at_next_step) start_->open_until_step.insert(event.name);
  if (!begins) start_->open_until_step.erase(event.name);
  if (begins ? ranks++ > 0 : ranks == 0 || --ranks > 0) return absl::OkStatus();
  return Mark(t, PackedMark::Kind::kPhase, begins, std::nullopt, event.name, offset);
}

absl::Status LogFold::Stop(Ns t, std::int64_t offset) {
  if (std::exchange(start_->stop_told, true)) return absl::OkStatus();
  if (!start_->told.stop) start_->told.stop = t;
  Speaker speaker;
  speaker.attempt = start_->told.number;
  return sink_.Stop(t, speaker, offset + used_++);
}

// Slurm's first message is the reason; later ones are about other nodes and steps of the job.
absl::Status LogFold::JobEnd(const LogEvent& event, Ns t, std::int64_t offset) {
  if (std::exchange(start_->over_by_slurm, true)) return absl::OkStatus();
  start_->told.state = event.name;
  return Stop(t, offset);
}

// A program names all its hosts before it measures.
void LogFold::CollectiveHost(const std::string& name) {
  if (named_.size() <= kMostHosts) named_.insert(name);
}

absl::Status LogFold::Collective(const LogEvent& event, Ns t, std::int64_t offset) {
  if (!event.bytes || !event.algbw || !event.busbw) return absl::OkStatus();
  const bool first = !named_.empty();
  if (first) {
    hosts_ = named_.size() > kMostHosts ? "" : CompressHostList({named_.begin(), named_.end()});
    if (hosts_.size() > kMostHostsBytes) hosts_.clear();
    named_.clear();
  }
  return sink_.Collective({t, *event.bytes, *event.algbw, *event.busbw, hosts_, first}, Speaker(), offset);
}

absl::Status LogFold::Take(const LogEvent& event, Ns t, std::optional<Ns> began, std::int64_t offset,
                           Ns late) {
  using Kind = LogEvent::Kind;
  late_ = late;
  used_ = 0;
  offset_ = offset;
  if (event.said_before) {
    ++repeated_;
    return absl::OkStatus();
  }
  // Belongs to no start of the program.
  if (event.kind == Kind::kCollective) return Collective(event, t, offset);
  if (event.kind == Kind::kCollectiveHost) {
    CollectiveHost(event.name);
    return absl::OkStatus();
  }
  if (IsBehindSlurmsEnd(t)) {
    if (absl::Status status = End(start_->last_heard); !status.ok()) return status;
  }
  heard_before_ = start_ ? start_->last_heard : t;
  if (start_ && start_->over && event.kind != Kind::kProgramEnd) {
    // The program had done its work: this is another start.
    const bool late = t - start_->told.end < kLagTime && event.kind != Kind::kProgramBegin;
    if (late && event.kind != Kind::kSaveEnd) return absl::OkStatus();
    if (!late) {
      if (absl::Status status = End(t); !status.ok()) return status;
    }
  }
  // No program loads a checkpoint or begins training after its steps: it was restarted.
  const bool anew = event.kind == Kind::kRestoreBegin || event.kind == Kind::kRestoreEnd ||
                    event.kind == Kind::kTrainingBegin || event.kind == Kind::kProgramBegin;
  if (start_ && anew && (start_->has_step || start_->waiting) &&
      (start_->over_by_slurm || t - start_->last_event > kRanksTime)) {
    // What it printed before the restart comes after the longest silence.
    RETURN_IF_ERROR(Heard(t));
    const TimeSpan silence = start_->silence;
    RETURN_IF_ERROR(End(silence.begin));
    RETURN_IF_ERROR(Begin(silence.end, offset, false));
    heard_before_ = t;
  }
  // An end does not begin a start.
  const bool ends =
      event.kind == Kind::kProgramEnd || event.kind == Kind::kJobEnd || event.kind == Kind::kStop;
  if (!start_ && ends) return absl::OkStatus();
  RETURN_IF_ERROR(Begin(t, offset, event.kind == Kind::kProgramBegin));
  // Lines of several ranks may be out of order; this event is not before the last one.
  if (start_->has_step) t = std::max(t, start_->done_at);
  if (!start_->over) start_->last_heard = std::max(start_->last_heard, t);
  start_->last_event = std::max(start_->last_event, t);
  start_->silence = {start_->last_heard, start_->last_heard};
  switch (event.kind) {
    case Kind::kStepEnd:
      if (!event.step) return absl::OkStatus();
      return event.told_at_next_step ? LateStepEnd(event, t, offset) : StepEnd(event, t, offset);
    case Kind::kStepBegin:
      return event.step ? StepBegin(event, t, offset) : absl::OkStatus();
    case Kind::kTrainingBegin:
      if (start_->has_step || start_->waiting) return absl::OkStatus();
      if (!start_->training_begin) start_->training_begin = t;
      if (event.step) start_->first_step = event.step;
      if (event.of) start_->of = event.of;
      return absl::OkStatus();
    case Kind::kSaveBegin:
      return SaveBegin(event, std::min(t, began.value_or(t)), offset);
    case Kind::kSaveEnd:
    case Kind::kSave:
      return SaveEnd(event, t, began, offset);
    case Kind::kSaveGoesOn:
      return SaveGoesOn(event, t, offset);
    case Kind::kRestoreBegin:
    case Kind::kRestoreEnd:
      return Restore(event, t, offset);
    case Kind::kPhaseBegin:
    case Kind::kPhaseEnd:
      return Phase(event, t, offset);
    case Kind::kStop:
      return Stop(t, offset);
    case Kind::kProgramBegin:
    case Kind::kCollectiveHost:
    case Kind::kCollective:
    case Kind::kEpochBegin:
      return absl::OkStatus();
    case Kind::kProgramEnd:
      start_->over = true;
      start_->told.end = t;
      return absl::OkStatus();
    case Kind::kJobEnd:
      return JobEnd(event, t, offset);
  }
  return absl::OkStatus();
}

}  // namespace goodput
