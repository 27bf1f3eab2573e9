#include "tools/accounting/timeline/signal_ledger.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <tuple>
#include <utility>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/signal_summary.h"
#include "tools/accounting/timeline/timeline.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

// Maximum distance between consecutive signals of one delivery, and between the first and the last: the
// slurmstepds of a large job are notified one after the other.
constexpr Ns kMoment = kSecond;
constexpr Ns kDelivery = 5 * kSecond;
// A process that gets the signal again within this time got the same one twice, as at a time limit.
constexpr Ns kTwice = kSecond / 10;
// A task killed by a signal is reaped within this time.
constexpr Ns kDeathTime = 5 * kSecond;

using TaskKey = std::pair<std::int32_t, std::int32_t>;  // Slurm step, task

bool SentByJob(const SignalFact& signal) {
  return signal.sender == "self" || signal.sender == "job";
}

std::vector<std::vector<const SignalFact*>> GroupDeliveries(const AttemptFacts& attempt) {
  std::vector<const SignalFact*> signals;
  for (const SignalFact& signal : attempt.signals) {
    // The extern step's own sleep also gets all of a job's signals.
    if (!IsOwnAffair(signal) && signal.slurm_step != kExternStep) signals.push_back(&signal);
  }
  std::sort(signals.begin(), signals.end(), [](const SignalFact* a, const SignalFact* b) {
    return std::tie(a->signo, a->t, a->slurm_step, a->task, a->target, a->pid, a->node, a->ref.source,
                    a->ref.offset) < std::tie(b->signo, b->t, b->slurm_step, b->task, b->target, b->pid,
                                              b->node, b->ref.source, b->ref.offset);
  });
  const auto same = [](const SignalFact* a, const SignalFact* b) {
    return a->t == b->t && a->signo == b->signo && a->pid == b->pid && a->ref.source == b->ref.source &&
           a->ref.offset == b->ref.offset;
  };
  signals.erase(std::unique(signals.begin(), signals.end(), same), signals.end());
  std::vector<std::vector<const SignalFact*>> groups;
  std::map<std::pair<std::string, std::int64_t>, Ns> reached;  // by process, in the last group
  for (const SignalFact* signal : signals) {
    const std::pair process{signal->node, signal->pid};
    const auto before = reached.find(process);
    const bool again = signal->pid > 0 && before != reached.end() && signal->t - before->second > kTwice;
    const bool joins = !groups.empty() && groups.back().front()->signo == signal->signo && !again &&
                       signal->t - groups.back().back()->t <= kMoment &&
                       signal->t - groups.back().front()->t <= kDelivery;
    if (!joins) {
      groups.emplace_back();
      reached.clear();
    }
    groups.back().push_back(signal);
    reached.emplace(process, signal->t);
  }
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return std::tie(a.front()->t, a.front()->signo) < std::tie(b.front()->t, b.front()->signo);
  });
  return groups;
}

// One attempt's tasks and checkpoints, for queries about each of its deliveries.
class AttemptView {
 public:
  AttemptView(const Timeline& timeline, int index)
      : facts_(*timeline.attempts[static_cast<std::size_t>(index)].facts),
        allocation_(ReadAllocation(facts_, timeline.now)) {
    const std::vector<std::int32_t> steps = ProgramSteps(facts_, allocation_);
    program_steps_.insert(steps.begin(), steps.end());
    for (const Checkpoint& checkpoint : timeline.checkpoints) {
      const Incarnation& owner = timeline.incarnations[static_cast<std::size_t>(checkpoint.incarnation)];
      if (owner.attempt == index) checkpoints_.push_back(checkpoint);
    }
    std::sort(checkpoints_.begin(), checkpoints_.end(),
              [](const Checkpoint& a, const Checkpoint& b) { return a.begin < b.begin; });
    steps_known_ = !facts_.step_marks.empty() || !facts_.step_blocks.empty();
  }

  const AttemptFacts& facts() const { return facts_; }
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  const TaskLife* LifeOf(const TaskKey& key) const {
    // They are sorted by step, then task.
    const auto found = std::lower_bound(
        allocation_.lives.begin(), allocation_.lives.end(), key,
        [](const TaskLife& life, const TaskKey& k) { return TaskKey(life.slurm_step, life.task) < k; });
    const bool known = found != allocation_.lives.end() && TaskKey(found->slurm_step, found->task) == key;
    return known ? &*found : nullptr;
  }
  bool IsProgram(std::int32_t slurm_step) const { return program_steps_.count(slurm_step) != 0; }
  // Whether every task of the step that lived at `t` was still being set up.
  bool IsSetUp(std::int32_t slurm_step, Ns t) const {
    bool any = false;
    for (const TaskLife& life : allocation_.lives) {
      if (life.slurm_step != slurm_step || (life.exit_time && *life.exit_time < t)) continue;
      if (!life.executed || *life.executed <= t) return false;
      any = true;
    }
    return any;
  }
  // When the last of the program's tasks that lived at `t` had ended; absent while one lives, or if an exit
  // was not seen.
  std::optional<Ns> ExitAfter(Ns t) const {
    std::optional<Ns> exit;
    for (const TaskLife& life : allocation_.lives) {
      if (!IsProgram(life.slurm_step) || life.begin > t || (life.exit_time && *life.exit_time < t)) continue;
      if (!life.exit_time) return std::nullopt;
      exit = std::max(exit.value_or(*life.exit_time), *life.exit_time);
    }
    return exit;
  }
  // A task of the program was killed with KILL at its exit.
  bool KilledAt(Ns exit) const {
    return std::any_of(allocation_.lives.begin(), allocation_.lives.end(), [&](const TaskLife& life) {
      return IsProgram(life.slurm_step) && life.exit_time == exit && life.exit_signal == SIGKILL;
    });
  }
  bool ended() const { return allocation_.ended; }
  // It did no more between the two than a program needs to react.
  bool Obeyed(Ns signal, Ns done) const {
    return steps_known_ ? StepsBegun(facts_, signal, done) <= kStepsToObey
                        : done - signal <= kTimeToObey || CheckpointsBegun(signal, done) == 1;
  }
  // The checkpoint that was being written at `t`, or had just been, if the program then exited: there was
  // nothing else to save.
  const Checkpoint* SavedAllAt(Ns t, const std::optional<Ns>& exit) const {
    const auto after = std::upper_bound(checkpoints_.begin(), checkpoints_.end(), t,
                                        [](Ns at, const Checkpoint& c) { return at < c.begin; });
    if (!exit || after == checkpoints_.begin()) return nullptr;
    const Checkpoint* last = &*std::prev(after);
    if (steps_known_) return StepsBegun(facts_, last->begin, *exit) == 0 ? last : nullptr;
    const bool under_way = !last->complete || *last->complete >= t;
    const bool left = *exit - last->complete.value_or(*exit) <= kTimeToObey;
    return under_way && left && after == checkpoints_.end() ? last : nullptr;
  }
  // Whether it trained on.
  bool TrainedIn(Ns from, Ns to) const {
    return steps_known_ ? StepsBegun(facts_, from, to) > 0 : to - from > kTimeToObey;
  }

 private:
  std::int64_t CheckpointsBegun(Ns from, Ns to) const {
    return std::count_if(checkpoints_.begin(), checkpoints_.end(),
                         [&](const Checkpoint& c) { return c.begin >= from && c.begin <= to; });
  }

  const AttemptFacts& facts_;
  Allocation allocation_;
  std::set<std::int32_t> program_steps_;
  std::vector<Checkpoint> checkpoints_;
  bool steps_known_ = false;
};

// What is known about the processes of one task.
struct Gathered {
  SignalReceiver receiver;
  bool any_handled = false;
  bool any_unknown = false;
  bool all_ignored = true;
  std::map<std::string, std::int64_t> unprepared;  // by program
};

// The task's process before it executes the program; Debian calls it slurmstepd-wlm.
bool IsSlurmstepd(const std::string& comm) {
  return comm.rfind("slurmstepd", 0) == 0;
}

void Count(const Gathered& gathered, SignalDelivery& delivery) {
  const SignalReceiver& receiver = gathered.receiver;
  if (receiver.task < 0) return;
  ++delivery.tasks;
  if (receiver.ignored) {
    ++delivery.tasks_ignoring;
  } else if (receiver.handled) {
    ++(*receiver.handled ? delivery.tasks_handled : delivery.tasks_unprepared);
  }
  if (receiver.died_of_it) ++delivery.tasks_died;
  if (receiver.set_up) ++delivery.tasks_set_up;
  // If no process handled it, the helpers are not to blame.
  if (!gathered.any_handled) return;
  for (const auto& [program, count] : gathered.unprepared) delivery.helpers_died[program] += count;
}

SignalDelivery Gather(const AttemptView& view, int attempt, const std::vector<const SignalFact*>& signals) {
  SignalDelivery delivery;
  delivery.attempt = attempt;
  delivery.t = signals.front()->t;
  delivery.signo = signals.front()->signo;
  delivery.sender = signals.front()->sender;
  delivery.ref = signals.front()->ref;
  std::map<std::tuple<std::int32_t, std::int32_t, std::string>, Gathered> tasks;
  std::set<std::tuple<std::string, std::int64_t>> seen;
  for (const SignalFact* signal : signals) {
    // The same process signalled again within a moment is the same receiver.
    if (signal->pid > 0 && !seen.emplace(signal->node, signal->pid).second) continue;
    ++delivery.processes;
    Gathered& gathered =
        tasks[{signal->slurm_step, signal->task, signal->task < 0 ? signal->node : std::string()}];
    SignalReceiver& receiver = gathered.receiver;
    receiver.node = signal->node;
    receiver.slurm_step = signal->slurm_step;
    receiver.task = signal->task;
    const bool child = signal->target == SignalFact::Target::kChild;
    // A process killed by a signal is usually gone before it can be read whether it had a handler.
    const bool unprepared = !signal->ignored && (child ? signal->handled != true : signal->handled == false);
    if (!child && IsSlurmstepd(signal->comm)) receiver.set_up = true;
    if (child) {
      ++receiver.helpers;
      if (unprepared) ++receiver.helpers_unprepared;
    }
    if (unprepared) ++gathered.unprepared[signal->comm];
    if (!signal->ignored) gathered.all_ignored = false;
    if (!signal->ignored && signal->handled == true) gathered.any_handled = true;
    if (!signal->ignored && !signal->handled && !child) gathered.any_unknown = true;
  }
  for (auto& [key, gathered] : tasks) {
    SignalReceiver& receiver = gathered.receiver;
    const TaskLife* life = view.LifeOf({receiver.slurm_step, receiver.task});
    // Also if only processes that set it up were seen: its children, or those of an unknown task.
    const bool before_exec = life != nullptr ? life->executed && delivery.t < *life->executed
                                             : view.IsSetUp(receiver.slurm_step, delivery.t);
    if (before_exec) receiver.set_up = true;
    if (life != nullptr && life->exit_time && *life->exit_time >= delivery.t) {
      receiver.exit = life->exit_time;
      receiver.died_of_it =
          life->exit_signal == delivery.signo && *life->exit_time - delivery.t <= kDeathTime;
    }
    receiver.ignored = gathered.all_ignored;
    if (gathered.any_handled) {
      receiver.handled = true;
    } else if (!gathered.any_unknown || receiver.died_of_it) {
      receiver.handled = false;
    }
    delivery.receivers.push_back(receiver);
  }
  // If the program was reached, it decides; the script that started it need not handle anything.
  const bool reached = std::any_of(delivery.receivers.begin(), delivery.receivers.end(),
                                   [&](const SignalReceiver& r) { return view.IsProgram(r.slurm_step); });
  for (const auto& [key, gathered] : tasks) {
    if (!reached || view.IsProgram(gathered.receiver.slurm_step)) Count(gathered, delivery);
  }
  return delivery;
}

bool ReachesProgram(const AttemptView& view, const SignalDelivery& delivery) {
  return std::any_of(delivery.receivers.begin(), delivery.receivers.end(),
                     [&](const SignalReceiver& receiver) {
                       return view.IsProgram(receiver.slurm_step) || receiver.slurm_step == kBatchStep;
                     });
}

// It reached more than processes that the script left behind.
bool ReachesTasks(const AttemptView& view, const SignalDelivery& delivery) {
  return std::any_of(delivery.receivers.begin(), delivery.receivers.end(),
                     [&](const SignalReceiver& receiver) {
                       return receiver.task >= 0 && view.IsProgram(receiver.slurm_step);
                     });
}

// Until someone other than the job itself or the kernel (out of memory) forced the program to end: with KILL,
// or with a later signal that killed its tasks.
std::optional<Ns> GraceOf(const AttemptView& view, const SignalDelivery& asked,
                          const std::vector<SignalDelivery>& all) {
  const std::optional<Ns> exit = view.ExitAfter(asked.t);
  for (const SignalDelivery& later : all) {
    if (later.t <= asked.t || later.sender == "kernel") continue;
    if (exit && later.t > *exit) break;
    // A later request has its own grace time.
    if (later.asks()) return std::nullopt;
    const bool forces = later.signo == SIGKILL || later.tasks_died > 0;
    if (forces && ReachesTasks(view, later)) return later.t - asked.t;
  }
  const bool by_kernel = std::any_of(all.begin(), all.end(), [&](const SignalDelivery& d) {
    return d.signo == SIGKILL && d.sender == "kernel" && d.t > asked.t;
  });
  if (exit && !by_kernel && view.KilledAt(*exit)) return *exit - asked.t;
  return std::nullopt;
}

void FindAnswer(const AttemptView& view, SignalDelivery& delivery) {
  const std::optional<Ns> exit = view.ExitAfter(delivery.t);
  for (const Checkpoint& checkpoint : view.checkpoints()) {
    if (checkpoint.begin < delivery.t) continue;
    if (exit && checkpoint.begin > *exit) break;
    // A program acts on a signal at the end of its step; a save that begins later is a regular one.
    if (!view.Obeyed(delivery.t, checkpoint.begin)) break;
    delivery.checkpoint_begin = checkpoint.begin;
    delivery.checkpoint_complete = checkpoint.complete;
    break;
  }
  if (const Checkpoint* saved = view.SavedAllAt(delivery.t, exit);
      saved != nullptr && !delivery.checkpoint_begin) {
    delivery.checkpoint_begin = saved->begin;
    delivery.checkpoint_complete = saved->complete;
  }
  const Ns acted = delivery.checkpoint_complete.value_or(delivery.t);
  if (exit && (*exit <= acted || view.Obeyed(acted, *exit))) delivery.exit = exit;
}

bool Repeats(const AttemptView& view, const SignalDelivery& before, Ns t) {
  if (before.checkpoint_complete && *before.checkpoint_complete <= t)
    return !view.TrainedIn(*before.checkpoint_complete, t);
  if (before.checkpoint_begin && *before.checkpoint_begin <= t) return true;
  return view.Obeyed(before.t, t);
}

SignalDelivery::Outcome OutcomeOf(const AttemptView& view, const SignalDelivery& delivery) {
  using Outcome = SignalDelivery::Outcome;
  if (delivery.checkpoint_complete) return Outcome::kInTime;
  const bool over = view.ended() || view.ExitAfter(delivery.t);
  if (delivery.checkpoint_begin) return over ? Outcome::kCutShort : Outcome::kOpen;
  return over || !view.Obeyed(delivery.t, view.facts().end.value_or(delivery.t)) ? Outcome::kNothing
                                                                                 : Outcome::kOpen;
}

// If a job names no signals and handled one of the defaults, that one asks for checkpoints; another default
// that no task handles was only used to end it.
bool EndsWhatAnotherAsked(const AttemptView& view, const std::vector<SignalDelivery>& deliveries,
                          std::size_t i) {
  if (!view.facts().checkpoint_signals.empty() || deliveries[i].tasks_handled > 0) return false;
  return std::any_of(deliveries.begin(), deliveries.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const SignalDelivery& before) {
                       return before.asks() && before.signo != deliveries[i].signo &&
                              before.tasks_handled > 0;
                     });
}

void ReadAttempt(const Timeline& timeline, int index, std::vector<SignalDelivery>& all) {
  if (timeline.attempts[static_cast<std::size_t>(index)].facts->signals.empty()) return;
  const AttemptView view(timeline, index);
  std::vector<SignalDelivery> deliveries;
  for (const auto& group : GroupDeliveries(view.facts())) deliveries.push_back(Gather(view, index, group));
  const std::vector<int> asking = CheckpointSignals(view.facts());
  std::optional<std::size_t> asked;  // the last that asked
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    SignalDelivery& delivery = deliveries[i];
    FindAnswer(view, delivery);
    const bool asks = std::find(asking.begin(), asking.end(), delivery.signo) != asking.end() &&
                      ReachesProgram(view, delivery);
    if (!asks || EndsWhatAnotherAsked(view, deliveries, i)) continue;
    delivery.repeats = asked && Repeats(view, deliveries[*asked], delivery.t);
    if (delivery.repeats) continue;
    delivery.outcome = OutcomeOf(view, delivery);
    asked = i;
  }
  for (SignalDelivery& delivery : deliveries) {
    if (delivery.asks() || delivery.repeats) delivery.grace = GraceOf(view, delivery, deliveries);
  }
  all.insert(all.end(), deliveries.begin(), deliveries.end());
}

}  // namespace

bool IsOwnAffair(const SignalFact& signal) {
  return SentByJob(signal) && signal.target == SignalFact::Target::kChild;
}

std::vector<int> CheckpointSignals(const AttemptFacts& attempt) {
  if (!attempt.checkpoint_signals.empty()) return attempt.checkpoint_signals;
  return {SIGTERM, SIGUSR1, SIGUSR2};
}

std::int64_t StepsBegun(const AttemptFacts& attempt, Ns from, Ns to) {
  std::set<std::int64_t> begun;
  for (const StepMark& mark : attempt.step_marks) {
    if (mark.t > from && mark.t <= to) begun.insert(mark.train_step);
  }
  auto count = static_cast<std::int64_t>(begun.size());
  for (const StepBlock& block : attempt.step_blocks) {
    const Ns begin = std::max(from, block.first.t);
    const Ns end = std::min(to, block.last.t);
    if (begin >= end) continue;
    const double share = static_cast<double>(end - begin) / static_cast<double>(block.last.t - block.first.t);
    const std::int64_t marks = (block.last.train_step - block.first.train_step) / block.stride;
    count += static_cast<std::int64_t>(share * static_cast<double>(marks));
  }
  return count;
}

SignalLedger ReadSignalLedger(const Timeline& timeline) {
  SignalLedger ledger;
  for (std::size_t a = 0; a < timeline.attempts.size(); ++a) {
    const AttemptFacts& facts = *timeline.attempts[a].facts;
    if (facts.start && !facts.signals.empty()) ReadAttempt(timeline, static_cast<int>(a), ledger.deliveries);
  }
  std::stable_sort(ledger.deliveries.begin(), ledger.deliveries.end(),
                   [](const SignalDelivery& a, const SignalDelivery& b) { return a.t < b.t; });
  ledger.summary = SummaryOf(timeline, ledger.deliveries);
  ledger.warnings = WarningsOf(timeline, ledger.deliveries);
  return ledger;
}

}  // namespace goodput
