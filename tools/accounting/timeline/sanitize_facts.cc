#include "tools/accounting/timeline/sanitize_facts.h"

#include <algorithm>

#include "tools/accounting/timeline/saves.h"

namespace goodput {
namespace {

bool IsTime(Ns t) {
  return t >= 0 && t < kLatest;
}
bool IsTime(const std::optional<Ns>& t) {
  return !t || IsTime(*t);
}
bool IsStep(std::int64_t step) {
  return step >= 0 && step <= kMaxTrainStep;
}

bool Plausible(const StepMark& mark) {
  return IsTime(mark.t) && IsStep(mark.train_step);
}
bool Plausible(const StepBlock& block) {
  return Plausible(block.first) && Plausible(block.last) && block.first.t < block.last.t &&
         block.stride > 0 && block.last.train_step > block.first.train_step &&
         (block.last.train_step - block.first.train_step) % block.stride == 0;
}
bool Plausible(const Mark& mark) {
  return IsTime(mark.t) && (!mark.train_step || IsStep(*mark.train_step));
}
bool Plausible(const SaveSpan& save) {
  return IsTime(save.begin) && IsTime(save.end) && IsStep(save.train_step);
}
bool Plausible(const SaveBlock& block) {
  return std::all_of(block.saves.begin(), block.saves.end(),
                     [](const SaveSpan& save) { return Plausible(save); });
}
bool Plausible(const WorldMark& mark) {
  constexpr std::int64_t kMost = 1 << 24;
  const std::int64_t wanted = mark.wanted.value_or(mark.stepping);
  const std::int64_t spares = mark.spares.value_or(0);
  return IsTime(mark.t) && mark.stepping > 0 && wanted >= mark.stepping && wanted <= kMost && spares >= 0 &&
         spares <= kMost;
}
bool Plausible(const NodeEvent& event) {
  return IsTime(event.t);
}
bool Plausible(const SignalFact& signal) {
  return IsTime(signal.t) && IsTime(signal.last_t) && signal.signo > 0 && signal.count > 0;
}
bool Plausible(const CheckpointFile& file) {
  return IsTime(file.t) && (!file.train_step || IsStep(*file.train_step));
}
bool Plausible(const LastSeen& seen) {
  return IsTime(seen.t);
}
bool Plausible(const PendingReason& reason) {
  return IsTime(reason.t);
}
bool Plausible(const Suspension& suspension) {
  return IsTime(suspension.begin) && IsTime(suspension.end);
}
bool Plausible(const Resize& resize) {
  return IsTime(resize.t) && resize.gpus_before >= 0;
}

template <typename Fact>
bool AllPlausible(const std::vector<Fact>& facts) {
  return std::all_of(facts.begin(), facts.end(), [](const Fact& fact) { return Plausible(fact); });
}

bool Plausible(const AttemptFacts& attempt) {
  return IsTime(attempt.submit) && IsTime(attempt.eligible) && IsTime(attempt.start) && IsTime(attempt.end) &&
         IsTime(attempt.allocated) && IsTime(attempt.preempt_time) && attempt.gpus >= 0 &&
         AllPlausible(attempt.suspended) && AllPlausible(attempt.resizes) && AllPlausible(attempt.pending) &&
         AllPlausible(attempt.node_events) && AllPlausible(attempt.step_marks) &&
         AllPlausible(attempt.step_blocks) && AllPlausible(attempt.step_ends) &&
         AllPlausible(attempt.rank_ends) && AllPlausible(attempt.marks) &&
         AllPlausible(attempt.save_blocks) && AllPlausible(attempt.worlds) &&
         attempt.spares.value_or(0) >= 0 && AllPlausible(attempt.signals) &&
         AllPlausible(attempt.checkpoint_files) && AllPlausible(attempt.last_seen);
}

template <typename Fact>
void Keep(std::vector<Fact>& facts, std::int64_t& left_out) {
  const auto end =
      std::remove_if(facts.begin(), facts.end(), [](const Fact& fact) { return !Plausible(fact); });
  left_out += facts.end() - end;
  facts.erase(end, facts.end());
}

void Keep(std::optional<Ns>& t, std::int64_t& left_out) {
  if (IsTime(t)) return;
  t.reset();
  ++left_out;
}

}  // namespace

std::shared_ptr<const RunFacts> WithoutTheImpossible(const RunFacts& facts,
                                                     std::vector<std::string>& warnings) {
  const bool plausible = IsTime(facts.now) && std::all_of(facts.attempts.begin(), facts.attempts.end(),
                                                          [](const AttemptFacts& a) { return Plausible(a); });
  if (plausible) return nullptr;
  auto mended = std::make_shared<RunFacts>(facts);
  std::int64_t left_out = 0;
  if (!IsTime(mended->now)) {
    mended->now = std::clamp<Ns>(mended->now, 0, kLatest - 1);
    ++left_out;
  }
  for (AttemptFacts& attempt : mended->attempts) {
    Keep(attempt.eligible, left_out);
    Keep(attempt.start, left_out);
    Keep(attempt.end, left_out);
    Keep(attempt.allocated, left_out);
    Keep(attempt.preempt_time, left_out);
    if (!IsTime(attempt.submit)) {
      attempt.submit = attempt.eligible.value_or(attempt.start.value_or(attempt.end.value_or(mended->now)));
      ++left_out;
    }
    if (attempt.gpus < 0) {
      attempt.gpus = 0;
      ++left_out;
    }
    Keep(attempt.suspended, left_out);
    Keep(attempt.resizes, left_out);
    Keep(attempt.pending, left_out);
    Keep(attempt.node_events, left_out);
    Keep(attempt.step_marks, left_out);
    Keep(attempt.step_blocks, left_out);
    Keep(attempt.step_ends, left_out);
    Keep(attempt.rank_ends, left_out);
    // Of a save, one mark may be possible.
    for (const SaveBlock& block : attempt.save_blocks) AppendMarks(block, attempt.marks);
    attempt.save_blocks.clear();
    Keep(attempt.marks, left_out);
    Keep(attempt.worlds, left_out);
    if (attempt.spares.value_or(0) < 0) {
      attempt.spares.reset();
      ++left_out;
    }
    Keep(attempt.signals, left_out);
    Keep(attempt.checkpoint_files, left_out);
    Keep(attempt.last_seen, left_out);
  }
  warnings.push_back(std::to_string(left_out) + " facts ignored: impossible times or step numbers");
  return mended;
}

Ns TimesAtMost(Ns value, std::int64_t factor) {
  Ns product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return kLatest;
  return std::min(product, kLatest);
}

}  // namespace goodput
