// What became of the signals of a job: which processes received them, which handled them, and whether the
// requested checkpoint was complete before the end.
//
// A delivery is one request: signals of one number that reach processes of a job within a moment. Slurm
// signals every process of a step, so a delivery has as many receivers as there are processes. Signals
// between a job's own processes are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct Timeline;

// One task and the processes it had started, in one delivery.
struct SignalReceiver {
  std::string node;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = -1;       // -1: unknown
  std::optional<bool> handled;  // one of its processes caught or blocked the signal; absent: unknown
  bool ignored = false;         // all its processes ignore it
  // It was still slurmstepd setting up the task (its container): no program could handle it.
  bool set_up = false;
  std::int64_t helpers = 0;  // processes other than the one Slurm started
  // Helpers that neither handled nor ignored it, including those that were gone before this could be read.
  std::int64_t helpers_unprepared = 0;
  std::optional<Ns> exit;  // when the task was reaped
  bool died_of_it = false;
};

struct SignalDelivery {
  // The outcome of a signal that asked for a checkpoint.
  enum class Outcome : std::uint8_t {
    kNotAsked,  // the signal does not ask for one, or repeats a recent request
    // A checkpoint is complete that was begun after the signal, or that was in progress then and had
    // everything there was to save.
    kInTime,
    kCutShort,  // one was begun, and the program ended before it was complete
    kNothing,   // the program ended or trained on without one
    kOpen,      // the program still runs
  };
  int attempt = 0;  // index into Timeline::attempts
  Ns t = 0;
  int signo = 0;
  std::string sender;                     // of the first signal
  EvidenceRef ref;                        // of the first signal
  std::vector<SignalReceiver> receivers;  // by Slurm step, then task
  std::int64_t processes = 0;
  std::int64_t tasks = 0;
  std::int64_t tasks_handled = 0;
  std::int64_t tasks_unprepared = 0;  // known neither to handle nor to ignore it
  std::int64_t tasks_ignoring = 0;
  std::int64_t tasks_set_up = 0;  // still being set up
  std::int64_t tasks_died = 0;    // because of it
  // By program: helpers without a handler next to a task that handled it.
  std::map<std::string, std::int64_t> helpers_died;
  bool repeats = false;  // repeats a request whose checkpoint was in progress or just complete
  Outcome outcome = Outcome::kNotAsked;
  std::optional<Ns> checkpoint_begin;
  std::optional<Ns> checkpoint_complete;
  std::optional<Ns> exit;   // of the program's last task; absent also if it first trained on
  std::optional<Ns> grace;  // until the program was forced to end; absent: it was not

  bool asks() const { return outcome != Outcome::kNotAsked; }
};

struct SignalLedger {
  std::vector<SignalDelivery> deliveries;  // by time
  // "6 signals, 5 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @90"; empty if no
  // signal asked for a checkpoint.
  std::string summary;
  std::vector<std::string> warnings;  // one sentence each, with what to do

  bool empty() const { return deliveries.empty(); }
};

// `timeline` is complete except for its signals.
SignalLedger ReadSignalLedger(const Timeline& timeline);

// The signals that ask a job for a checkpoint: those that it named, or TERM, USR1 and USR2.
std::vector<int> CheckpointSignals(const AttemptFacts& attempt);

// True for a signal that a process of the job sent to itself or to another that it had started.
bool IsOwnAffair(const SignalFact& signal);

// How many training steps of the attempt began in (from, to]. Blocks count by their share.
std::int64_t StepsBegun(const AttemptFacts& attempt, Ns from, Ns to);
// A program that obeys a signal finishes its step first, and may begin another before all ranks agree.
inline constexpr std::int64_t kStepsToObey = 2;
// The same if no step is known.
inline constexpr Ns kTimeToObey = 60 * kSecond;

}  // namespace goodput
