#include "tools/accounting/timeline/interruption.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/accounting/timeline/hardware.h"
#include "tools/accounting/timeline/host_evidence.h"
#include "tools/accounting/timeline/text.h"

namespace goodput {
namespace {

std::string ExitWords(const Incarnation& incarnation) {
  if (incarnation.exit_signal)
    return "a task was killed by signal " + std::to_string(*incarnation.exit_signal);
  if (incarnation.exit_code) return "its tasks exited with code " + std::to_string(*incarnation.exit_code);
  return "";
}

// Signals of a program's own fault, which are not sent to end a job.
bool IsOwnFault(int signo) {
  constexpr std::array<int, 7> kFaults{SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  return std::find(kFaults.begin(), kFaults.end(), signo) != kFaults.end();
}

// Accounting's end has whole seconds; the death of the script is more precise.
Ns RequeuedAt(const EndContext& context) {
  return context.script_killed.value_or(context.attempt->end.value_or(0));
}

// The tasks of a requeued job are killed by Slurm's signals, or exit because of them. A task that exited with
// an error while the batch script still ran failed by itself, and the script then requested the requeue.
bool FailedBeforeRequeue(const EndContext& context) {
  const IncarnationFacts& program = *context.program;
  if (program.failed_at && program.failed_by && IsOwnFault(*program.failed_by))
    return *program.failed_at < RequeuedAt(context);
  return program.summary.exit_code.value_or(0) != 0 && ExitedBeforeRequeue(context);
}

// Only the kernel itself kills without a sender: when memory runs out.
bool KernelKilled(const EndContext& context) {
  const std::vector<SignalFact>& signals = context.attempt->signals;
  return context.program->summary.exit_signal == SIGKILL &&
         std::any_of(signals.begin(), signals.end(), [&](const SignalFact& signal) {
           return signal.signo == SIGKILL && signal.sender == "kernel" &&
                  signal.target == SignalFact::Target::kTask &&
                  context.program->slurm_steps.count(signal.slurm_step) != 0;
         });
}

}  // namespace

bool RanOutOfMemory(const EndContext& context) {
  return KernelKilled(context) ||
         (context.attempt->step_out_of_memory && context.program->summary.exit_signal == SIGKILL);
}

namespace {

// It exited because of TERM without a preemption, time limit or requeue.
bool Left(const EndContext& context, const std::function<void(std::string)>& says) {
  if (!context.stop || context.stop->signo != SIGTERM) return false;
  says("inferred: a user sent TERM, since it came with no preemption, time limit or requeue");
  return true;
}

// By convention, a program that has saved and wants to continue in another allocation exits with this code:
// Slurm requeues its job if RequeueExit contains the code, or the user submits it again.
constexpr int kExitAsksForRequeue = 93;

bool AskedForRequeue(const EndContext& context) {
  const Incarnation& incarnation = context.program->summary;
  if (incarnation.exit_signal) return false;
  return incarnation.exit_code.value_or(context.attempt->exit_code.value_or(0)) == kExitAsksForRequeue;
}

// A comment stays with the job: it explains an allocation that never worked, but not the end of one that did.
bool LackedMachines(const EndContext& context) {
  const Incarnation& incarnation = context.program->summary;
  return StartsWith(context.attempt->admin_comment, "GCP Error:") && !incarnation.first_step_begin &&
         !incarnation.exited;
}

// According to the reason of one of its nodes, which Slurm calls NODE_FAIL.
const MachineLack* Stockout(const EndContext& context) {
  const Incarnation& incarnation = context.program->summary;
  if (incarnation.first_step_begin || incarnation.exited) return nullptr;
  const std::vector<MachineLack>& lacks = context.attempt->lacks;
  const auto found = std::find_if(lacks.begin(), lacks.end(), [](const MachineLack& lack) {
    return lack.kind == MachineLack::Kind::kStockout && !lack.node.empty();
  });
  return found == lacks.end() ? nullptr : &*found;
}

std::string SecondsBetween(Ns t, Ns end) {
  return std::to_string(std::max<Ns>(0, end - t) / kSecond) + " s";
}

std::string UntilLimit(const EndContext& context) {
  const AttemptFacts& attempt = *context.attempt;
  if (!attempt.time_limit || !attempt.start) return "";
  const Ns left = *attempt.start + *attempt.time_limit - context.stop->t;
  return "; the time limit was " + std::to_string(std::max<Ns>(0, left) / kSecond) + " s away";
}

// Errors of the hardware before the end. They are evidence only: a program may survive them, and Slurm's
// states say what ended the attempt.
std::vector<std::string> Hardware(const EndContext& context) {
  const Incarnation& incarnation = context.program->summary;
  const Ns end = context.last_of_attempt && !incarnation.exited
                     ? context.attempt->end.value_or(incarnation.end)
                     : incarnation.exited.value_or(incarnation.end);
  return HardwareBefore(*context.attempt, incarnation.last_progress, end);
}

// The attempt's own end decides, unless the incarnation ended while the attempt continued. `hosts`: notices
// about its hosts.
std::string Cause(const EndContext& context, bool saved, const std::vector<HostEvidence>& hosts,
                  std::vector<std::string>& evidence) {
  const AttemptFacts& attempt = *context.attempt;
  const Incarnation& incarnation = context.program->summary;
  const std::string& state = attempt.state;
  const auto says = [&](std::string text) {
    if (!text.empty()) evidence.push_back(std::move(text));
  };

  if (context.stop && (context.stop->signo != 0 || context.stop->evidence == Evidence::kLog)) {
    says("told to stop by " + InWords(*context.stop) + ", " +
         SecondsBetween(context.stop->t, incarnation.exited.value_or(incarnation.end)) + " before it ended");
  }
  const bool kernel_killed = KernelKilled(context);
  if (kernel_killed) says("the kernel killed a task, as it does when memory runs out");
  // The kernel sends SIGKILL to a process that exceeds its memory.
  const bool out_of_memory = attempt.step_out_of_memory && incarnation.exit_signal.value_or(9) == 9;
  if (!context.last_of_attempt) {
    says("the allocation continued");
    if (incarnation.replaced) says("a new process replaced it in the same task, as with torchrun");
    says(ExitWords(incarnation));
    for (std::string& error : Hardware(context)) says(std::move(error));
    if (out_of_memory && incarnation.exit_signal) {
      says("Slurm reported that a step of the job ran out of memory");
      return "oom";
    }
    if (kernel_killed) return "oom";
    if (Left(context, says)) return "cancelled";
    if (context.stop) return "unknown";
    return incarnation.exit_signal || incarnation.exit_code.value_or(0) != 0 ? "failed" : "unknown";
  }
  if (!state.empty()) says("Slurm's state: " + state);
  const bool left_behind = context.remembered == Remembered::kOfEarlier;
  if (left_behind) {
    says(std::string("left over from the preemption of an earlier attempt: this attempt has no preemption "
                     "time, and ") +
         (attempt.preempted_by.empty() ? "no other job took its nodes" : "nothing told it to end") +
         "; Slurm 24.05 to 26.05.2 requeues such a job once more when it ends");
  }
  const bool preempted = attempt.preempt_time || (state == "PREEMPTED" && !left_behind);
  if (attempt.preempt_time) says("the controller set a preemption time");
  if (!attempt.preempted_by.empty()) says(attempt.preempted_by);
  if (!attempt.failed_node.empty() && attempt.down_nodes.empty())
    says("the controller names failed node " + attempt.failed_node);
  if (!attempt.down_nodes.empty()) says(attempt.down_nodes);
  if (context.node_loss) {
    says("node " + context.node_loss->node + " was last seen alive " +
         SecondsBetween(context.node_loss->t, context.attempt->end.value_or(context.node_loss->t)) +
         " before the end");
  }
  for (const HostEvidence& host : hosts) says(host.words);
  for (std::string& error : Hardware(context)) says(std::move(error));
  std::string by_host = hosts.empty() ? "" : hosts.front().cause;
  if (!attempt.cancelled_by.empty()) says("cancelled by " + attempt.cancelled_by);
  if (attempt.step_out_of_memory) says("Slurm reported that a step ran out of memory");
  if (!attempt.admin_comment.empty()) says("admin comment: " + attempt.admin_comment);
  if (!attempt.operator_acted.empty()) says(attempt.operator_acted);
  says(ExitWords(incarnation));
  // If no task failed, the script did.
  if (state == "FAILED" && !incarnation.exit_signal && incarnation.exit_code.value_or(0) == 0) {
    if (attempt.exit_signal) says("the job was killed by signal " + std::to_string(*attempt.exit_signal));
    if (!attempt.exit_signal && attempt.exit_code)
      says("the job exited with code " + std::to_string(*attempt.exit_code));
  }

  if (preempted) return "preempted";
  if (context.remembered == Remembered::kShownLater) {
    says(
        "inferred: it exited before the requeue, and Slurm gave the state PREEMPTED to a later attempt that "
        "nothing told to end, as 24.05 to 26.05.2 do when a requeue interrupts a preemption");
    return "preempted";
  }
  const bool node_lost =
      state == "NODE_FAIL" || (StartsWith(state, "REQUEUE") && !attempt.down_nodes.empty());
  if (node_lost && !attempt.taken_node.empty()) {
    says("according to the reason of node " + attempt.taken_node + ", the cloud reclaimed the machine");
    return "preempted";
  }
  if (const MachineLack* const stockout = Stockout(context)) {
    says("the cloud had no machine for node " + stockout->node);
    return "stockout";
  }
  if (state == "NODE_FAIL") return by_host.empty() ? "node_fail" : by_host;
  if (state == "TIMEOUT" || state == "DEADLINE") return "timeout";
  if (state == "OUT_OF_MEMORY") return "oom";
  if (LackedMachines(context) || state == "BOOT_FAIL") return "stockout";
  if (StartsWith(state, "CANCELLED")) return "cancelled";
  if (out_of_memory || kernel_killed) return "oom";
  if (StartsWith(state, "REQUEUE")) {
    if (!attempt.down_nodes.empty()) return by_host.empty() ? "node_fail" : by_host;
    if (!attempt.preempted_by.empty()) {
      says("inferred: a job that may preempt it started on its nodes in the same second");
      return "preempted";
    }
    if (AskedForRequeue(context)) {
      says("programs ask for a requeue with this exit code");
      return "user_requeue";
    }
    if (!saved && FailedBeforeRequeue(context)) {
      says("the tasks failed before the requeue was requested");
      return "failed";
    }
    if (!by_host.empty()) {
      says("inferred: no node was lost, and Slurm does not record who requested the requeue");
      return by_host;
    }
    if (!attempt.operator_acted.empty()) {
      says(
          "inferred: no preemption or node failure was seen, and Slurm does not record who requested the "
          "requeue");
      return "admin_requeue";
    }
    if (!attempt.taken_by.empty()) {
      says(attempt.taken_by);
      says(
          "it is not known whether that job may preempt it, and Slurm does not record who requested the "
          "requeue");
      return "unknown";
    }
    says("no preemption or node failure was seen; Slurm does not record who requested the requeue");
    return "user_requeue";
  }
  if (state == "FAILED" && context.next != nullptr && AskedForRequeue(context)) {
    says("programs ask for a requeue with this exit code, and the run continued");
    return "user_requeue";
  }
  if (Left(context, says)) return "cancelled";
  if (state == "FAILED" && !context.stop) return "failed";
  if (context.stop) {
    if (context.stop->signo != 0)
      says("Slurm sends this signal before a time limit (--signal), scancel --signal at any time" +
           UntilLimit(context));
    return "unknown";
  }
  return incarnation.exit_signal || incarnation.exit_code.value_or(0) != 0 ? "failed" : "unknown";
}

// A save that completed after the last step: nothing but waiting time was lost.
bool SavedAllSteps(const IncarnationFacts& program) {
  if (program.steps.empty()) return false;
  const Ns work_end = program.steps.back().work_end;
  return std::any_of(
      program.checkpoints.begin(), program.checkpoints.end(),
      [&](const Checkpoint& checkpoint) { return checkpoint.complete && checkpoint.begin >= work_end; });
}

// The checkpoint from which the next incarnation resumed: the last complete one whose steps were all kept.
std::optional<Ns> LastKeptCheckpoint(const IncarnationFacts& program, const StepOutcome& fate) {
  const auto first_lost =
      std::find_if(program.steps.begin(), program.steps.end(),
                   [&](const StepRecord& step) { return KeptSteps(fate, step) != step.count(); });
  std::optional<Ns> kept;
  for (const Checkpoint& checkpoint : program.checkpoints) {
    const bool has_lost = first_lost != program.steps.end() && first_lost->work_end <= checkpoint.begin;
    if (checkpoint.complete && !has_lost) kept = std::max(kept.value_or(checkpoint.begin), checkpoint.begin);
  }
  return kept;
}

bool IsOneOf(const std::string& cause, const std::vector<std::string_view>& causes) {
  return std::find(causes.begin(), causes.end(), cause) != causes.end();
}

// Slurm does not record who requested a requeue. A service asks for one that nothing else explains.
std::string RecoveryOf(const EndContext& context, const std::string& cause) {
  if (context.next == nullptr) return "";
  if (context.next_in_same_attempt) return "in_place";
  if (!context.next_of_same_job) return "resubmit";
  const AttemptFacts& attempt = *context.attempt;
  if (IsExpedited(attempt, cause)) return "expedite";
  if (attempt.recovery == "ajr" &&
      IsOneOf(cause, {"user_requeue", "admin_requeue", "failed", "oom", "unknown"}))
    return "ajr";
  return "requeue";
}

// What a reader should know of it.
std::string RecoveryInWords(const std::string& recovery) {
  if (recovery == "expedite") return "back by Slurm's expedited requeue, which the job asked for";
  if (recovery == "ajr")
    return "the job asks NVIDIA's Autonomous Job Recovery to requeue it (its comment), and nothing else "
           "explains "
           "the requeue";
  return "";
}

}  // namespace

bool ExitedBeforeRequeue(const EndContext& context) {
  const Incarnation& incarnation = context.program->summary;
  if (incarnation.exit_signal || !incarnation.exited) return false;
  return *incarnation.exited < RequeuedAt(context);
}

bool IsExpedited(const AttemptFacts& attempt, const std::string& cause) {
  return attempt.recovery == "expedite" &&
         (attempt.expediting || IsOneOf(cause, {"node_fail", "maintenance", "stockout"}) ||
          !attempt.taken_node.empty());
}

Interruption JudgeInterruption(const EndContext& context) {
  const IncarnationFacts& program = *context.program;
  const Incarnation& incarnation = program.summary;
  Interruption interruption;
  interruption.attempt = incarnation.attempt;
  interruption.time =
      context.last_of_attempt ? context.attempt->end.value_or(incarnation.end) : incarnation.end;
  const bool saved = SavedAllSteps(program);
  const std::vector<HostEvidence> hosts = JudgeHosts(*context.attempt, context.node_loss);
  interruption.cause = Cause(context, saved, hosts, interruption.evidence);
  interruption.recovery = RecoveryOf(context, interruption.cause);
  if (std::string words = RecoveryInWords(interruption.recovery); !words.empty())
    interruption.evidence.push_back(std::move(words));
  interruption.node = context.attempt->failed_node;
  if (interruption.node.empty()) interruption.node = context.attempt->taken_node;
  if (interruption.node.empty() && !hosts.empty() && interruption.cause == hosts.front().cause)
    interruption.node = hosts.front().node;
  if (saved) interruption.evidence.emplace_back("a checkpoint of its last step was complete");
  // Announced and orderly: a time limit; or, once everything was saved, a requeue by anyone or exit 0.
  const bool clean_exit = !incarnation.exit_signal && incarnation.exit_code && *incarnation.exit_code == 0;
  const bool requeued = context.last_of_attempt && StartsWith(context.attempt->state, "REQUEUE") &&
                        interruption.cause != "node_fail";
  const bool asked_for = interruption.cause == "user_requeue";
  interruption.planned = interruption.cause == "timeout" || (saved && (requeued || asked_for || clean_exit));
  // If a node is lost, the controller may report the job's end as the time when the node was last heard from.
  const Ns noticed = context.last_of_attempt && !context.attempt->failed_node.empty()
                         ? std::max(interruption.time, context.attempt->noticed.value_or(interruption.time))
                         : interruption.time;
  if (incarnation.last_progress) {
    const Ns from = LastKeptCheckpoint(program, *context.fate).value_or(*incarnation.first_step_begin);
    const Ns progress = std::min(*incarnation.last_progress, interruption.time);
    interruption.t_ch = std::max<Ns>(0, progress - from);
    interruption.t_detect = noticed - progress;
  }
  if (context.next != nullptr) {
    const Ns up = context.next_in_same_attempt ? interruption.time : context.next_ready.value_or(-1);
    if (up >= 0) {
      interruption.t_re = std::max<Ns>(0, up - noticed);
      if (context.next->summary.first_step_begin) {
        interruption.t_rm = std::max<Ns>(0, *context.next->summary.first_step_begin - up);
      }
    }
  }
  return interruption;
}

}  // namespace goodput
