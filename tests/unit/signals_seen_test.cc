// Signals from the kernel's bytes to a record: tracepoint, ring buffer, target and sender, storms.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "spank/event.h"
#include "sql/record.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/signal_name.h"
#include "tools/base/trace_permission.h"
#include "tools/goodputd/exec_watch.h"
#include "tools/goodputd/heartbeat.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/processes.h"
#include "tools/goodputd/signals/signal_finder.h"
#include "tools/goodputd/signals/signal_recorder.h"
#include "tools/goodputd/signals/signal_trace.h"
#include "tools/goodputd/signals/tracepoint.h"

namespace goodput {
namespace {

constexpr std::int64_t kS = 1'000'000'000;

constexpr const char* kFormat = R"(name: signal_generate
ID: 261
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int sig;	offset:8;	size:4;	signed:1;
	field:int errno;	offset:12;	size:4;	signed:1;
	field:int code;	offset:16;	size:4;	signed:1;
	field:char comm[16];	offset:20;	size:16;	signed:0;
	field:pid_t pid;	offset:36;	size:4;	signed:1;
	field:int group;	offset:40;	size:4;	signed:1;
	field:int result;	offset:44;	size:4;	signed:1;

print fmt: "sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d", REC->sig, REC->errno
)";

SignalTracepoint Tracepoint() {
  return *ParseSignalTracepoint("261\n", kFormat);
}

TEST(SignalName, ReadsWhatItWrites) {
  for (int signo = 1; signo <= 64; ++signo) EXPECT_EQ(ParseSignal(SignalName(signo)), signo);
  EXPECT_EQ(SignalName(SIGUSR1), "USR1");
  EXPECT_EQ(ParseSignal("SIGTERM"), SIGTERM);
  EXPECT_EQ(ParseSignal("0"), std::nullopt);
  EXPECT_EQ(ParseSignal("65"), std::nullopt);
  EXPECT_EQ(ParseSignal("SIG"), std::nullopt);
}

TEST(Tracepoint, FieldsAreFoundWhereTheFormatSays) {
  const SignalTracepoint tracepoint = Tracepoint();
  EXPECT_EQ(tracepoint.id, 261U);
  EXPECT_EQ(tracepoint.sig, 8U);
  EXPECT_EQ(tracepoint.comm, 20U);
  EXPECT_EQ(tracepoint.pid, 36U);
  EXPECT_EQ(tracepoint.result, 44U);
  EXPECT_EQ(tracepoint.size, 48U);
}

TEST(Tracepoint, AFormatThatIsAnotherIsRefused) {
  const std::string format = kFormat;
  const auto without = [&](const std::string& what, const std::string& with) {
    std::string changed = format;
    changed.replace(changed.find(what), what.size(), with);
    return changed;
  };
  EXPECT_FALSE(ParseSignalTracepoint("", format).ok());
  EXPECT_FALSE(ParseSignalTracepoint("261", "").ok());
  EXPECT_FALSE(ParseSignalTracepoint("261", without("pid_t pid;", "pid_t id;")).ok());
  EXPECT_FALSE(ParseSignalTracepoint("261", without("offset:36;\tsize:4;", "offset:36;\tsize:8;")).ok());
  EXPECT_FALSE(ParseSignalTracepoint("261", without("offset:36;", "offset:99999999;")).ok());
}

// The kernel's side of a ring buffer.
class Ring {
 public:
  static constexpr std::size_t kPage = 4096;
  explicit Ring(std::size_t data = 4096) : memory_(kPage + data), data_size_(data) {}
  PerfRing Reader() { return {memory_.data(), kPage, data_size_}; }
  perf_event_mmap_page* Control() { return reinterpret_cast<perf_event_mmap_page*>(memory_.data()); }
  void Put(const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      memory_[kPage + (Control()->data_head &
                       (data_size_ - 1))] =  // NOLINT(clang-analyzer-core.uninitialized.Assign)
          static_cast<const unsigned char*>(bytes)[i];
      ++Control()->data_head;
    }
  }
  void Sample(std::int64_t time, int sender, int target, int signo, const char* comm,
              std::uint32_t raw_size = 52) {
    struct __attribute__((packed)) {
      perf_event_header header{PERF_RECORD_SAMPLE, 0, sizeof(*this)};
      std::int32_t pid = 0, tid = 0;
      std::int64_t time = 0;
      std::uint32_t raw_size = 0;
      std::int32_t raw[13] = {};
    } sample;
    sample.pid = sender;
    sample.time = time;
    sample.raw_size = raw_size;
    sample.raw[2] = signo;
    std::memcpy(&sample.raw[5], comm, std::min<std::size_t>(16, std::strlen(comm)));
    sample.raw[9] = target;
    Put(&sample, sizeof(sample));
  }
  void Exec(std::int64_t time, int process, std::uint16_t id) {
    struct __attribute__((packed)) {
      perf_event_header header{PERF_RECORD_SAMPLE, 0, sizeof(*this)};
      std::int32_t pid = 0, tid = 0;
      std::int64_t time = 0;
      std::uint32_t raw_size = 20;
      std::uint16_t id = 0, more[9] = {};
    } sample;
    sample.pid = sample.tid = process;
    sample.time = time;
    sample.id = id;
    Put(&sample, sizeof(sample));
  }
  void Lost(std::uint64_t count) {
    struct {
      perf_event_header header{PERF_RECORD_LOST, 0, 24};
      std::uint64_t id = 0, count = 0;
    } lost;
    lost.count = count;
    Put(&lost, sizeof(lost));
  }

 private:
  std::vector<unsigned char> memory_;
  std::size_t data_size_;
};

TEST(PerfRing, SamplesComeOutAsTheyWentInManyTimesRound) {
  Ring ring;
  PerfRing reader = ring.Reader();
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  for (int i = 0; i < 1000; ++i) {
    ring.Sample(i, 100 + i, 200 + i, SIGUSR1, i % 2 == 0 ? "python3" : "a name of 16 byt");
    EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 0U);
  }
  ASSERT_EQ(samples.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    const SignalSample& sample = samples[static_cast<std::size_t>(i)];
    EXPECT_EQ(sample.mono_ns, i);
    EXPECT_EQ(sample.sender, 100 + i);
    EXPECT_EQ(sample.target_thread, 200 + i);
    EXPECT_EQ(sample.signo, SIGUSR1);
    EXPECT_EQ(sample.comm, i % 2 == 0 ? "python3" : "a name of 16 byt");
  }
}

TEST(PerfRing, AProgramThatIsExecutedIsNoSignal) {
  Ring ring;
  PerfRing reader = ring.Reader();
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  Tracepoints tracepoints{Tracepoint()};
  tracepoints.exec_id = 300;
  ring.Sample(1, 1, 2, SIGTERM, "a");
  ring.Exec(2, 77, 300);
  ring.Sample(3, 1, 2, SIGTERM, "a");
  EXPECT_EQ(reader.Drain(tracepoints, samples, execs), 0U);
  EXPECT_EQ(samples.size(), 2U);
  ASSERT_EQ(execs.size(), 1U);
  EXPECT_EQ(execs[0].process, 77);
  EXPECT_EQ(execs[0].mono_ns, 2);
}

TEST(PerfRing, WhatTheKernelDroppedIsCounted) {
  Ring ring;
  PerfRing reader = ring.Reader();
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  ring.Sample(1, 1, 2, SIGTERM, "a");
  ring.Lost(17);
  ring.Sample(2, 1, 2, SIGTERM, "a");
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 17U);
  EXPECT_EQ(samples.size(), 2U);
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 0U) << "once";
}

TEST(PerfRing, ADamagedRingIsNotReadForEver) {
  Ring ring;
  PerfRing reader = ring.Reader();
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  const perf_event_header nothing{PERF_RECORD_SAMPLE, 0, 0};
  ring.Put(&nothing, sizeof(nothing));
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 1U);
  const perf_event_header beyond{PERF_RECORD_SAMPLE, 0, 60000};
  ring.Put(&beyond, sizeof(beyond));
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 1U);
  ring.Sample(3, 1, 2, SIGTERM, "short", 8);
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 1U) << "a sample that lacks fields";
  ring.Sample(4, 1, 2, SIGTERM, "whole");
  EXPECT_EQ(reader.Drain({Tracepoint()}, samples, execs), 0U);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].comm, "whole");
}

TEST(CpuList, IsWhatTheKernelWrites) {
  EXPECT_EQ(ParseCpuList("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("0"), (std::vector<int>{0}));
  EXPECT_EQ(ParseCpuList(""), std::vector<int>{});
  EXPECT_EQ(ParseCpuList("x,2-y,5"), (std::vector<int>{5}));
  EXPECT_LE(ParseCpuList("0-999999999").size(), 20000U);
}

// --- the real kernel

// The trace covers the whole machine: these signals are not sent by others, and differ between copies of this
// test.
const int kMine = SIGRTMIN + 1 + 2 * (getpid() % 14);
const int kAlso = kMine + 1;

// A child that sends itself a signal `times` times, on the given CPU or any.
void SignalMyself(int signo, int times, int cpu = -1) {
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(std::max(0, cpu)), &cpus);
    if (cpu >= 0) sched_setaffinity(0, sizeof(cpus), &cpus);
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(signo, &action, nullptr);
    for (int i = 0; i < times; ++i) kill(getpid(), signo);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

std::size_t CountOf(const std::vector<SignalSample>& samples, int signo) {
  std::size_t count = 0;
  for (const SignalSample& sample : samples) {
    if (sample.signo == signo && sample.sender == sample.target_thread) ++count;
  }
  return count;
}

class SignalTraceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(SignalTraceTest, SeesEverySignalOfThoseItWatchesAndNoOther) {
  SignalTrace trace({{kMine}, std::size_t{1} << 20U, {}});
  ASSERT_TRUE(trace.Open().ok());
  SignalMyself(kMine, 100);
  SignalMyself(kAlso, 100);
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  trace.Drain(samples, execs);
  EXPECT_EQ(CountOf(samples, kMine), 100U);
  EXPECT_EQ(CountOf(samples, kAlso), 0U);
  ASSERT_TRUE(trace.WatchAlso({kAlso}).ok());
  SignalMyself(kAlso, 10);
  samples.clear();
  trace.Drain(samples, execs);
  EXPECT_EQ(CountOf(samples, kAlso), 10U);
  SignalMyself(kMine, 10);
  trace.Drain(samples, execs);
  EXPECT_EQ(CountOf(samples, kMine), 10U) << "once each";
  EXPECT_EQ(trace.lost(), 0U);
}

TEST_F(SignalTraceTest, SeesWhenAProcessExecutesAProgram) {
  SignalTrace trace({{kMine}, std::size_t{1} << 20U, {}});
  ASSERT_TRUE(trace.Open().ok());
  ASSERT_TRUE(trace.watches_execs());
  const std::int64_t before = kSystemClock.mono_ns();
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  trace.Drain(samples, execs);
  const auto own = std::find_if(execs.begin(), execs.end(),
                                [&](const ExecSample& sample) { return sample.process == child; });
  ASSERT_NE(own, execs.end());
  EXPECT_GE(own->mono_ns, before);
  EXPECT_LE(own->mono_ns, kSystemClock.mono_ns());
}

TEST_F(SignalTraceTest, AFullRingCountsWhatItLost) {
  SignalTrace trace({{kMine}, 0, {}, true, false});  // the smallest rings, only for signals
  ASSERT_TRUE(trace.Open().ok());
  constexpr int kTimes = 20000;
  // The CPU matters: a ring reports its losses at the next write to it.
  const int cpu = sched_getcpu();
  SignalMyself(kMine, kTimes, cpu);
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  trace.Drain(samples, execs);
  // The kernel reports losses when there is room again.
  SignalMyself(kMine, 50, cpu);
  for (int i = 0; i < 20; ++i) {
    SignalMyself(kMine, 1, cpu);
    trace.Drain(samples, execs);
  }
  EXPECT_GT(trace.lost(), 0U);
  EXPECT_EQ(CountOf(samples, kMine) + trace.lost(), static_cast<std::size_t>(kTimes + 70));
}

TEST_F(SignalTraceTest, CpusComeAndGo) {
  const std::vector<int> all = ParseCpuList([] {
    std::ifstream in("/sys/devices/system/cpu/online");
    std::string text;
    std::getline(in, text);
    return text;
  }());
  std::vector<int> online{all.front()};
  SignalTrace trace({{kMine}, std::size_t{1} << 20U, [&] { return online; }});
  ASSERT_TRUE(trace.Open().ok());
  EXPECT_EQ(trace.cpus(), 1);
  online = all;
  ASSERT_TRUE(trace.RefreshCpus().ok());
  EXPECT_EQ(trace.cpus(), static_cast<int>(all.size()));
  SignalMyself(kMine, 100);
  // The CPU disappears before its ring is read.
  online = {all.back()};
  ASSERT_TRUE(trace.RefreshCpus().ok());
  EXPECT_EQ(trace.cpus(), 1);
  std::vector<SignalSample> samples;
  std::vector<ExecSample> execs;
  trace.Drain(samples, execs);
  EXPECT_EQ(CountOf(samples, kMine), 100U);
  // A missing CPU is an error that names it; the others are still traced.
  online = {all.back(), 9999};
  const absl::Status status = trace.RefreshCpus();
  EXPECT_NE(std::string(status.message()).find("CPU 9999"), std::string::npos) << status;
  EXPECT_EQ(trace.cpus(), 1);
}

// --- explanations if the kernel refuses

TEST(TracePermission, TheSysctlIsReadAsTheKernelWritesIt) {
  TempFolder folder;
  const std::string path = folder.path() + "/perf_event_paranoid";
  EXPECT_FALSE(ReadParanoid(path));
  std::ofstream(path) << "3\n";
  EXPECT_EQ(ReadParanoid(path), 3);
  std::ofstream(path) << "-1\n";
  EXPECT_EQ(ReadParanoid(path), -1);
}

TEST(TracePermission, ARefusalNamesTheSysctlItsValueAndWhatIsMissing) {
  const auto why = [](std::optional<int> paranoid, bool perfmon, bool sys_admin) {
    return ExplainTraceRefusal({paranoid, perfmon, sys_admin}).why;
  };
  const auto mend = [](std::optional<int> paranoid, bool perfmon, bool sys_admin) {
    return ExplainTraceRefusal({paranoid, perfmon, sys_admin}).mend;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  // The defaults of Debian and Ubuntu.
  for (const int paranoid : {3, 4}) {
    const std::string sysctl =
        Cat("kernel.perf_event_paranoid is ", paranoid, ", which requires CAP_SYS_ADMIN");
    EXPECT_TRUE(has(why(paranoid, true, false), sysctl)) << why(paranoid, true, false);
    EXPECT_TRUE(has(why(paranoid, true, false), "goodputd has only CAP_PERFMON"))
        << why(paranoid, true, false);
    EXPECT_TRUE(has(mend(paranoid, true, false), "or sysctl -w kernel.perf_event_paranoid=2"))
        << mend(paranoid, true, false);
  }
  EXPECT_TRUE(has(why(3, false, false), "neither that nor CAP_PERFMON")) << why(3, false, false);
  EXPECT_TRUE(has(mend(3, false, false), "or CAP_PERFMON and sysctl -w")) << mend(3, false, false);
  // CAP_PERFMON would be enough.
  EXPECT_EQ(why(2, false, false),
            "goodputd has neither CAP_PERFMON nor CAP_SYS_ADMIN, and kernel.perf_event_paranoid is 2");
  EXPECT_TRUE(has(mend(2, false, false), "give goodputd CAP_PERFMON")) << mend(2, false, false);
  // With everything that the kernel requires, there is another cause.
  EXPECT_TRUE(has(why(3, true, true), "kernel.perf_event_paranoid is 3: something else"))
      << why(3, true, true);
  EXPECT_TRUE(has(mend(3, true, true), "SELinux")) << mend(3, true, true);
  EXPECT_TRUE(has(mend(3, true, true), "seccomp")) << mend(3, true, true);
  EXPECT_TRUE(has(why(2, true, false), "goodputd has CAP_PERFMON and kernel.perf_event_paranoid is 2"))
      << why(2, true, false);
  EXPECT_TRUE(has(mend(2, true, false), "restart goodputd if the sysctl was changed"))
      << mend(2, true, false);
  EXPECT_TRUE(has(why(std::nullopt, true, false), "kernel.perf_event_paranoid cannot be read"))
      << why(std::nullopt, true, false);
  EXPECT_FALSE(has(why(std::nullopt, true, false), "asks for")) << why(std::nullopt, true, false);
}

TEST(TracePermission, AThreadDoesWithoutSysAdminAndOthersKeepIt) {
  const bool had = ReadTracePermission().sys_admin;
  std::thread([] {
    DoWithoutSysAdmin();
    EXPECT_FALSE(ReadTracePermission().sys_admin);
    std::thread([] { EXPECT_FALSE(ReadTracePermission().sys_admin) << "those it starts neither"; }).join();
  }).join();
  EXPECT_EQ(ReadTracePermission().sys_admin, had);
}

// --- target and sender

class FakeProcesses : public Processes {
 public:
  std::string Program(pid_t process) const override {
    if (slurmstepds.count(process) != 0) return "slurmstepd-wlm (deleted)";
    return exiting.count(process) != 0 || status.count(process) == 0 ? "" : "python3.11";
  }
  std::set<pid_t> slurmstepds;
  std::set<pid_t> exiting;
  std::optional<ProcessStatus> Status(pid_t thread) const override {
    const auto found = status.find(thread);
    return found == status.end() ? std::nullopt : std::optional(found->second);
  }
  std::string Cgroups(pid_t process) const override {
    const auto found = cgroups.find(process);
    return found == cgroups.end() ? "" : found->second;
  }
  std::optional<std::int64_t> BeganNs(pid_t process) const override {
    const auto found = began.find(process);
    return found == began.end() ? std::nullopt : std::optional(found->second);
  }
  void Add(pid_t pid, pid_t parent, std::uint64_t caught = 0, std::uint64_t ignored = 0) {
    ProcessStatus& made = status[pid];
    made.process = pid;
    made.parent = parent;
    made.caught = caught;
    made.ignored = ignored;
  }
  std::map<pid_t, ProcessStatus> status;
  std::map<pid_t, std::string> cgroups;
  std::map<pid_t, std::int64_t> began;
};

constexpr std::uint64_t Bit(int signo) {
  return std::uint64_t{1} << static_cast<unsigned>(signo - 1);
}

std::int64_t now_ns = 0;
constexpr Clock kFakeClock = {[]() noexcept { return 1'000'000 * kS + now_ns; },
                              []() noexcept { return now_ns; }};

// Job 7 on node n1: stepd 100 of step 0 with tasks 110 (rank 0) and 111 (rank 1); stepd 101 of the batch step
// with 120.
class Whose : public testing::Test {
 protected:
  Whose() {
    now_ns = 100 * kS;
    Write(kind::kJobProlog, 10 * kS, 99, "", {});
    Write(kind::kStepStart, 10 * kS, 101, "batch", {});
    Write(kind::kTaskStart, 10 * kS, 101, "batch", {{key::kTask, 0}, {key::kPid, 120}});
    Write(kind::kStepStart, 11 * kS, 100, "0", {});
    Write(kind::kTaskStart, 12 * kS, 100, "0", {{key::kTask, 0}, {key::kPid, 110}});
    Write(kind::kTaskStart, 12 * kS, 100, "0", {{key::kTask, 1}, {key::kPid, 111}});
    processes_.Add(100, 1);
    processes_.Add(101, 1);
    processes_.Add(110, 100, Bit(SIGUSR1));
    processes_.Add(111, 100, Bit(SIGUSR1));
    processes_.Add(115, 110);  // a helper of rank 0
    processes_.Add(116, 115);  // and its own
    processes_.Add(120, 101);
    processes_.Add(500, 1);  // a daemon outside
    processes_.Add(501, 500);
    jobs_.Refresh();
  }
  void Write(std::string_view kind, std::int64_t mono, int stepd, const char* step,
             const std::vector<std::pair<std::string_view, std::int64_t>>& more, std::int64_t job = 7) {
    std::filesystem::create_directories(folder_.path() + "/n1");
    RecordBuilder record(kind, {1'000'000 * kS + mono, mono, "n1", stepd});
    record.Text(key::kCluster, "c");
    record.Int(key::kJob, job);
    record.Int(key::kUid, 1000);
    if (*step != '\0') record.Text(key::kSlurmStep, step);
    for (const auto& [name, value] : more) record.Int(name, value);
    std::ofstream(folder_.path() + "/n1/boot.2026010100Z.jsonl", std::ios::app) << record.Finish();
  }
  std::optional<JobSignal> Find(pid_t sender, pid_t target, int signo, int code = SI_USER, int result = 0,
                                std::int64_t at = 20 * kS) {
    SignalSample sample;
    sample.mono_ns = at;
    sample.sender = sender;
    sample.target_thread = target;
    sample.signo = signo;
    sample.code = code;
    sample.result = result;
    finder_.BeginBatch();
    return finder_.Find(sample);
  }
  TempFolder folder_;
  FakeProcesses processes_;
  NodeJobs jobs_{folder_.path(), kFakeClock, "boot"};
  SignalFinder finder_{jobs_, processes_};
};

TEST_F(Whose, ATaskThatIsSetUpForAWhileIsSeenToExecuteItsProgram) {
  std::vector<std::string> records;
  ExecWatch watch(processes_, kFakeClock, [&](const NodeJob& job, std::string_view record) {
    EXPECT_EQ(job.node, "n1");
    records.emplace_back(record);
    return true;
  });
  processes_.slurmstepds = {110};
  EXPECT_EQ(watch.Look(jobs_), 1);
  now_ns = 108 * kS;
  EXPECT_EQ(watch.Look(jobs_), 1);
  EXPECT_TRUE(records.empty()) << "the others had executed theirs before anybody looked";
  processes_.slurmstepds.clear();
  now_ns = 110 * kS;
  EXPECT_EQ(watch.Look(jobs_), 0);
  ASSERT_EQ(records.size(), 1U);
  RecordReader record;
  ASSERT_TRUE(record.Parse(records[0]));
  EXPECT_EQ(record.Text(key::kKind), kind::kTaskExec);
  EXPECT_EQ(record.Int(key::kMonotonic), 109 * kS) << "between the looks";
  EXPECT_EQ(record.Int(key::kPid), 110);
  EXPECT_EQ(record.Int(key::kTask), 0);
  EXPECT_EQ(record.Text(key::kSlurmStep), "0");
  processes_.slurmstepds = {110};
  EXPECT_EQ(watch.Look(jobs_), 0) << "what has executed a program stays one";
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Whose, ATaskThatNeverExecutesItsProgramWasSetUpUntilItsEnd) {
  std::vector<std::pair<std::int64_t, std::int64_t>> records;
  ExecWatch watch(processes_, kFakeClock, [&](const NodeJob&, std::string_view text) {
    RecordReader record;
    EXPECT_TRUE(record.Parse(text));
    EXPECT_EQ(record.Text(key::kKind), kind::kTaskExec);
    records.emplace_back(record.Int(key::kPid).value_or(0), record.Int(key::kMonotonic).value_or(0));
    return true;
  });
  processes_.slurmstepds = {110, 111};
  watch.LookForEnded(jobs_);
  watch.Executed(jobs_, {{15 * kS, 111}});
  records.clear();
  processes_.slurmstepds.clear();
  processes_.exiting = {110};  // slurmstepd has not reaped it yet
  watch.LookForEnded(jobs_);
  processes_.status.erase(110);
  watch.LookForEnded(jobs_);
  EXPECT_TRUE(records.empty()) << "when it exited is not known yet";
  for (const pid_t pid : {110, 111})
    Write(kind::kTaskExit, 20 * kS, 10, "0", {{key::kTask, pid - 110}, {key::kPid, pid}});
  jobs_.Refresh();
  watch.LookForEnded(jobs_);
  using Records = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(records, (Records{{110, 20 * kS - kS / 10'000}})) << "111 had executed its program";
  watch.LookForEnded(jobs_);
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(Whose, ATaskThatWasKilledWhileItWasSetUpHasNotExecutedAProgram) {
  std::vector<std::int64_t> at;
  ExecWatch watch(processes_, kFakeClock, [&](const NodeJob&, std::string_view text) {
    RecordReader record;
    EXPECT_TRUE(record.Parse(text));
    at.push_back(record.Int(key::kMonotonic).value_or(0));
    return true;
  });
  processes_.slurmstepds = {110};
  EXPECT_EQ(watch.Look(jobs_), 1);
  now_ns = 110 * kS;
  processes_.slurmstepds.clear();
  processes_.exiting = {110};
  EXPECT_EQ(watch.Look(jobs_), 1);
  EXPECT_TRUE(at.empty()) << "it exits, but when is not known yet";
  Write(kind::kTaskExit, 109 * kS, 10, "0", {{key::kTask, 0}, {key::kPid, 110}});
  jobs_.Refresh();
  EXPECT_EQ(watch.Look(jobs_), 0);
  EXPECT_EQ(at, std::vector<std::int64_t>{109 * kS - kS / 10'000});
}

TEST_F(Whose, TheKernelTellsWhenATaskExecutesItsProgram) {
  std::vector<std::int64_t> at;
  ExecWatch watch(processes_, kFakeClock, [&](const NodeJob&, std::string_view text) {
    RecordReader record;
    EXPECT_TRUE(record.Parse(text));
    EXPECT_EQ(record.Text(key::kKind), kind::kTaskExec);
    EXPECT_EQ(record.Int(key::kPid), 110);
    at.push_back(record.Int(key::kMonotonic).value_or(0));
    return true;
  });
  const std::int64_t ms = kS / 1000;
  // 116 is a helper, and what 110 executed before it became this task does not count.
  watch.Executed(jobs_, {{13 * kS, 116}, {11 * kS, 110}});
  EXPECT_TRUE(at.empty());
  watch.Executed(jobs_, {{12 * kS + 700 * ms, 110}, {12 * kS + 3 * ms, 111}, {14 * kS, 110}});
  EXPECT_EQ(at, (std::vector<std::int64_t>{12 * kS + 700 * ms}))
      << "111 was the program at once, which says nothing";
  watch.Executed(jobs_, {{15 * kS, 110}, {15 * kS, 111}});
  EXPECT_EQ(at.size(), 1U) << "a program that executes another goes on";
}

TEST_F(Whose, SlurmstepdSignalsATask) {
  const auto signal = Find(100, 111, SIGUSR1);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->step.job->job, 7);
  EXPECT_EQ(signal->step.job->cluster, "c");
  EXPECT_EQ(signal->step.slurm_step, "0");
  EXPECT_EQ(signal->task, 1);
  EXPECT_TRUE(signal->is_task);
  EXPECT_EQ(signal->sender, SignalSender::kSlurmstepd);
  EXPECT_EQ(signal->sender_pid, 100);
  EXPECT_EQ(signal->handled, true);
  EXPECT_FALSE(Find(100, 110, SIGTERM)->handled.value());
}

TEST_F(Whose, ATargetThatIsGoneIsKnownByItsSenderOrItsId) {
  processes_.status.erase(110);
  const auto task = Find(100, 110, SIGKILL);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task, 0);
  EXPECT_EQ(task->handled, std::nullopt);
  const auto helper = Find(100, 7777, SIGKILL);
  ASSERT_TRUE(helper);
  EXPECT_EQ(helper->step.slurm_step, "0");
  EXPECT_EQ(helper->task, std::nullopt);
  EXPECT_FALSE(helper->is_task);
}

TEST_F(Whose, AHelperIsItsTasks) {
  const auto signal = Find(100, 116, SIGUSR1);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->task, 0);
  EXPECT_FALSE(signal->is_task);
  EXPECT_FALSE(signal->handled.value());
  // A process that has ended by the second signal is remembered.
  processes_.status.erase(116);
  EXPECT_EQ(Find(500, 116, SIGTERM)->task, 0);
  EXPECT_FALSE(Find(500, 116, SIGTERM, SI_USER, 0, 200 * kS)) << "but not for ever: ids come round";
}

TEST_F(Whose, AnOrphanIsFoundByItsCgroup) {
  processes_.Add(130, 1);
  EXPECT_FALSE(Find(501, 130, SIGTERM));
  processes_.cgroups[130] = "4:memory:/slurm_n1/uid_1000/job_7/step_0/task_1\n1:cpu:/\n";
  const auto signal = Find(501, 130, SIGTERM);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->step.slurm_step, "0");
  processes_.cgroups[130] = "4:memory:/slurm_n2/uid_1000/job_7/step_0/task_1\n";
  EXPECT_FALSE(Find(501, 130, SIGTERM)) << "another node of the same host";
  processes_.cgroups[130] = "4:memory:/slurm_n1/uid_1000/job_8/step_0/task_1\n";
  EXPECT_FALSE(Find(501, 130, SIGTERM)) << "a job we do not record";
}

TEST_F(Whose, ProcessesOutsideJobsAreNobodys) {
  EXPECT_FALSE(Find(500, 501, SIGTERM));
  EXPECT_FALSE(Find(110, 501, SIGTERM)) << "a job may signal what it likes";
  EXPECT_FALSE(Find(500, 100, SIGTERM)) << "slurmstepd is not the job";
}

TEST_F(Whose, SendersAreNamedWhereTheyAre) {
  EXPECT_EQ(Find(110, 110, SIGUSR1)->sender, SignalSender::kSelf);
  EXPECT_EQ(Find(115, 110, SIGUSR1)->sender, SignalSender::kJob);
  EXPECT_EQ(Find(120, 110, SIGUSR1)->sender, SignalSender::kJob) << "the batch script";
  const auto outside = Find(501, 110, SIGUSR1);
  EXPECT_EQ(outside->sender, SignalSender::kOutside);
  EXPECT_EQ(outside->sender_pid, 0) << "nothing is kept of it";
  const auto kernel = Find(110, 111, SIGKILL, SI_KERNEL);
  EXPECT_EQ(kernel->sender, SignalSender::kKernel);
  EXPECT_EQ(kernel->sender_pid, 0) << "whoever ran then did not send it";
  EXPECT_EQ(Find(110, 111, SIGUSR1, SI_TIMER)->sender, SignalSender::kUnknown);
}

TEST_F(Whose, AnotherJobOfTheNodeIsOutside) {
  Write(kind::kStepStart, 12 * kS, 200, "0", {}, 8);
  Write(kind::kTaskStart, 12 * kS, 200, "0", {{key::kTask, 0}, {key::kPid, 210}}, 8);
  processes_.Add(200, 1);
  processes_.Add(210, 200);
  jobs_.Refresh();
  const auto signal = Find(210, 110, SIGUSR1);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->sender, SignalSender::kOutside);
  EXPECT_EQ(signal->sender_pid, 0);
}

TEST_F(Whose, ASignalThatAProgramWaitsForIsHandled) {
  EXPECT_EQ(Find(100, 110, SIGTERM)->handled, false);
  processes_.status[110].blocked = Bit(SIGTERM);  // for sigwait or a signalfd
  EXPECT_EQ(Find(100, 110, SIGTERM)->handled, true);
  processes_.status[110].zombie = true;
  EXPECT_EQ(Find(100, 110, SIGTERM)->handled, std::nullopt) << "it can no longer be known";
}

TEST_F(Whose, IgnoredIsSaidOfWhoIgnoresNotOfWhoIsGone) {
  processes_.Add(115, 110, 0, Bit(SIGUSR1));
  const auto signal = Find(100, 115, SIGUSR1, SI_USER, 1);
  ASSERT_TRUE(signal);
  EXPECT_TRUE(signal->ignored);
  EXPECT_FALSE(Find(100, 110, SIGKILL, SI_USER, 1)) << "it was being killed already";
}

TEST_F(Whose, AnIdThatCameRoundIsAnotherProcess) {
  Write(kind::kTaskExit, 30 * kS, 100, "0", {{key::kTask, 0}, {key::kPid, 110}});
  Write(kind::kStepEnd, 31 * kS, 100, "0", {});
  jobs_.Refresh();
  EXPECT_TRUE(Find(100, 110, SIGUSR1, SI_USER, 0, 29 * kS)) << "a sample that was read late";
  processes_.Add(110, 500);
  EXPECT_FALSE(Find(501, 110, SIGUSR1, SI_USER, 0, 40 * kS));
  EXPECT_FALSE(Find(100, 501, SIGUSR1, SI_USER, 0, 40 * kS)) << "nor is 100 a slurmstepd any more";
  EXPECT_FALSE(Find(100, 501, SIGUSR1, SI_USER, 0, 1 * kS)) << "nor was it before";
}

TEST_F(Whose, WhatIsReadLateIsOfTheStepThatTrainedThen) {
  const auto exits = [&](std::int64_t t, int stepd, const char* step, std::int64_t task, std::int64_t pid) {
    Write(kind::kTaskExit, t, stepd, step, {{key::kTask, task}, {key::kPid, pid}});
  };
  exits(30 * kS, 100, "0", 0, 110);
  exits(31 * kS, 100, "0", 1, 111);
  Write(kind::kStepStart, 32 * kS, 102, "1", {});
  Write(kind::kTaskStart, 33 * kS, 102, "1", {{key::kTask, 0}, {key::kPid, 130}});
  exits(60 * kS, 102, "1", 0, 130);
  jobs_.Refresh();
  const NodeJob job = *jobs_.TaskOf(120, 20 * kS)->step.job;
  const auto step_at = [&](std::int64_t t) { return jobs_.TrainingStepAt(job, t).slurm_step; };
  EXPECT_EQ(step_at(11 * kS), "batch") << "no srun had begun";
  EXPECT_EQ(step_at(30 * kS), "0");
  EXPECT_EQ(step_at(32 * kS), "0") << "its last lines are read after its end";
  EXPECT_EQ(step_at(40 * kS), "1");
  EXPECT_EQ(step_at(61 * kS), "1");
  EXPECT_EQ(step_at(70 * kS), "batch") << "the script trains on without srun";
  EXPECT_EQ(jobs_.TrainingStepAt(job, 20 * kS).begin_mono_ns, 12 * kS);
  EXPECT_EQ(jobs_.TrainingStepAt(job, 20 * kS).end_mono_ns, 31 * kS);
  EXPECT_EQ(jobs_.TrainingStepOf(job).slurm_step, "1");
}

TEST_F(Whose, ARecordOfAnotherBootIsNobodys) {
  NodeJobs later(folder_.path(), kFakeClock, "boot2");
  later.Refresh();
  EXPECT_FALSE(later.TaskOf(110, 20 * kS));
}

constexpr Clock kClockOfAnotherBoot = {[]() noexcept { return 1'000'700 * kS + now_ns; },
                                       []() noexcept { return now_ns; }};

TEST_F(Whose, WithoutABootIdTheClockSaysWhichRecordsAreOfThisBoot) {
  EXPECT_EQ(BootId(folder_.path() + "/no-such-file"), kUnknownBoot);
  NodeJobs same(folder_.path(), kFakeClock, std::string(kUnknownBoot));
  same.Refresh();
  EXPECT_TRUE(same.TaskOf(110, 20 * kS)) << "the plugin knew the boot";
  NodeJobs later(folder_.path(), kClockOfAnotherBoot, std::string(kUnknownBoot));
  later.Refresh();
  EXPECT_FALSE(later.TaskOf(110, 20 * kS));
}

TEST_F(Whose, TheEpilogEndsWhatWasNotToldToEnd) {
  Write(kind::kJobEpilog, 50 * kS, 98, "", {});
  jobs_.Refresh();
  EXPECT_TRUE(jobs_.TasksNotExited().empty());
  EXPECT_FALSE(jobs_.TaskOf(110, 60 * kS));
}

// --- storms

class Storm : public Whose {
 protected:
  void Send(std::int64_t at, pid_t target = 110) {
    SignalSample sample;
    now_ns = at;
    auto signal = *Find(100, target, SIGUSR1, SI_USER, 0, at);
    recorder_.Take(signal);
  }
  std::vector<std::string> stored_;
  SignalRecorder recorder_{[this](const NodeJob& job, std::string_view record) {
                             EXPECT_EQ(job.node, "n1");
                             if (full_) return false;
                             stored_.emplace_back(record);
                             return true;
                           },
                           kFakeClock};
  bool full_ = false;
};

TEST_F(Storm, EachSignalIsARecordWhileTheyAreFew) {
  for (int i = 0; i < 5; ++i) Send(20 * kS + i * INT64_C(10'000'000));
  recorder_.Flush(true);
  EXPECT_EQ(stored_.size(), 5U);
  EXPECT_NE(stored_[3].find("\"m\":20030000000,"), std::string::npos) << stored_[3];
  EXPECT_NE(stored_[3].find("\"t\":1000020030000000,"), std::string::npos)
      << "a million seconds later by the clock";
  EXPECT_EQ(stored_[3].find("count"), std::string::npos);
}

TEST_F(Storm, TheRestOfASecondIsOneRecordThatCounts) {
  for (int i = 0; i < 30000; ++i) Send(20 * kS + i * INT64_C(100000));  // 10,000 a second for 3 s
  recorder_.Flush(false);
  EXPECT_EQ(stored_.size(), 3U * SignalRecorder::kOwnRecords + 2) << "the last second may go on";
  recorder_.Flush(true);
  EXPECT_EQ(stored_.size(), 3U * SignalRecorder::kOwnRecords + 3);
  EXPECT_NE(stored_.back().find("\"count\":9990,\"last_m\":22999900000"), std::string::npos)
      << stored_.back();
  EXPECT_EQ(recorder_.seen(), 30000U);
  EXPECT_EQ(recorder_.stored(), 30000U);
}

TEST_F(Storm, TargetsDoNotShareASecond) {
  for (int i = 0; i < SignalRecorder::kOwnRecords; ++i) {
    Send(20 * kS + i, 110);
    Send(20 * kS + i, 111);
  }
  EXPECT_EQ(stored_.size(), 2U * SignalRecorder::kOwnRecords);
}

TEST_F(Storm, WhatIsNotStoredIsCounted) {
  full_ = true;
  for (int i = 0; i < 100; ++i) Send(20 * kS + i);
  recorder_.Flush(true);
  EXPECT_EQ(recorder_.stored(), 0U);
  EXPECT_EQ(recorder_.dropped(), 100U);
}

// --- heartbeat

TEST_F(Whose, AHeartbeatHasTheJobsATaskOfWhichLives) {
  EXPECT_TRUE(LiveJobs(jobs_, processes_, 0)["n1"].empty());
  processes_.began[111] = 12 * kS;
  auto live = LiveJobs(jobs_, processes_, 0);
  ASSERT_EQ(live["n1"].size(), 1U);
  EXPECT_EQ(
      HeartbeatText("n1", live["n1"], "boot", 5, 6),
      "{\"v\":1,\"t\":5,\"m\":6,\"node\":\"n1\",\"boot\":\"boot\",\"jobs\":[{\"cluster\":\"c\",\"job\":7,"
      "\"since\":1000010000000000}]}\n");
  processes_.began[110] = 12 * kS;
  EXPECT_EQ(LiveJobs(jobs_, processes_, 0)["n1"].size(), 1U) << "a job once";
  processes_.began[110] = processes_.began[111] = 90 * kS;
  EXPECT_TRUE(LiveJobs(jobs_, processes_, 0)["n1"].empty()) << "other processes have these ids now";
  EXPECT_EQ(LiveJobs(jobs_, processes_, 80 * kS)["n1"].size(), 1U) << "the machine slept for 80 s";
}

TEST(PidNamespace, IsTheKernelsOwnOrOneOfTheContainers) {
  TempFolder folder;
  const std::string link = folder.path() + "/pid";
  EXPECT_TRUE(HasKernelsPids(link)) << "nobody says otherwise";
  std::filesystem::create_symlink("pid:[4026531836]", link);
  EXPECT_TRUE(HasKernelsPids(link));
  std::filesystem::remove(link);
  std::filesystem::create_symlink("pid:[4026532479]", link);
  EXPECT_FALSE(HasKernelsPids(link));
}

TEST(PidNamespace, WhereIdsOfProcessesAreOthersNothingIsTraced) {
  SignalTrace::Options options;
  options.signals = {SIGUSR1};
  options.kernels_pids = false;
  SignalTrace trace(options);
  const absl::Status status = trace.Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(trace.cpus(), 0);
}

TEST(ProcessStatusText, IsReadAsProcWritesIt) {
  const auto status = ParseProcessStatus(
      "Name:\tpython3\nState:\tS (sleeping)\nTgid:\t42\nPid:\t43\nPPid:\t7\nSigBlk:\t0000000000000200\n"
      "SigIgn:\t0000000001001000\nSigCgt:\t0000000000004a02\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->process, 42);
  EXPECT_EQ(status->parent, 7);
  EXPECT_EQ(status->blocked, 0x200U);
  EXPECT_EQ(status->caught, 0x4a02U);
  EXPECT_EQ(status->ignored, 0x1001000U);
  EXPECT_FALSE(status->zombie);
  EXPECT_FALSE(ParseProcessStatus(""));
  EXPECT_FALSE(ParseProcessStatus("Tgid:\tx\n"));
  EXPECT_TRUE(ParseProcessStatus("State:\tZ (zombie)\nTgid:\t1\n")->zombie);
  const auto myself = RealProcesses().Status(getpid());
  ASSERT_TRUE(myself);
  EXPECT_EQ(myself->process, getpid());
  EXPECT_EQ(myself->parent, getppid());
  EXPECT_TRUE(RealProcesses().BeganNs(getpid()));
}

TEST(CgroupPath, NamesJobAndStepInBothVersions) {
  const auto one = ParseCgroupStep("9:freezer:/slurm_n1/uid_0/job_8/step_batch\n");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->job, 8);
  EXPECT_EQ(one->slurm_step, "batch");
  EXPECT_EQ(one->node, "n1");
  const auto two = ParseCgroupStep("0::/system.slice/slurmstepd.scope/job_12/step_3/user/task_0\n");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->job, 12);
  EXPECT_EQ(two->slurm_step, "3");
  EXPECT_EQ(two->node, "");
  const auto several =
      ParseCgroupStep("0::/system.slice/n2_slurmstepd.scope/job_12/step_extern/user/task_0\n");
  EXPECT_EQ(several->node, "n2");
  EXPECT_FALSE(ParseCgroupStep("0::/user.slice/session-1.scope\n"));
  EXPECT_FALSE(ParseCgroupStep("0::/job_x/step_1\n"));
  EXPECT_FALSE(ParseCgroupStep(""));
}

}  // namespace
}  // namespace goodput
