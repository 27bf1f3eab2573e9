#include "tools/sources/otel/span_fold.h"

#include <algorithm>
#include <utility>

#include "sql/status_macros.h"
#include "tools/accounting/timeline/sanitize_facts.h"

namespace goodput {
namespace {

// Time between steps that is worth recording: more than this, and more than this share of a step.
constexpr Ns kShortest = kSecond / 20;
constexpr Ns kShareOfStep = 50;
// Saves that run in the background at the same time; a process that has more does not finalize them.
constexpr std::size_t kMostRunning = 1024;

bool TellsLife(Span::Kind kind) {
  return kind != Span::Kind::kOther && kind != Span::Kind::kBackdated && kind != Span::Kind::kLaunch;
}

bool IsWithinSave(Span::Kind kind) {
  return kind == Span::Kind::kSave || kind == Span::Kind::kSkewWait || kind == Span::Kind::kOther;
}

}  // namespace

// Defined here, because inside the class an optional cannot see that it needs no arguments.
SpanFold::Process::Process() = default;

absl::Status SpanFold::Mark(const LogMark& mark, int lane, std::int64_t offset) {
  Speaker speaker;
  speaker.attempt = process_->attempt;
  speaker.task = lane;
  speaker.rank = process_->rank;
  return sink_.Mark(mark, speaker, offset);
}

absl::Status SpanFold::Phase(Ns begin, Ns end, std::string_view name) {
  RETURN_IF_ERROR(Mark({begin, PackedMark::Kind::kPhase, true, std::nullopt, name}, 0, Offset()));
  return Mark({end, PackedMark::Kind::kPhase, false, std::nullopt, name}, 0, Offset());
}

absl::Status SpanFold::Checkpoint(Ns t, const Save& save, bool begin, std::string_view name) {
  return Mark({t, PackedMark::Kind::kCheckpoint, begin, save.step, name}, save.lane, Offset());
}

bool SpanFold::IsNoticeable(Ns duration) {
  if (duration <= kShortest) return false;
  Process& process = *process_;
  // An exact median for each of a million steps would be slow.
  if (process.steps.count() >= 2 * process.usual_of) {
    process.usual = process.steps.Median().value_or(0);
    process.usual_of = std::max<std::int64_t>(process.steps.count(), 1);
  }
  return duration > process.usual / kShareOfStep;
}

absl::Status SpanFold::Begin(int attempt, bool tells_steps, std::optional<std::int64_t> rank) {
  if (process_) RETURN_IF_ERROR(EndProcess());
  process_.emplace();
  process_->attempt = attempt;
  process_->tells_steps = tells_steps;
  process_->rank = rank;
  return absl::OkStatus();
}

// An attempt is known from its first process' first span to its last process' last one.
void SpanFold::SeeLife(const Span& span) {
  if (!TellsLife(span.kind)) return;
  LogAttempt& told = *attempt_;
  told.begin = std::min(told.begin, span.start);
  told.end = std::max(told.end, span.end);
  told.ended = span.kind == Span::Kind::kExitFinalize;
}

absl::Status SpanFold::Take(const Span& span, std::int64_t offset) {
  offset_ = offset;
  used_ = 0;
  Process& process = *process_;
  if (TellsLife(span.kind) && (!attempt_ || attempt_->number != process.attempt)) {
    RETURN_IF_ERROR(EndAttempt(span.start));
    attempt_.emplace();
    attempt_->number = process.attempt;
    attempt_->begin = span.start;
    attempt_->offset = offset;
  }
  if (attempt_ && attempt_->number == process.attempt) SeeLife(span);
  if (process.saving && span.start >= process.saving->blocked_until && TellsLife(span.kind))
    RETURN_IF_ERROR(CloseSave(true));
  if (IsWithinSave(span.kind)) return TakeWithinSave(span);
  switch (span.kind) {
    case Span::Kind::kIteration:
      return TakeIteration(span);
    case Span::Kind::kFirstIteration:
      return CloseLoad(span.iteration);
    case Span::Kind::kExposedSave:
      return TakeSave(span);
    case Span::Kind::kFinalize:
    case Span::Kind::kExitFinalize:
      return TakeFinalize(span);
    case Span::Kind::kLoad:
      RETURN_IF_ERROR(CloseLoad(std::nullopt));
      process.load = span;
      process.load_offset = offset;
      return absl::OkStatus();
    case Span::Kind::kEvaluate:
    case Span::Kind::kStartupPart:
    case Span::Kind::kBackdated:
    case Span::Kind::kLaunch:
      return Phase(span.start, span.end, span.part);
    case Span::Kind::kReport:
      return IsNoticeable(span.end - span.start) ? Phase(span.start, span.end, span.part) : absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

absl::Status SpanFold::TakeIteration(const Span& span) {
  Process& process = *process_;
  if (!span.iteration) return absl::OkStatus();
  const std::int64_t step = *span.iteration + 1;
  RETURN_IF_ERROR(CloseLoad(span.iteration));
  if (process.done && step <= *process.done) {
    RETURN_IF_ERROR(EndSteps(false));
  } else if (process.done && IsNoticeable(span.start - process.done_at)) {
    RETURN_IF_ERROR(Phase(process.done_at, span.start, kBetweenSteps));
  }
  const bool whole = span.skipped.has_value() && !span.error;
  process.cut_off = !whole;
  if (whole) {
    process.done = step;
    process.done_at = span.end;
  }
  if (whole && *span.skipped) return Phase(span.start, span.end, "skipped_iteration");
  if (whole) process.steps.Add(span.end - span.start);
  Speaker speaker;
  speaker.attempt = process.attempt;
  speaker.rank = process.rank;
  RETURN_IF_ERROR(sink_.Step(span.start, step, speaker, Offset()));
  return live_ && whole ? StepEnd(false) : absl::OkStatus();
}

absl::Status SpanFold::TakeSave(const Span& span) {
  if (!span.iteration) return CloseSave(false);
  Process& process = *process_;
  if (process.saving && process.saving->step == *span.iteration && process.saving->begin >= span.start &&
      process.saving->begin <= span.end) {
    // What is within it came first.
    process.saving->begin = span.start;
    process.saving->blocked_until = std::max(process.saving->blocked_until, span.end);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CloseSave(false));
  Save save;
  save.step = *span.iteration;
  save.begin = span.start;
  save.blocked_until = span.end;
  save.offset = offset_;
  const auto taken = [&](int lane) {
    return std::any_of(process.running.begin(), process.running.end(),
                       [&](const auto& running) { return running.second.lane == lane; });
  };
  while (taken(save.lane)) ++save.lane;
  process.saving = save;
  return absl::OkStatus();
}

absl::Status SpanFold::TakeWithinSave(const Span& span) {
  Process& process = *process_;
  // The process died before the span around it ended.
  if (span.kind == Span::Kind::kSave && !process.saving) RETURN_IF_ERROR(TakeSave(span));
  if (!process.saving) return absl::OkStatus();
  Save& save = *process.saving;
  if (span.start < save.begin || span.start > save.blocked_until) return absl::OkStatus();
  if (span.call && span.kind != Span::Kind::kSkewWait) save.call = span.call;
  if (span.kind == Span::Kind::kSave && !span.error && span.iteration == save.step) save.written = span.end;
  if (span.kind == Span::Kind::kSkewWait && save.written && span.start >= *save.written) save.went_on = true;
  return absl::OkStatus();
}

// What a save was is known when the loop goes on, or the process ends.
absl::Status SpanFold::CloseSave(bool went_on) {
  Process& process = *process_;
  if (!process.saving) return absl::OkStatus();
  Save save = *process.saving;
  process.saving.reset();
  const std::int64_t offset = std::exchange(offset_, save.offset);
  const std::int64_t used = std::exchange(used_, 0);
  RETURN_IF_ERROR(
      Checkpoint(save.begin, save, true, process.tells_steps ? std::string_view() : kStepsUntold));
  const bool complete = save.written && (went_on || save.went_on);
  if (save.call) {
    RETURN_IF_ERROR(Checkpoint(save.blocked_until, save, false, kInBackground));
    if (process.running.size() >= kMostRunning) process.running.erase(process.running.begin());
    process.running.insert_or_assign(*save.call, save);
  } else if (complete) {
    RETURN_IF_ERROR(Checkpoint(*save.written, save, false, {}));
  } else {
    // Spans that would prove it complete are missing, but the program was not in the save after this.
    RETURN_IF_ERROR(Checkpoint(save.blocked_until, save, false, kInBackground));
  }
  const Ns written = save.written.value_or(save.blocked_until);
  if (save.call && written > save.begin)
    RETURN_IF_ERROR(Phase(save.begin, written, "checkpoint_save.dispatch"));
  if (save.blocked_until > written && IsNoticeable(save.blocked_until - written))
    RETURN_IF_ERROR(Phase(written, save.blocked_until, "checkpoint_save.skew_wait"));
  offset_ = offset;
  used_ = used;
  return absl::OkStatus();
}

absl::Status SpanFold::TakeFinalize(const Span& span) {
  Process& process = *process_;
  for (const std::int64_t call : span.calls) {
    const auto found = process.running.find(call);
    if (found == process.running.end()) continue;
    const Save save = found->second;
    process.running.erase(found);
    RETURN_IF_ERROR(
        Mark({span.end, PackedMark::Kind::kCheckpoint, false, save.step, {}}, save.lane, Offset()));
  }
  return IsNoticeable(span.end - span.start) ? Phase(span.start, span.end, span.part) : absl::OkStatus();
}

absl::Status SpanFold::CloseLoad(std::optional<std::int64_t> step) {
  Process& process = *process_;
  if (!process.load) return absl::OkStatus();
  const Span load = *std::exchange(process.load, std::nullopt);
  // There is no checkpoint of step 0: nothing was found to load.
  if (step == 0) step.reset();
  RETURN_IF_ERROR(Mark({load.start, PackedMark::Kind::kRestore, true, step, {}}, 0, process.load_offset));
  return Mark({load.end, PackedMark::Kind::kRestore, false, step, {}}, 0, process.load_offset + 1);
}

// `exited`: it said so. Otherwise it was killed, perhaps some steps later, or goes on in another way.
absl::Status SpanFold::StepEnd(bool exited) {
  LogMark mark{process_->done_at, PackedMark::Kind::kStepEnd, false, process_->done, {}};
  if (!exited) mark.name = kMayBeMore;
  return Mark(mark, 0, Offset());
}

absl::Status SpanFold::EndSteps(bool exited) {
  Process& process = *process_;
  if (process.done && !process.cut_off) RETURN_IF_ERROR(StepEnd(exited));
  process.done.reset();
  return absl::OkStatus();
}

absl::Status SpanFold::EndProcess() {
  RETURN_IF_ERROR(CloseSave(false));
  RETURN_IF_ERROR(CloseLoad(std::nullopt));
  Process& process = *process_;
  if (attempt_ && process.done && !attempt_->ended) {
    // It was in the next step when it was killed, for less than that takes.
    const Ns usual = process.steps.Median().value_or(0);
    attempt_->end = std::max(attempt_->end, process.done_at + std::min(usual, kLatest - process.done_at));
  }
  RETURN_IF_ERROR(EndSteps(attempt_ && attempt_->ended));
  process_.reset();
  return absl::OkStatus();
}

absl::Status SpanFold::EndAttempt(std::optional<Ns> next) {
  if (!attempt_) return absl::OkStatus();
  LogAttempt told = *std::exchange(attempt_, std::nullopt);
  if (next) told.end = std::max(told.begin, std::min(told.end, *next));
  // It left the training loop by itself.
  if (told.ended) told.state = "COMPLETED";
  return sink_.Attempt(told);
}

absl::Status SpanFold::Finish() {
  if (process_) RETURN_IF_ERROR(EndProcess());
  return EndAttempt(std::nullopt);
}

}  // namespace goodput
