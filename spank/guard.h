// The crash guard: runs a hook's body so that neither an exception nor a fault in it leaves the hook.
//
// Why: slurmd drains a node when a prolog or epilog hook dies, slurmstepd's death kills the step, and
// sbatch's death loses a submission. A forked child would contain a crash as well, but costs a fork of
// slurmstepd at every task and may not be done there (it has threads). The guard costs about twenty cheap
// system calls, so every hook has it.
//
// How: for the length of the body, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT have a handler on a stack of
// its own that jumps back here; SIGXFSZ is ignored, so that a file-size limit is an error of write. Then
// everything is put back. A signal in another thread, or one sent by somebody else, is not ours: what was
// there before gets it. What cannot be contained: a body that never returns, one that overwrites the host's
// memory without faulting, and a fault inside malloc with its lock held. Hooks therefore do little, and
// records never touch the heap.
#pragma once

namespace goodput {

enum class Outcome {
  kDone,
  kThrew,    // an exception was caught
  kFaulted,  // a fault was contained: what the body was changing is in an unknown state and must not be used
             // again
  kBusy,     // another thread is in a guarded body; this one was not run
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
