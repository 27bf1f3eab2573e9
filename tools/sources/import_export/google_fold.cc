#include "tools/sources/import_export/google_fold.h"

#include <algorithm>

#include "sql/status_macros.h"

namespace goodput {
namespace {

// Processes of one start log it within this time if the log is known to have several writers; in other logs,
// a second start most likely means that the program restarted.
constexpr Ns kOneStart = 10 * kSecond;
constexpr Ns kOneStartOfOneWriter = 3 * kSecond;
// Entries after another process has logged the end still belong to the same attempt for this long; Slurm
// itself lets tasks live on for as long (KillWait).
constexpr Ns kOutlives = 30 * kSecond;
// A writer may lag by this many usual steps, or by this much time if steps are short.
constexpr double kLag = 1.5;
constexpr Ns kLagTime = kSecond;

}  // namespace

// Defined here, because inside the class an optional cannot see that it needs no arguments.
GoogleFold::Attempt::Attempt() = default;

Speaker GoogleFold::SpeakerOf(const GoogleEntry& entry) const {
  Speaker speaker;
  speaker.slurm_step = entry.ours.slurm_step;
  speaker.task = entry.ours.task.value_or(0);
  speaker.attempt = attempt_->told.number;
  return speaker;
}

absl::Status GoogleFold::Begin(Ns t, std::int64_t offset, std::optional<Ns> job_start) {
  if (attempt_) {
    const LogAttempt& told = attempt_->told;
    const Ns at_once = repeated_ > 0 ? kOneStart : kOneStartOfOneWriter;
    const bool one_start = !names_tasks_ && !told.ended && !attempt_->has_step && t - told.begin < at_once;
    const bool goes_on = names_tasks_ || !told.ended || t - told.end <= kOutlives;
    if (job_start ? one_start : goes_on) return absl::OkStatus();
    if (absl::Status status = End(t); !status.ok()) return status;
  }
  attempt_.emplace();
  attempt_->told.number = next_attempt_++;
  attempt_->told.begin = t;
  attempt_->told.offset = offset;
  attempt_->last_told = t;
  recent_count_ = 0;
  return absl::OkStatus();
}

absl::Status GoogleFold::End(std::optional<Ns> next) {
  RETURN_IF_ERROR(EndPhases());
  Attempt& attempt = *attempt_;
  const std::optional<std::int64_t> usual = attempt.records.Median();
  if (!attempt.told.ended) {
    // The duration of a single step is unknown; other attempts may have more.
    const bool more = attempt.has_step && !attempt.running;
    const Ns step = more ? usual.value_or(usual_record_.value_or(0)) : 0;
    // The last logged step is the last that is known: later entries took part of its time, and do not prove
    // another step.
    attempt.told.end = std::max(attempt.last_told, attempt.last_step_t + step + attempt.blocked);
    if (!attempt.has_step) attempt.told.end = attempt.last_told;
    if (next) attempt.told.end = std::min(attempt.told.end, *next);
  }
  if (usual) usual_record_ = usual;
  attempt.told.is_life = !names_tasks_;
  absl::Status status = sink_.Attempt(attempt.told);
  attempt_.reset();
  return status;
}

absl::Status GoogleFold::Finish() {
  return attempt_ ? End(std::nullopt) : absl::OkStatus();
}

absl::Status GoogleFold::Take(const GoogleEntry& entry, std::int64_t offset) {
  const Ns t = entry.time();
  next_offset_ = offset;
  if (entry.job_start && entry.ours.any) names_tasks_ = true;
  // An end begins an attempt only if there is none.
  if (!entry.job_end || !attempt_) {
    if (absl::Status status = Begin(t, offset, entry.job_start); !status.ok()) return status;
  }
  if (entry.step) return TakeStep(entry, offset);
  if (entry.job_end) TakeEnd(entry);
  for (const GoogleEntry::Phase& phase : entry.phases) {
    if (!phase.start && !phase.end) continue;
    if (absl::Status status = TakePhase(entry, phase); !status.ok()) return status;
  }
  if (entry.checkpoint != GoogleEntry::Checkpoint::kNone) {
    if (absl::Status status = TakeCheckpoint(entry); !status.ok()) return status;
  }
  if (entry.ours.running) {
    attempt_->running = true;
    attempt_->last_told = std::max(attempt_->last_told, *entry.ours.running);
  }
  return TakeSrun(entry);
}

void GoogleFold::TakeEnd(const GoogleEntry& entry) {
  LogAttempt& told = attempt_->told;
  told.end = std::max(told.ended ? told.end : told.begin, *entry.job_end);
  told.ended = true;
  // A process that logs the end has reached it.
  told.state = entry.ours.any ? std::string(entry.ours.state) : "COMPLETED";
  told.stop = entry.ours.stop;
}

// Accurate enough to detect a lag; an exact median for each of a million entries would be slow.
Ns GoogleFold::UsualRecord() {
  Attempt& attempt = *attempt_;
  if (attempt.records.count() >= 2 * attempt.usual_of) {
    attempt.usual = attempt.records.Median().value_or(0);
    attempt.usual_of = std::max<std::int64_t>(attempt.records.count(), 1);
  }
  return attempt.usual;
}

// A lower number than the newest: did another process just begin it?
bool GoogleFold::IsAnotherWriters(std::int64_t step, Ns t) {
  const Ns lag = std::max(static_cast<Ns>(kLag * static_cast<double>(UsualRecord())), kLagTime);
  for (std::size_t i = 0; i < std::min(recent_count_, kRemembered); ++i) {
    const auto& [number, begin] = recent_[i];
    if (number == step && t - begin <= lag) return true;
  }
  return false;
}

absl::Status GoogleFold::TakeStep(const GoogleEntry& entry, std::int64_t offset) {
  Attempt& attempt = *attempt_;
  const Ns t = entry.step_start;
  const std::int64_t step = *entry.step;
  attempt.last_told = std::max(attempt.last_told, t);
  if (!names_tasks_ && attempt.has_step && step <= attempt.last_step) {
    if (step == attempt.last_step || IsAnotherWriters(step, t)) {
      ++repeated_;
      return absl::OkStatus();
    }
    recent_count_ = 0;
  }
  if (!attempt.phases.empty()) {
    if (absl::Status status = EndPhases(); !status.ok()) return status;
  }
  if (attempt.has_step && step > attempt.last_step) attempt.records.Add(t - attempt.last_step_t);
  attempt.has_step = true;
  attempt.last_step = step;
  attempt.last_step_t = t;
  attempt.blocked = 0;
  recent_[recent_count_++ % kRemembered] = {step, t};
  return sink_.Step(t, step, SpeakerOf(entry), offset);
}

// Phases still open when a step begins or the attempt ends are over: at the last end that was logged, or
// otherwise when the reader of marks decides.
absl::Status GoogleFold::EndPhases() {
  for (const auto& [name, phase] : attempt_->phases) {
    if (!phase.last_end) continue;
    Speaker speaker;
    speaker.attempt = attempt_->told.number;
    absl::Status status = sink_.Mark({*phase.last_end, PackedMark::Kind::kPhase, false, std::nullopt, name},
                                     speaker, phase.end_offset);
    if (!status.ok()) return status;
  }
  attempt_->phases.clear();
  return absl::OkStatus();
}

absl::Status GoogleFold::TakePhase(const GoogleEntry& entry, const GoogleEntry::Phase& phase) {
  Attempt& attempt = *attempt_;
  Speaker speaker = SpeakerOf(entry);
  for (const std::optional<Ns>& t : {phase.start, phase.end})
    attempt.last_told = std::max(attempt.last_told, t.value_or(0));
  const auto say = [&](Ns t, bool begin) {
    return sink_.Mark({t, PackedMark::Kind::kPhase, begin, std::nullopt, phase.name}, speaker,
                      next_offset_++);
  };
  if (phase.start) attempt.phase_begins.insert_or_assign(std::string(phase.name), *phase.start);
  if (const auto begun = attempt.phase_begins.find(phase.name);
      phase.end && begun != attempt.phase_begins.end()) {
    attempt.blocked += std::max<Ns>(0, *phase.end - std::max(begun->second, attempt.last_step_t));
    attempt.phase_begins.erase(begun);
  }
  const bool whole = phase.start && phase.end;
  if (!entry.ours.task && whole) speaker.task = TakeLane(attempt.spans, *phase.start, *phase.end);
  if (entry.ours.task || whole) {
    if (phase.start) {
      if (absl::Status status = say(*phase.start, true); !status.ok()) return status;
    }
    return phase.end ? say(*phase.end, false) : absl::OkStatus();
  }
  auto open = attempt.phases.find(phase.name);
  if (phase.start) {
    // The same phase, from another process.
    if (open != attempt.phases.end()) {
      ++open->second.writers;
      return absl::OkStatus();
    }
    attempt.phases.emplace(std::string(phase.name), OpenPhase{1, std::nullopt, 0});
    return say(*phase.start, true);
  }
  if (open == attempt.phases.end()) return say(*phase.end, false);
  if (--open->second.writers > 0) {
    open->second.last_end = *phase.end;
    open->second.end_offset = next_offset_++;
    return absl::OkStatus();
  }
  attempt.phases.erase(open);
  return say(*phase.end, false);
}

std::int64_t GoogleFold::TakeLane(std::vector<Lane>& lanes, Ns begin, Ns end) {
  std::size_t free = 0;
  while (free < lanes.size() && lanes[free].busy_until > begin) ++free;
  if (free == lanes.size()) lanes.emplace_back();
  lanes[free].busy_until = end;
  return static_cast<std::int64_t>(free);
}

absl::Status GoogleFold::TakeCheckpoint(const GoogleEntry& entry) {
  Attempt& attempt = *attempt_;
  const bool save = entry.checkpoint == GoogleEntry::Checkpoint::kSave;
  const Ns begin = entry.checkpoint_start;
  const std::optional<Ns> end = entry.ours.complete ? entry.ours.complete : entry.checkpoint_end;
  attempt.last_told = std::max(attempt.last_told, end.value_or(begin));
  Speaker speaker = SpeakerOf(entry);
  if (!entry.ours.task)
    speaker.task = TakeLane(save ? attempt.saves : attempt.restores, begin, end.value_or(begin));
  attempt.blocked += entry.checkpoint_end.value_or(begin) - begin;
  const auto what = save ? PackedMark::Kind::kCheckpoint : PackedMark::Kind::kRestore;
  // A save begins once the previous one is complete; only a wait shows how much earlier that was.
  if (save && attempt.unfinished && begin >= attempt.unfinished->end.t) {
    Save& before = *attempt.unfinished;
    if (entry.waited_until) before.end.t = std::clamp(*entry.waited_until, before.end.t, begin);
    absl::Status status =
        sink_.Mark(before.end, {before.slurm_step, before.task, speaker.attempt}, before.offset);
    if (!status.ok()) return status;
    attempt.unfinished.reset();
  }
  absl::Status status = sink_.Mark({begin, what, true, entry.checkpoint_step, {}}, speaker, next_offset_++);
  if (!status.ok() || !end) return status;
  const LogMark ending{*end, what, false, entry.checkpoint_step, {}};
  const bool background = save && entry.asynchronous;
  if (background && entry.checkpoint_end) {
    // The logged time is how long training waited.
    const LogMark released{*entry.checkpoint_end, what, false, entry.checkpoint_step, kInBackground};
    if (status = sink_.Mark(released, speaker, next_offset_++); !status.ok()) return status;
  }
  if (background && !entry.ours.complete) {
    if (!entry.ours.any && !attempt.unfinished)
      attempt.unfinished = Save{ending, speaker.task, std::string(speaker.slurm_step), next_offset_++};
    return absl::OkStatus();
  }
  return sink_.Mark(ending, speaker, next_offset_++);
}

absl::Status GoogleFold::TakeSrun(const GoogleEntry& entry) {
  const GoogleEntry::Ours& ours = entry.ours;
  if (!ours.srun_start && !ours.srun_end) return absl::OkStatus();
  return sink_.Srun({ours.srun_start, ours.srun_end, ours.exit_code, ours.exit_signal}, SpeakerOf(entry),
                    next_offset_++);
}

}  // namespace goodput
