#include "spank/guard.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstddef>

namespace goodput {
namespace {

constexpr std::array<int, 5> kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
// Enough for a handler that only jumps, including the registers of wide vector units.
constexpr std::size_t kStackBytes = 32768;

// Process-wide, like signal handlers. One thread at a time: armed_thread says which. Not thread_local, which
// a handler in a dlopen()ed library must not use.
alignas(16) char alternate_stack[kStackBytes];
volatile pid_t armed_thread = 0;
volatile sig_atomic_t fault_signal = 0;
sigjmp_buf recovery;
std::array<struct sigaction, kFaults.size()> before;

pid_t ThisThread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

void OnFault(int signal, siginfo_t* info, void* /*context*/) {
  const bool sent_by_another = info->si_code <= 0 && info->si_pid != getpid();
  if (armed_thread == ThisThread() && !sent_by_another) {
    fault_signal = signal;
    siglongjmp(recovery, 1);
  }
  // Not our signal. With the old action restored, a fault recurs on return; a sent signal must be sent again.
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i] == signal) sigaction(signal, &before[i], nullptr);
  }
  if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), ThisThread(), signal);
}

// Calls the body and turns an exception into a value. Separate from RunGuarded, so that the frame that is
// jumped back into has no object with a destructor.
Outcome CallCatching(void (*body)(void*), void* argument) noexcept {
  try {
    body(argument);
    return Outcome::kDone;
  } catch (...) {
    return Outcome::kThrew;
  }
}

}  // namespace

GuardResult RunGuarded(void (*body)(void*), void* argument) noexcept {
  pid_t nobody = 0;
  if (!__atomic_compare_exchange_n(&armed_thread, &nobody, ThisThread(), false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return {Outcome::kBusy, 0};
  }
  stack_t stack{};
  stack.ss_sp = alternate_stack;
  stack.ss_size = sizeof(alternate_stack);
  stack_t stack_before{};
  sigaltstack(&stack, &stack_before);
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFaults.size(); ++i) sigaction(kFaults[i], &action, &before[i]);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction size_limit_before {};
  sigaction(SIGXFSZ, &ignore, &size_limit_before);
  // A blocked fault kills at once, whatever its handler. slurmstepd blocks none of these, but a host may.
  sigset_t faults;
  sigset_t mask_before;
  sigemptyset(&faults);
  for (const int signal : kFaults) sigaddset(&faults, signal);
  pthread_sigmask(SIG_UNBLOCK, &faults, &mask_before);

  GuardResult result;
  fault_signal = 0;
  if (sigsetjmp(recovery, 1) == 0) {
    result.outcome = CallCatching(body, argument);
  } else {
    result.outcome = Outcome::kFaulted;
    result.signal = fault_signal;
  }

  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  sigaction(SIGXFSZ, &size_limit_before, nullptr);
  for (std::size_t i = 0; i < kFaults.size(); ++i) sigaction(kFaults[i], &before[i], nullptr);
  if ((stack_before.ss_flags & SS_DISABLE) != 0) stack_before.ss_size = 0;
  sigaltstack(&stack_before, nullptr);
  __atomic_store_n(&armed_thread, 0, __ATOMIC_RELEASE);
  return result;
}

}  // namespace goodput
