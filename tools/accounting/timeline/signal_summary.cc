#include "tools/accounting/timeline/signal_summary.h"

#include <algorithm>
#include <csignal>
#include <string_view>

#include "sql/blocks/duration_histogram.h"
#include "tools/accounting/timeline/timeline.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

using Outcome = SignalDelivery::Outcome;

// More programs than this are not listed.
constexpr std::size_t kMostSignalsNamed = 4;
// Recommended times are a quarter longer than needed, in half minutes, since the next save may take longer.
constexpr double kMargin = 1.25;
constexpr Ns kRoundTo = 30 * kSecond;

std::string Plural(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string SecondsUp(Ns ns) {
  return std::to_string((ns + kSecond - 1) / kSecond);
}

const AttemptFacts& FactsOf(const Timeline& timeline, const SignalDelivery& delivery) {
  return *timeline.attempts[static_cast<std::size_t>(delivery.attempt)].facts;
}

// The usual duration of this job's saves.
std::optional<Ns> UsualSave(const Timeline& timeline) {
  DurationHistogram saves;
  for (const Checkpoint& checkpoint : timeline.checkpoints) {
    if (checkpoint.complete) saves.Add(*checkpoint.complete - checkpoint.begin);
  }
  return saves.Median();
}

// How much longer the save would have needed; absent if unknown.
std::optional<Ns> ShortBy(const Timeline& timeline, const SignalDelivery& delivery) {
  const std::optional<Ns> usual = UsualSave(timeline);
  std::optional<Ns> end = delivery.exit;
  if (delivery.grace)
    end = std::min(end.value_or(delivery.t + *delivery.grace), delivery.t + *delivery.grace);
  if (!usual || !end || !delivery.checkpoint_begin) return std::nullopt;
  const Ns missing = *delivery.checkpoint_begin + *usual - *end;
  return missing > 0 ? std::optional(missing) : std::nullopt;
}

// From the signal to the expected end of a save.
std::optional<Ns> Needed(const Timeline& timeline, const SignalDelivery& delivery) {
  const std::optional<Ns> usual = UsualSave(timeline);
  if (!usual) return std::nullopt;
  if (delivery.checkpoint_begin) return *delivery.checkpoint_begin - delivery.t + *usual;
  // The signal may have come at the begin of a step.
  if (!timeline.steps.median) return std::nullopt;
  return *timeline.steps.median + *usual;
}

// What would have given it enough time, depending on what ended it.
std::string Advice(const Timeline& timeline, const std::vector<const SignalDelivery*>& late) {
  std::optional<Ns> needed;
  const SignalDelivery* worst = late.front();
  for (const SignalDelivery* delivery : late) {
    const std::optional<Ns> its = Needed(timeline, *delivery);
    if (its && (!needed || *its > *needed)) {
      needed = its;
      worst = delivery;
    }
  }
  const AttemptFacts& facts = FactsOf(timeline, *worst);
  if (!needed) return "";
  const double padded = static_cast<double>(*needed) * kMargin / static_cast<double>(kRoundTo);
  const Ns enough = (static_cast<Ns>(padded) + 1) * kRoundTo;
  if (facts.preempt_time || facts.state == "PREEMPTED") {
    return ": a preemption grace (GraceTime) of " + SecondsUp(enough) + " s would be enough";
  }
  if (facts.state == "TIMEOUT") {
    if (worst->signo == SIGTERM) return ": send it earlier with --signal=TERM@" + SecondsUp(enough);
    return ": raise --signal to @" + SecondsUp(enough);
  }
  return ": save more often, or have KillWait raised to " + SecondsUp(enough);
}

std::string CutShort(const Timeline& timeline, const std::vector<const SignalDelivery*>& cut) {
  std::optional<Ns> most;
  bool all_forced = true;
  for (const SignalDelivery* delivery : cut) {
    const std::optional<Ns> missing = ShortBy(timeline, *delivery);
    if (missing) most = std::max(most.value_or(*missing), *missing);
    if (!delivery->grace) all_forced = false;
  }
  const std::string ended = all_forced ? " killed " : " ended ";
  const std::string count = std::to_string(cut.size());
  if (cut.size() == 1)
    return count + ended + (most ? SecondsUp(*most) + " s before it finished" : "while it saved");
  return count + ended +
         (most ? "up to " + SecondsUp(*most) + " s before they finished" : "while they saved");
}

// Helpers by program: "sleep 2, python3 6".
std::string Named(const std::map<std::string, std::int64_t>& programs) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [program, count] : programs) {
    if (named++ == kMostSignalsNamed) return text + " and others";
    if (!text.empty()) text += ", ";
    text += (program.empty() ? "?" : program) + " " + std::to_string(count);
  }
  return text;
}

// Outcomes of the deliveries of one signal.
struct Tally {
  std::int64_t unhandled = 0;  // deliveries that no task handled
  std::int64_t ignored = 0;    // that all tasks ignore
  std::int64_t set_up = 0;     // that came before any task was the program
  std::int64_t no_effect = 0;  // handled, but nothing was saved
  std::map<std::string, std::int64_t> helpers;
  std::int64_t helpers_in = 0;  // deliveries
};

// A job that never trained and never saved has nothing to save.
bool HasSomethingToSave(const Timeline& timeline, const SignalDelivery& delivery) {
  return timeline.steps.executed > 0 || !timeline.checkpoints.empty() ||
         !FactsOf(timeline, delivery).checkpoint_signals.empty();
}

std::string Times(std::int64_t count) {
  return count == 1 ? "" : " (" + std::to_string(count) + " times)";
}

void WarnOf(int signo, const Tally& tally, std::vector<std::string>& warnings) {
  const std::string name = SignalName(signo);
  if (tally.ignored > 0) {
    warnings.push_back("all tasks ignore " + name + ", a checkpoint signal of this job" +
                       Times(tally.ignored) +
                       ": handle it, or name a signal that they handle with --goodput-checkpoint-signal");
  }
  if (tally.set_up > 0) {
    warnings.push_back(name + " arrived while the tasks were still being set up, such as their containers" +
                       Times(tally.set_up) + ": no program was running yet to handle it");
  }
  if (tally.unhandled > 0) {
    warnings.push_back("no task has a handler for " + name + ", a checkpoint signal of this job" +
                       Times(tally.unhandled) +
                       ": install one that saves, or name another with --goodput-checkpoint-signal");
  }
  if (tally.helpers_in > 0) {
    std::int64_t count = 0;
    for (const auto& [program, its] : tally.helpers) count += its;
    warnings.push_back(std::to_string(count) + (count == 1 ? " process" : " processes") +
                       " other than the trainer died from " + name + " (" + Named(tally.helpers) +
                       "): send the signal to the script only, with --signal=B:" + name +
                       " and forward it to the trainer, or ignore it in those processes");
  }
  if (tally.no_effect > 0) {
    warnings.push_back(name + " was handled, but no checkpoint followed within " +
                       std::to_string(kStepsToObey) + " steps" + Times(tally.no_effect) +
                       ": let the handler save at the end of the step");
  }
}

// A requested checkpoint that was complete, but from which the next start did not resume.
std::string NotResumedFrom(const Timeline& timeline, const SignalDelivery& delivery) {
  if (delivery.outcome != Outcome::kInTime) return "";
  const AttemptFacts& facts = FactsOf(timeline, delivery);
  std::optional<std::int64_t> begun;  // the last step that had begun when the save did
  for (const StepMark& mark : facts.step_marks) {
    if (mark.t < *delivery.checkpoint_begin)
      begun = std::max(begun.value_or(mark.train_step), mark.train_step);
  }
  for (const StepBlock& block : facts.step_blocks) {
    if (block.last.t < *delivery.checkpoint_begin)
      begun = std::max(begun.value_or(block.last.train_step), block.last.train_step);
  }
  if (!begun) return "";
  for (const Incarnation& next : timeline.incarnations) {
    if (next.begin < *delivery.checkpoint_complete || !next.first_step) continue;
    // The step in flight at the save may or may not be included.
    const std::int64_t from = std::min(*next.first_step, next.restored_step.value_or(*next.first_step) + 1);
    if (from >= *begun) return "";
    return "the checkpoint requested by " + SignalName(delivery.signo) + " in attempt " +
           std::to_string(delivery.attempt + 1) + " was complete, but attempt " +
           std::to_string(next.attempt + 1) + " resumed at step " + std::to_string(from) + " although step " +
           std::to_string(*begun - 1) + " was done: check which checkpoint the program restores";
  }
  return "";
}

}  // namespace

std::string SummaryOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries) {
  std::int64_t asked = 0;
  std::int64_t in_time = 0;
  std::int64_t open = 0;
  std::int64_t nothing = 0;
  std::vector<const SignalDelivery*> cut;
  std::vector<const SignalDelivery*> before;  // killed before a save began, although it was handled
  for (const SignalDelivery& delivery : deliveries) {
    if (!delivery.asks()) continue;
    ++asked;
    if (delivery.outcome == Outcome::kInTime) ++in_time;
    if (delivery.outcome == Outcome::kOpen) ++open;
    if (delivery.outcome == Outcome::kCutShort) cut.push_back(&delivery);
    if (delivery.outcome != Outcome::kNothing) continue;
    if (delivery.grace && delivery.tasks_handled > 0 && delivery.exit) {
      before.push_back(&delivery);
    } else {
      ++nothing;
    }
  }
  if (asked == 0) return "";
  std::string text = Plural(asked, "signal") + ", " + Plural(in_time, "checkpoint") + " in time";
  if (open > 0) text += ", " + std::to_string(open) + " still open";
  if (nothing > 0) text += ", " + std::to_string(nothing) + " without a checkpoint";
  if (!before.empty()) text += ", " + std::to_string(before.size()) + " killed before the save began";
  if (!cut.empty()) text += ", " + CutShort(timeline, cut);
  std::vector<const SignalDelivery*> late = cut;
  late.insert(late.end(), before.begin(), before.end());
  const auto forced = [](const SignalDelivery* delivery) { return delivery->grace.has_value(); };
  if (!late.empty() && std::any_of(late.begin(), late.end(), forced)) text += Advice(timeline, late);
  return text;
}

std::vector<std::string> WarningsOf(const Timeline& timeline, const std::vector<SignalDelivery>& deliveries) {
  std::map<int, Tally> tallies;
  std::vector<std::string> warnings;
  for (const SignalDelivery& delivery : deliveries) {
    if (!delivery.asks() || !HasSomethingToSave(timeline, delivery)) continue;
    Tally& tally = tallies[delivery.signo];
    const bool nobody = delivery.tasks > 0 && delivery.tasks_handled == 0;
    const bool set_up = nobody && delivery.tasks_set_up == delivery.tasks;
    if (set_up) ++tally.set_up;
    if (nobody && !set_up && delivery.tasks_ignoring == delivery.tasks) ++tally.ignored;
    if (nobody && !set_up && delivery.tasks_unprepared > 0 &&
        delivery.tasks_unprepared + delivery.tasks_ignoring == delivery.tasks) {
      ++tally.unhandled;
    }
    const bool killed = delivery.grace && delivery.exit;
    if (delivery.outcome == Outcome::kNothing && delivery.tasks_handled > 0 && !killed &&
        !timeline.checkpoints.empty()) {
      ++tally.no_effect;
    }
    // A program that saved and exited no longer needs its helpers.
    const bool left = delivery.outcome == Outcome::kInTime && delivery.exit;
    if (!delivery.helpers_died.empty() && !left) {
      ++tally.helpers_in;
      for (const auto& [program, count] : delivery.helpers_died) tally.helpers[program] += count;
    }
    if (std::string text = NotResumedFrom(timeline, delivery); !text.empty()) warnings.push_back(text);
  }
  for (const auto& [signo, tally] : tallies) WarnOf(signo, tally, warnings);
  return warnings;
}

}  // namespace goodput
