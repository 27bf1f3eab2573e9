#include "spank/guard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace goodput {
namespace {

// Crashes that a sanitizer's own handlers catch are not tested with that sanitizer.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

volatile int* volatile nowhere = nullptr;

int Deeper(volatile int* depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(*depth = *depth + 1);
  return *depth < 0 ? 0 : Deeper(depth) + frame[0];
}

TEST(Guard, LetsAHealthyHookThrough) {
  bool ran = false;
  EXPECT_EQ(RunGuarded([&] { ran = true; }).outcome, Outcome::kDone);
  EXPECT_TRUE(ran);
}

TEST(Guard, CatchesWhatIsThrown) {
  EXPECT_EQ(RunGuarded([] { throw std::runtime_error("x"); }).outcome, Outcome::kThrew);
  EXPECT_EQ(RunGuarded([] { throw 1; }).outcome, Outcome::kThrew);
}

TEST(Guard, ContainsFaultsAgainAndAgain) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the fault itself";
  for (int i = 0; i < 3; ++i) {
    const GuardResult crashed = RunGuarded([] { *nowhere = 1; });
    EXPECT_EQ(crashed.outcome, Outcome::kFaulted);
    EXPECT_EQ(crashed.signal, SIGSEGV);
    EXPECT_EQ(RunGuarded([] { std::abort(); }).signal, SIGABRT);
    EXPECT_EQ(RunGuarded([] { raise(SIGFPE); }).signal, SIGFPE);
    volatile int depth = 0;
    EXPECT_EQ(RunGuarded([&] { Deeper(&depth); }).signal, SIGSEGV) << "a stack that overflows";
  }
}

TEST(Guard, PutsEverySignalActionBack) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the fault itself";
  struct sigaction before {};
  struct sigaction after {};
  sigaction(SIGSEGV, nullptr, &before);
  RunGuarded([] { *nowhere = 1; });
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  EXPECT_NE(stack.ss_flags & SS_DISABLE, 0);
  EXPECT_EXIT(*nowhere = 1, testing::KilledBySignal(SIGSEGV), "")
      << "outside a hook a fault is fatal as ever";
}

TEST(Guard, ContainsAFaultWhoseSignalIsBlockedAndBlocksItAgain) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the fault itself";
  sigset_t fault;
  sigset_t before;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &fault, &before);
  const GuardResult crashed = RunGuarded([] { *nowhere = 1; });
  const GuardResult healthy = RunGuarded([] {});
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(crashed.signal, SIGSEGV);
  EXPECT_EQ(healthy.outcome, Outcome::kDone);
  EXPECT_EQ(sigismember(&after, SIGSEGV), 1);
}

TEST(Guard, LeavesAFaultOfAnotherThreadAlone) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the fault itself";
  EXPECT_EXIT(RunGuarded([] { std::thread([] { *nowhere = 1; }).join(); }), testing::KilledBySignal(SIGSEGV),
              "");
}

TEST(Guard, LeavesASignalSomebodyElseSentAlone) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the fault itself";
  EXPECT_EXIT(RunGuarded([] {
                const pid_t target = getpid();
                const pid_t sender = fork();
                if (sender == 0) {
                  kill(target, SIGABRT);
                  _exit(0);
                }
                while (true) pause();
              }),
              testing::KilledBySignal(SIGABRT), "");
}

TEST(Guard, CostsLittle) {
  constexpr int kRounds = 20000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) RunGuarded([] {});
  const double each_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kRounds;
  std::printf("guard: %.2f us a hook\n", each_us);
}

}  // namespace
}  // namespace goodput
