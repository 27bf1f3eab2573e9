// Tests goodput.h with a daemon that runs, is absent, sleeps or restarts, in programs with threads, forks,
// signals and closed descriptors. The client has process-wide state, so every program is a child process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tools/base/mark_message.h"
#include "tools/base/unix_socket.h"
#include "tools/clients/goodput.h"

extern "C" {
void StepFromC99(long long step);
void SaveFromC99(long long step);
}
void StepFromCxx11(long long step);

namespace goodput {
namespace {

struct Said {
  int connection = 0;  // in the order of connecting
  pid_t pid = 0;       // from the kernel
  std::string message;
  MarkMessage mark;
};

// Listens before the program starts, and reads while it runs and afterwards.
class Daemon {
 public:
  Daemon() : name_("@goodput-clients-" + std::to_string(getpid()) + "-" + std::to_string(++count)) {
    Listen();
  }
  ~Daemon() { Stop(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const std::string& name() const { return name_; }

  void Listen() {
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const UnixAddress address = UnixAddressOf(name_);
    if (bind(listener_, address.get(), address.length) != 0 || listen(listener_, 64) != 0) std::abort();
  }

  void Stop() {
    for (const auto& [fd, number] : connections_) close(fd);
    connections_.clear();
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }

  // Reads everything that is available.
  void Read() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) break;
      const int number = ++made_;
      connections_[fd] = number;
    }
    for (const auto& [fd, number] : connections_) {
      std::vector<char> bytes(8192);
      ssize_t got = 0;
      while ((got = recv(fd, bytes.data(), bytes.size(), 0)) > 0) {
        Said one;
        one.connection = number;
        ucred peer{};
        socklen_t size = sizeof(peer);
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
        one.pid = peer.pid;
        one.message.assign(bytes.data(), static_cast<std::size_t>(got));
        const absl::StatusOr<MarkMessage> mark = ParseMark(one.message);
        EXPECT_TRUE(mark.ok()) << mark.status() << ": " << one.message;
        if (mark.ok()) one.mark = *mark;
        said.push_back(std::move(one));
      }
    }
  }

  std::vector<Said> said;

 private:
  static int count;
  std::string name_;
  int listener_ = -1;
  int made_ = 0;
  std::map<int, int> connections_;
};

int Daemon::count = 0;

using Environment = std::map<std::string, std::string>;

const Environment kJob{
    {"SLURM_JOB_ID", "4711"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "3"}, {"SLURMD_NODENAME", "n1"}};

// Runs a program in a child with only this environment, while `meanwhile` runs. Returns the exit status: the
// number of dropped marks, or the program's own result.
int RunProgram(const Environment& environment, const std::function<int()>& program,
               const std::function<void()>& meanwhile) {
  const pid_t child = fork();
  if (child == 0) {
    clearenv();
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    _exit(program());
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    meanwhile();
    poll(nullptr, 0, 1);
  }
  meanwhile();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int RunBeside(Daemon& daemon, Environment environment, const std::function<int()>& program) {
  environment["GOODPUT_SOCKET"] = daemon.name();
  return RunProgram(environment, program, [&] { daemon.Read(); });
}

// A daemon in the program's own process.
struct OwnDaemon : Daemon {
  OwnDaemon() { setenv("GOODPUT_SOCKET", name().c_str(), 1); }
};

constexpr int kMostTold = 200;
int Dropped() {
  return static_cast<int>(std::min<unsigned long long>(goodput_dropped(), kMostTold));
}

TEST(ClientC, EveryMarkIsOneTheDaemonTakes) {
  Daemon daemon;
  const auto before = goodput_now_();
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_phase_begin("init");
                        goodput_phase_end("init");
                        goodput_restore_begin(-1);
                        goodput_restore_end(41);
                        goodput_step(42);
                        goodput_checkpoint_begin(42);
                        goodput_checkpoint_end(42);
                        goodput_step_failed(42);
                        goodput_step(1LL << 53);
                        return Dropped();
                      }),
            0);
  std::vector<std::string> told;
  std::int64_t last = before;
  for (const Said& one : daemon.said) {
    told.push_back(std::string(MarkKindName(one.mark.kind)) + (one.mark.begin ? " begin " : " end ") +
                   one.mark.name + (one.mark.train_step ? std::to_string(*one.mark.train_step) : ""));
    EXPECT_EQ(one.mark.job, 4711);
    EXPECT_EQ(one.mark.slurm_step, "3");
    EXPECT_EQ(one.mark.task, 0);
    EXPECT_EQ(one.mark.node, "n1");
    EXPECT_GE(one.mark.mono_ns.value_or(0), last);
    last = one.mark.mono_ns.value_or(0);
  }
  EXPECT_LE(last, goodput_now_());
  EXPECT_EQ(told, (std::vector<std::string>{"phase begin init", "phase end init", "restore begin ",
                                            "restore end 41", "step begin 42", "checkpoint begin 42",
                                            "checkpoint end 42", "step end failed42",
                                            "step begin 9007199254740992"}));
}

TEST(ClientC, SaysHowManyGpusTrain) {
  Daemon daemon;
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_world(48, -1, -1, -1);
                        goodput_world(48, 64, 0, 1LL << 53);
                        goodput_world(0, -1, -1, -1);
                        goodput_world(-1, -1, -1, -1);
                        goodput_world(9, 8, -1, -1);
                        goodput_world((1LL << 24) + 1, -1, -1, -1);
                        goodput_world(8, 8, (1LL << 24) + 1, -1);
                        goodput_world(8, 8, 0, 0);
                        return Dropped();
                      }),
            6)
      << "those that cannot be";
  ASSERT_EQ(daemon.said.size(), 2U);
  const auto sizes = [&](std::size_t i) {
    const MarkMessage& mark = daemon.said[i].mark;
    EXPECT_EQ(mark.kind, MarkMessage::Kind::kWorld);
    return std::vector<std::int64_t>{mark.world, mark.wanted.value_or(-1), mark.spares.value_or(-1),
                                     mark.tokens.value_or(-1)};
  };
  EXPECT_EQ(sizes(0), (std::vector<std::int64_t>{48, -1, -1, -1}));
  EXPECT_EQ(sizes(1), (std::vector<std::int64_t>{48, 64, 0, std::int64_t{1} << 53}));
}

TEST(ClientC, ABatchScriptIsItsBatchStep) {
  for (const char* step : {"", "4294967291", "-5", "x"}) {
    Daemon daemon;
    Environment job = kJob;
    job["SLURM_STEP_ID"] = step;
    RunBeside(daemon, job, [] { return goodput_step(1), 0; });
    ASSERT_EQ(daemon.said.size(), 1U);
    EXPECT_EQ(daemon.said[0].mark.slurm_step, "batch") << step;
  }
}

TEST(ClientC, FilesOfAnyStandardShareOneConnection) {
  Daemon daemon;
  RunBeside(daemon, kJob, [] {
    StepFromC99(1);
    StepFromCxx11(2);
    goodput_step(3);
    SaveFromC99(3);
    return 0;
  });
  ASSERT_EQ(daemon.said.size(), 5U);
  for (const Said& one : daemon.said) EXPECT_EQ(one.connection, 1);
}

TEST(ClientC, SaysNothingWhereItHasNothingToSay) {
  const auto with = [](const std::string& name, const std::string& value) {
    Environment job = kJob;
    job[name] = value;
    return job;
  };
  Environment no_job = kJob;
  no_job.erase("SLURM_JOB_ID");
  for (const Environment& environment :
       {no_job, with("SLURM_JOB_ID", "0"), with("SLURM_JOB_ID", "x"), with("GOODPUT", "off"),
        with("SLURM_PROCID", "1"), with("RANK", "7"), with("OMPI_COMM_WORLD_RANK", "1")}) {
    Daemon daemon;
    EXPECT_EQ(RunBeside(daemon, environment,
                        [] {
                          goodput_step(1);
                          goodput_step(-1);
                          goodput_phase_begin(nullptr);
                          return Dropped();
                        }),
              0);
    EXPECT_EQ(daemon.said.size(), 0U);
  }
  Environment all = with("SLURM_PROCID", "1");
  all["GOODPUT_RANKS"] = "all";
  Environment by_rank = with("RANK", "0");
  by_rank.erase("SLURM_PROCID");
  for (const Environment& environment : {all, by_rank, with("GOODPUT", "on")}) {
    Daemon daemon;
    RunBeside(daemon, environment, [] { return goodput_step(1), 0; });
    EXPECT_EQ(daemon.said.size(), 1U);
  }
}

TEST(ClientC, RanksThatReportSeparatelyHaveTheirOwnNumbers) {
  Environment job = kJob;
  job["GOODPUT_RANKS"] = "all";
  for (const auto& [name, rank, task] :
       {std::tuple("RANK", "9", 9), std::tuple("OMPI_COMM_WORLD_RANK", "8", 8), std::tuple("RANK", "x", 0)}) {
    Environment environment = job;
    environment[name] = rank;
    Daemon daemon;
    RunBeside(daemon, environment, [] { return goodput_step(1), 0; });
    ASSERT_EQ(daemon.said.size(), 1U);
    EXPECT_EQ(daemon.said[0].mark.task, task) << name << " " << rank;
  }
}

TEST(ClientC, NamesOfAnyBytesArriveCutBetweenCharacters) {
  std::vector<std::string> names{"evaluation",
                                 "\xC3\xA9",
                                 "\"\\\n\t\x7F",
                                 "\xFF\xC0\x80",
                                 "\xED\xA0\x80",
                                 "\xF4\x90\x80\x80",
                                 "\xF0\x9F\x98\x80",
                                 "\xE2\x82",
                                 std::string(10000, 'x'),
                                 std::string(127, 'x') + "\xC3\xA9"};
  std::string every;
  for (int c = 1; c < 256; ++c) every.push_back(static_cast<char>(c));
  for (std::size_t at = 0; at < every.size(); at += 50) names.push_back(every.substr(at, 50));
  unsigned seed = 7;
  for (int i = 0; i < 300; ++i) {
    std::string name;
    for (int length = 1 + rand_r(&seed) % 200; length > 0; --length)
      name.push_back(static_cast<char>(1 + rand_r(&seed) % 255));
    names.push_back(name);
  }
  Daemon daemon;
  Environment job = kJob;
  job["SLURMD_NODENAME"] = std::string(300, '"') + "\xFF";
  EXPECT_EQ(
      RunBeside(daemon, job,
                [&] {
                  for (const std::string& name : names) {
                    goodput_phase_begin(name.c_str());
                    poll(nullptr, 0,
                         3);  // the buffer holds about two hundred, and the daemon reads as fast as it can
                  }
                  goodput_phase_begin("");
                  goodput_phase_end(nullptr);
                  goodput_step(-1);
                  goodput_step((1LL << 53) + 1);
                  return Dropped();
                }),
      4);
  ASSERT_EQ(daemon.said.size(), names.size());
  for (std::size_t i = 0; i < 7; ++i) EXPECT_LE(daemon.said[i].mark.name.size(), kMaxPhaseName);
  EXPECT_EQ(daemon.said[1].mark.name, "\xC3\xA9");
  EXPECT_EQ(daemon.said[2].mark.name, "\"\\\n\t\x7F");
  EXPECT_EQ(daemon.said[3].mark.name, "\xC3\xBF\xC3\x80\xC2\x80")
      << "a byte that is no UTF-8 is the character of its number";
  EXPECT_EQ(daemon.said[4].mark.name, "\xC3\xAD\xC2\xA0\xC2\x80") << "surrogates are none";
  EXPECT_EQ(daemon.said[6].mark.name, "\xF0\x9F\x98\x80");
  EXPECT_EQ(daemon.said[8].mark.name, std::string(128, 'x'));
  EXPECT_EQ(daemon.said[9].mark.name, std::string(127, 'x'));
  EXPECT_EQ(daemon.said[0].mark.node, std::string(128, '"'));
}

TEST(ClientC, ThreadsSayEachThingOnce) {
  constexpr int kThreads = 8;
  constexpr int kEach = 400;
  Daemon daemon;
  const int dropped = RunBeside(daemon, kJob, [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([i] {
        for (int k = 0; k < kEach; ++k) {
          goodput_step(i * kEach + k);
          // The daemon reads once per millisecond; its buffer holds a few hundred.
          if (k % 16 == 0) poll(nullptr, 0, 4);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return Dropped();
  });
  std::set<std::int64_t> steps;
  for (const Said& one : daemon.said) {
    EXPECT_EQ(one.connection, 1);
    steps.insert(one.mark.train_step.value_or(-1));
  }
  // An exit status can hold no larger number; on a loaded machine the daemon may read too rarely.
  const std::size_t told = daemon.said.size() + static_cast<std::size_t>(dropped);
  if (dropped < kMostTold) {
    EXPECT_EQ(told, std::size_t{kThreads * kEach});
  } else {
    EXPECT_LE(told, std::size_t{kThreads * kEach});
    EXPECT_GT(daemon.said.size(), 0U);
  }
  EXPECT_EQ(steps.size(), daemon.said.size());
}

TEST(ClientC, AForkedProcessHasAConnectionOfItsOwn) {
  Daemon daemon;
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_step(1);
                        const pid_t child = fork();
                        if (child == 0) {
                          goodput_step(2);
                          _exit(Dropped());
                        }
                        int status = 0;
                        waitpid(child, &status, 0);
                        goodput_step(3);
                        return Dropped() + WEXITSTATUS(status);
                      }),
            0);
  std::map<std::int64_t, std::pair<int, pid_t>> from;
  for (const Said& one : daemon.said) from[one.mark.train_step.value_or(-1)] = {one.connection, one.pid};
  ASSERT_EQ(from.size(), 3U);
  EXPECT_EQ(from[1], from[3]);
  EXPECT_NE(from[1].first, from[2].first);
  EXPECT_NE(from[1].second, from[2].second);
}

TEST(ClientC, AForkWhileAnotherThreadMarksLeavesTheChildFree) {
  Daemon daemon;
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_step(1);
                        goodput_client_.lock = static_cast<unsigned long long>(getpid()) << 32 | 1;
                        const pid_t child = fork();
                        if (child == 0) {
                          goodput_step(2);
                          _exit(Dropped());
                        }
                        int status = 0;
                        waitpid(child, &status, 0);
                        goodput_step(3);  // the other thread never releases the lock
                        return 10 * WEXITSTATUS(status) + Dropped();
                      }),
            1);
  ASSERT_EQ(daemon.said.size(), 2U);
  EXPECT_EQ(daemon.said[1].mark.train_step, 2);
}

TEST(ClientC, ASignalHandlerDoesNotWaitForTheThreadItInterrupted) {
  Daemon daemon;
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_step(1);
                        goodput_client_.lock = static_cast<unsigned long long>(getpid()) << 32 |
                                               static_cast<unsigned>(syscall(SYS_gettid));
                        signal(SIGUSR1, [](int) { goodput_checkpoint_begin(1); });
                        raise(SIGUSR1);
                        goodput_client_.lock = 0;
                        raise(SIGUSR1);
                        return Dropped();
                      }),
            1);
  EXPECT_EQ(daemon.said.size(), 2U);
}

TEST(ClientC, WhereNobodyListensItAsksOnceASecond) {
  EXPECT_EQ(RunProgram(
                kJob,
                [] {
                  OwnDaemon daemon;
                  daemon.Stop();
                  for (int i = 0; i < 50; ++i) goodput_step(i);
                  const bool later = goodput_client_.retry_ns > goodput_now_();
                  daemon.Listen();
                  goodput_step(50);
                  goodput_client_.retry_ns = 0;  // a second later
                  goodput_step(51);
                  daemon.Read();
                  const bool heard = daemon.said.size() == 1 && daemon.said[0].mark.train_step == 51;
                  return later && heard ? Dropped() : 100;
                },
                [] {}),
            51);
}

TEST(ClientC, ANameNoSocketCanHaveIsNobody) {
  for (const std::string& name : {std::string(300, 'x'), std::string("@") + std::string(200, 'x'),
                                  std::string("relative"), std::string("/proc/self/nothing")}) {
    Environment job = kJob;
    job["GOODPUT_SOCKET"] = name;
    const auto mark = [] { return goodput_step(1), Dropped(); };
    EXPECT_EQ(RunProgram(job, mark, [] {}), 1) << name;
  }
}

TEST(ClientC, ADaemonThatNeverReadsLosesWhatItsBufferCannotHold) {
  constexpr int kMarks = 3000;
  Daemon daemon;
  Environment job = kJob;
  job["GOODPUT_SOCKET"] = daemon.name();
  EXPECT_EQ(RunProgram(
                job,
                [] {
                  long long waited = 0;
                  for (int i = 0; i < kMarks; ++i) {
                    const long long before = goodput_client_.wait_ns;
                    goodput_step(i);
                    if (goodput_client_.wait_ns != before) ++waited;
                  }
                  const auto dropped = static_cast<long long>(goodput_dropped());
                  return dropped > 0 && dropped < kMarks && waited > 0 && waited * 20 < dropped ? 0 : 1;
                },
                [] {}),
            0)
      << "it dropped without waiting each time";
  daemon.Read();
  EXPECT_GT(daemon.said.size(), 50U);
  EXPECT_EQ(daemon.said.back().mark.train_step, static_cast<std::int64_t>(daemon.said.size()) - 1)
      << "none between";
}

TEST(ClientC, ADaemonThatCameBackIsFound) {
  EXPECT_EQ(RunProgram(
                kJob,
                [] {
                  OwnDaemon daemon;
                  goodput_step(1);
                  daemon.Read();
                  daemon.Stop();
                  daemon.Listen();
                  goodput_client_.retry_ns = 0;
                  goodput_step(2);
                  daemon.Read();
                  return daemon.said.size() == 2 && daemon.said[1].connection == 2 ? Dropped() : 100;
                },
                [] {}),
            0);
}

TEST(ClientC, AClosedDescriptorIsNotWrittenTo) {
  Daemon daemon;
  EXPECT_EQ(
      RunBeside(daemon, kJob,
                [] {
                  goodput_step(1);
                  const int number = goodput_client_.fd;
                  close(number);
                  int pair[2] = {-1, -1};  // now belongs to another file
                  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0 || pair[0] != number)
                    return 100;
                  goodput_client_.retry_ns = 0;
                  goodput_step(2);
                  char byte = 0;
                  const bool untouched =
                      recv(pair[1], &byte, 1, 0) < 0 && errno == EAGAIN && fcntl(number, F_GETFD) >= 0;
                  return untouched ? Dropped() : 101;
                }),
      0);
  ASSERT_EQ(daemon.said.size(), 2U);
  EXPECT_EQ(daemon.said[1].connection, 2);
}

TEST(ClientC, ErrnoIsAsItWasAndThePipeSignalStaysAway) {
  EXPECT_EQ(RunProgram(
                kJob,
                [] {
                  OwnDaemon daemon;
                  signal(SIGPIPE, SIG_DFL);
                  int kept = 0;
                  for (int i = 1; i <= 3; ++i) {
                    errno = EDOM;
                    goodput_step(i);
                    if (errno == EDOM) ++kept;
                    daemon.Read();
                    daemon.Stop();
                  }
                  return kept == 3 ? Dropped() : 100;
                },
                [] {}),
            2);
}

TEST(ClientC, NothingOfItIsInheritedByOtherPrograms) {
  Daemon daemon;
  EXPECT_EQ(RunBeside(daemon, kJob,
                      [] {
                        goodput_step(1);
                        return (fcntl(goodput_client_.fd, F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 1;
                      }),
            0);
}

}  // namespace
}  // namespace goodput
