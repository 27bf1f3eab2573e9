// The crash guard: runs a hook's body so that neither an exception nor a fault leaves the hook.
//
// Why: slurmd drains a node when a prolog or epilog hook dies, the death of slurmstepd kills the step, and
// the death of sbatch loses a submission. A forked child would also contain a crash, but costs a fork of
// slurmstepd per task, and slurmstepd has threads, so it must not fork. The guard costs about twenty cheap
// system calls, so every hook has it.
//
// How: while the body runs, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT have a handler on its own stack that
// jumps back here. SIGXFSZ is ignored, so that exceeding a file-size limit is a write error. Afterwards
// everything is restored. A signal in another thread, or one sent by another process, goes to the previous
// handler.
//
// Not contained: a body that never returns, one that overwrites the host's memory without faulting, and a
// fault inside malloc with its lock held. Hooks therefore do little, and records never use the heap.
#pragma once

namespace goodput {

enum class Outcome {
  kDone,
  kThrew,  // an exception was caught
  // A fault was contained. Data that the body was changing is in an unknown state and must not be used again.
  kFaulted,
  kBusy,  // another thread is in a guarded body; this one was not run
};

struct GuardResult {
  Outcome outcome = Outcome::kDone;
  int signal = 0;  // with kFaulted
};

GuardResult RunGuarded(void (*body)(void*), void* argument) noexcept;

// RunGuarded for a callable.
template <typename Body>
GuardResult RunGuarded(Body body) noexcept {
  return RunGuarded([](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
}

}  // namespace goodput
