// What became of the signals a job was sent: who got them, who handled them, whether the checkpoint they
// asked for was complete before the end.
//
// A delivery is one ask: signals of one number that reach processes of a job within a moment. Slurm signals
// every process of a step, so a delivery has as many receivers as there are processes; what a job's processes
// send each other's helpers is their own affair and in no ledger.
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
  std::int32_t task = -1;       // -1: not known which
  std::optional<bool> handled;  // a process of it caught or blocked the signal; absent: not known
  bool ignored = false;         // all of them ignore it
  bool set_up =
      false;  // it was still slurmstepd, which set it up (its container): no program could handle it
  std::int64_t helpers = 0;  // processes besides the one Slurm started
  // Of these, that neither handled nor ignored it; also those that were gone before that could be read.
  std::int64_t helpers_unprepared = 0;
  std::optional<Ns> exit;  // when the task was reaped
  bool died_of_it = false;
};

struct SignalDelivery {
  // What it came to, of one that asked for a checkpoint.
  enum class Outcome : std::uint8_t {
    kNotAsked,  // the signal asks for none, or repeats what was asked just before
    kInTime,    // a checkpoint begun after it, or under way then and all there was to save, is complete
    kCutShort,  // one was begun, and the program ended before it was complete
    kNothing,   // the program ended, or trained on, without one
    kOpen,      // the program lives
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
  std::int64_t tasks_set_up = 0;                     // still being set up
  std::int64_t tasks_died = 0;                       // of it
  std::map<std::string, std::int64_t> helpers_died;  // by program: unprepared beside one that handled it
  bool repeats = false;                              // of an ask whose answer was under way, or had just come
  Outcome outcome = Outcome::kNotAsked;
  std::optional<Ns> checkpoint_begin;
  std::optional<Ns> checkpoint_complete;
  std::optional<Ns> exit;   // of the last task of the program; absent also where it trained on first
  std::optional<Ns> grace;  // until the program was made to end; absent: nothing did

  bool asks() const { return outcome != Outcome::kNotAsked; }
};

struct SignalLedger {
  std::vector<SignalDelivery> deliveries;  // by time
  // "6 signals, 5 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @90"; empty where
  // nothing asked for a checkpoint.
  std::string summary;
  std::vector<std::string> warnings;  // one sentence each, with what to do

  bool empty() const { return deliveries.empty(); }
};

// Of a timeline that has everything but its signals.
SignalLedger ReadSignalLedger(const Timeline& timeline);

// Numbers that ask a job for a checkpoint: what it says, else TERM, USR1 and USR2.
std::vector<int> CheckpointSignals(const AttemptFacts& attempt);

// True of a signal that a process of the job sent another it had started, or itself.
bool IsOwnAffair(const SignalFact& signal);

// How many training steps of the attempt began in (from, to]. Blocks count by their share.
std::int64_t StepsBegun(const AttemptFacts& attempt, Ns from, Ns to);
// A program that obeys a signal finishes its step first, and may begin another before all ranks agree.
inline constexpr std::int64_t kStepsToObey = 2;
// The same where no step is known.
inline constexpr Ns kTimeToObey = 60 * kSecond;

}  // namespace goodput
