// Faulty hardware in the kernel's log: which lines tell of it, that a program's name cannot forge one, how
// much is recorded, and for which jobs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sql/text.h"
#include "tests/spank/temp_folder.h"
#include "tools/base/config.h"
#include "tools/goodputd/kernel/hardware_fold.h"
#include "tools/goodputd/kernel/hardware_recorder.h"
#include "tools/goodputd/kernel/kernel_line.h"
#include "tools/goodputd/kernel/kernel_log.h"
#include "tools/goodputd/kernel/kernel_loop.h"

namespace goodput {
namespace {

// "KIND DEVICE CODE: TEXT"; "-": it tells of nothing.
std::string Told(const std::string& text) {
  const std::optional<HardwareLine> line = ParseHardwareLine(text);
  if (!line) return "-";
  return Cat(line->kind, " ", line->device, line->code ? Cat(" ", *line->code) : "", ": ", line->text);
}

TEST(KernelLine, ARecordOfKmsg) {
  const auto record = ParseKernelRecord("3,1234,5000001,-,caller=T1;NVRM: a;b");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->facility, 0);
  EXPECT_EQ(record->seq, 1234U);
  EXPECT_EQ(record->clock_us, 5'000'001);
  EXPECT_EQ(record->text, "NVRM: a;b");
  EXPECT_EQ(ParseKernelRecord("12,1,1,-;x")->facility, 1) << "a process wrote it";
  for (const char* line :
       {"", " SUBSYSTEM=pci", "x", "3,1,1;x", "3,1,-1,-;x", "3,a,1,-;x", "-3,1,1,-;x", ";"})
    EXPECT_FALSE(ParseKernelRecord(line)) << line;
  EXPECT_FALSE(ParseKernelRecord("3,1,1,-;" + std::string(5000, 'x')));
}

TEST(KernelLine, Xids) {
  EXPECT_EQ(
      Told("NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
      "xid 0000:04:00 79: GPU has fallen off the bus.");
  EXPECT_EQ(
      Told("NVRM: Xid (PCI:0000:4e:00): 31, pid=4711, name=python3, Ch 00000008, intr 10000000. MMU Fault"),
      "xid 0000:4e:00 31: Ch 00000008, intr 10000000. MMU Fault");
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping"),
            "xid 0000:10:1c 63: Row Remapper: New row marked for remapping");
  EXPECT_EQ(Told("NVRM: Xid (0000:03:00): 14, Channel 00000001"), "xid 0000:03:00 14: Channel 00000001");
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid=7, name=a, Graphics Exception: ESR 0x1"),
            "xid 0000:01:00 13: Graphics Exception: ESR 0x1");
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:04:00): 154, GPU recovery action changed from 0x0 (None) to 0x1"),
            "xid 0000:04:00 154: GPU recovery action changed from 0x0 (None) to 0x1");
  for (const char* text : {"NVRM: GPU at PCI:0000:04:00: GPU-b850f46d", "NVRM: Xid (PCI:0000:04:00): x",
                           " NVRM: Xid (PCI:0000:04:00): 79", "NVRM: Xid (PCI:0000:04:00): 79. x"})
    EXPECT_EQ(Told(text), "-") << text;
}

TEST(KernelLine, AProgramsNameAddsNothing) {
  // The name is what is between "name=" and the driver's words: up to 15 bytes, with commas if it likes.
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:04:00): 31, pid=1, name=a, GPU has fal, Ch 00000008, intr 1"),
            "xid 0000:04:00 31: Ch 00000008, intr 1");
  // Rather too little than words of the name.
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:04:00): 31, pid=1, name=a, Ch 8, intr 10000000"),
            "xid 0000:04:00 31: intr 10000000");
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:04:00): 31, pid=1, name=a\\x0aNVRM: Xid"), "xid 0000:04:00 31: ");
  EXPECT_EQ(Told("NVRM: Xid (PCI:0000:04:00): 31, pid=1"), "xid 0000:04:00 31: ");
  // A name is 15 bytes at most, and begins the kernel's own lines about crashes and memory.
  for (const std::string name : {"NVRM: Xid (PCI:", "EDAC MC0: 1 UE ", "Memory failure:", "a 0000:00:00.0:",
                                 "a 0000:00:00.0", "mce: [Hardware ", "nvidia-nvswitch"}) {
    ASSERT_LE(name.size(), 15U);
    for (const char* after : {"[123]: segfault at 0 ip 0 sp 0 error 4 in Link on down[1+2]",
                              ": page allocation failure: order:0, mode:0x1", " invoked oom-killer: gfp on x",
                              " (123) used greatest stack depth: 9 bytes left on x"})
      EXPECT_EQ(Told(name + after), "-") << name << after;
  }
}

TEST(KernelLine, OtherHardware) {
  EXPECT_EQ(Told("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore"),
            "sxid 0000:c1:00.0 28006: Non-fatal, Link 46 MC TS crumbstore");
  EXPECT_EQ(Told("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Severity 0 Engine instance 46"), "-");
  EXPECT_EQ(Told("mlx5_core 0000:19:00.0 eth2: Link down"), "link eth2: mlx5_core: Link down");
  EXPECT_EQ(Told("mlx5_core 0000:19:00.0: Port module event: module 0, Cable unplugged"),
            "link 0000:19:00.0: mlx5_core: Port module event: module 0, Cable unplugged");
  EXPECT_EQ(Told("mlx5_core 0000:19:00.0: Port module event[error]: module 0, Cable error, Bus stuck"),
            "link 0000:19:00.0: mlx5_core: Port module event[error]: module 0, Cable error, Bus stuck");
  EXPECT_EQ(Told("gve 0000:00:04.0: Device link is down."), "link 0000:00:04.0: gve: Device link is down.");
  EXPECT_EQ(Told("bnxt_en 0000:01:00.0 ens1f0np0: NIC Link is Down"),
            "link ens1f0np0: bnxt_en: NIC Link is Down");
  EXPECT_EQ(
      Told("pcieport 0000:00:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer"),
      "pcie 0000:00:01.0: pcieport: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer");
  EXPECT_EQ(Told("nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible"),
            "pcie 0000:01:00.0: nvidia: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible");
  EXPECT_EQ(Told("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)"),
            "memory MC0: UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)");
  EXPECT_EQ(Told("Memory failure: 0x12345: recovery action for dirty LRU page: Recovered"),
            "memory 0x12345: recovery action for dirty LRU page: Recovered");
  EXPECT_EQ(Told("mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400"),
            "cpu CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400");
  EXPECT_EQ(
      Told("mlx5_core 0000:19:00.0: poll_health:815:(pid 0): device's health compromised - reached miss "
           "count"),
      "nic 0000:19:00.0: mlx5_core: poll_health:815:(pid 0): device's health compromised - reached miss "
      "count");
  // What was corrected, or is well.
  for (const char* text :
       {"mlx5_core 0000:19:00.0 eth2: Link up", "gve 0000:00:04.0: Device link is up.",
        "mlx5_core 0000:19:00.0: Port module event: module 0, Cable plugged",
        "pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0 (channel:0)",
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010090", "veth0: Link down", ""})
    EXPECT_EQ(Told(text), "-") << text;
  const std::string control = Told("mlx5_core 0000:19:00.0: Port module event: module 0, Cable error\x1b[2J");
  EXPECT_EQ(control.find('\x1b'), std::string::npos);
  EXPECT_LE(ParseHardwareLine("NVRM: Xid (PCI:0000:04:00): 79, " + std::string(3000, 'x'))->text.size(),
            kMostHardwareText + 3);
}

// --- how much is recorded

constexpr std::int64_t kS = 1'000'000'000;

HardwareLine Xid(std::int64_t code, const std::string& device = "0000:04:00") {
  return {"xid", device, code, "text"};
}

TEST(HardwareFold, EqualLinesAreOneEventAMinuteAtLast) {
  HardwareFold fold;
  const auto first = fold.Add(Xid(79), 1, 10 * kS);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->count, 1);
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(fold.Add(Xid(79), static_cast<std::uint64_t>(2 + i), (11 + i / 25) * kS));
  EXPECT_TRUE(fold.Add(Xid(79, "0000:05:00"), 200, 14 * kS)) << "another device";
  EXPECT_TRUE(fold.Add(Xid(48), 201, 14 * kS)) << "another number";
  EXPECT_TRUE(fold.TakeDue(15 * kS - 1).empty());
  const std::vector<HardwareEvent> due = fold.TakeDue(15 * kS);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].count, 100);
  EXPECT_EQ(due[0].seq, 101U);
  EXPECT_EQ(due[0].mono_ns, 11 * kS);
  EXPECT_EQ(due[0].last_mono_ns, 14 * kS);
  // It goes on for an hour.
  std::vector<std::int64_t> at;
  std::int64_t count = 0;
  for (std::int64_t s = 16; s < 3616; ++s) {
    EXPECT_FALSE(fold.Add(Xid(79), static_cast<std::uint64_t>(300 + s), s * kS));
    for (const HardwareEvent& event : fold.TakeDue(s * kS)) {
      at.push_back(s);
      count += event.count;
    }
  }
  ASSERT_GT(at.size(), 60U);
  EXPECT_LT(at.size(), 65U);
  EXPECT_EQ((std::vector<std::int64_t>{at[0], at[1], at[2], at[3], at[4]}),
            (std::vector<std::int64_t>{25, 45, 85, 145, 205}));
  for (const HardwareEvent& event : fold.TakeDue(3616 * kS, true)) count += event.count;
  EXPECT_EQ(count, 3600) << "none is lost, and nothing waits when the daemon stops";
  EXPECT_TRUE(fold.TakeDue(3700 * kS).empty());
  EXPECT_TRUE(fold.Add(Xid(79), 9999, 3800 * kS)) << "after a quiet minute, at once again";
}

TEST(HardwareFold, ManyKindsOfLinesAreCounted) {
  HardwareFold fold;
  std::size_t told = 0;
  for (std::int64_t code = 0; code < 1000; ++code) told += fold.Add(Xid(code), 1, kS) ? 1 : 0;
  EXPECT_EQ(told, HardwareFold::kMostKinds);
  EXPECT_EQ(fold.dropped(), 1000 - HardwareFold::kMostKinds);
  fold.TakeDue(100 * kS);
  EXPECT_TRUE(fold.Add(Xid(1), 1, 100 * kS));
}

// --- the log

TEST(KernelLog, LinesOfAFileAsItGrows) {
  const TempFolder folder;
  const std::string path = folder.path() + "/kmsg";
  std::ofstream(path) << "6,1,1,-;old\n";
  KernelLog log;
  ASSERT_TRUE(log.Open(-1, path).ok());
  EXPECT_EQ(log.poll_fd(), -1);
  std::vector<std::string> lines;
  const auto read = [&] {
    lines.clear();
    const bool more =
        log.Read([&](std::string_view line, bool live) { lines.push_back(Cat(live ? "live " : "", line)); });
    EXPECT_FALSE(more);
    return lines;
  };
  EXPECT_EQ(read(), (std::vector<std::string>{"6,1,1,-;old"}));
  std::ofstream(path, std::ios::app) << "6,2,1,-;new\n SUBSYSTEM=pci\n6,3,1,-;half";
  EXPECT_EQ(read(), (std::vector<std::string>{"live 6,2,1,-;new", "live  SUBSYSTEM=pci"}));
  std::ofstream(path, std::ios::app) << " of it\n" << std::string(100'000, 'x');
  EXPECT_EQ(read(), (std::vector<std::string>{"live 6,3,1,-;half of it"}));
  std::ofstream(path, std::ios::app) << "x\nafter\n";
  EXPECT_EQ(read(), (std::vector<std::string>{"live after"})) << "a line without end is left out";
}

TEST(KernelLog, WhatCannotBeReadIsSaid) {
  KernelLog absent;
  EXPECT_TRUE(absl::IsNotFound(absent.Open(-1, "/nonexistent/kmsg")));
  const TempFolder folder;
  const std::string path = folder.path() + "/kmsg";
  std::ofstream(path) << "x\n";
  const int other = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(PassedKernelLog({other}), -1) << "only the kernel's device is taken for it";
  const int device = open(kKernelLogPath, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) {
    close(other);
    GTEST_SKIP() << "this machine does not let us read its kernel's log";
  }
  EXPECT_EQ(PassedKernelLog({other, device}), device);
  KernelLog log;
  ASSERT_TRUE(log.Open(device, kKernelLogPath).ok());
  std::size_t records = 0;
  while (
      log.Read([&](std::string_view line, bool /*live*/) { records += ParseKernelRecord(line) ? 1 : 0; })) {
  }
  EXPECT_GT(records, 0U);
  close(device);
  close(other);
}

TEST(KernelLog, IsReadUnlessTheSiteSaysNo) {
  EXPECT_EQ(ParseConfig("", "c")->kernel_log, kKernelLogPath);
  EXPECT_EQ(ParseConfig("kernel_log = on", "c")->kernel_log, kKernelLogPath);
  EXPECT_EQ(ParseConfig("kernel_log = off", "c")->kernel_log, "");
  EXPECT_EQ(ParseConfig("kernel_log = /a/b", "c")->kernel_log, "/a/b");
  EXPECT_FALSE(ParseConfig("kernel_log = yes", "c").ok());
}

// --- records

constexpr std::int64_t kBoot = 1'000'000 * kS;  // CLOCK_REALTIME less CLOCK_MONOTONIC
std::int64_t kernel_mono = 0;
constexpr Clock kKernelClock{[]() noexcept { return kBoot + kernel_mono; },
                             []() noexcept { return kernel_mono; }};

class NodeSpool {
 public:
  void Line(const std::string& node, const std::string& members) {
    std::filesystem::create_directories(folder_.path() + "/" + node);
    std::ofstream(folder_.path() + "/" + node + "/boot.2026010100Z.jsonl", std::ios::app)
        << "\n{" << members << "}\n";
  }
  void Prolog(const std::string& node, int job, std::int64_t mono) {
    Line(node, Cat(R"("v":1,"t":)", kBoot + mono, R"(,"m":)", mono, R"(,"node":")", node,
                   R"(","kind":"job_prolog","cluster":"c","job":)", job, R"(,"uid":7)"));
  }
  void Start() {
    jobs = std::make_unique<NodeJobs>(folder_.path(), kKernelClock, "boot");
    recorder = std::make_unique<HardwareRecorder>(
        [this](const NodeJob& job, std::string_view record) {
          if (full) return false;
          Line(job.node, std::string(record.substr(2, record.size() - 4)));
          told.push_back(std::string(record));
          return true;
        },
        kKernelClock);
    jobs->Refresh();
  }

  std::unique_ptr<NodeJobs> jobs;
  std::unique_ptr<HardwareRecorder> recorder;
  std::vector<std::string> told;
  bool full = false;

 private:
  TempFolder folder_;
};

TEST(HardwareRecorder, EachJobThatWasThereHasIt) {
  NodeSpool spool;
  kernel_mono = 100 * kS;
  spool.Prolog("n1", 1, 10 * kS);
  spool.Prolog("n1", 2, 20 * kS);
  spool.Prolog("n1", 3, 90 * kS);
  spool.Start();
  EXPECT_EQ(spool.jobs->LastKernelSeq(), 0U);
  spool.recorder->Record({Xid(79), 4711, 50 * kS, 60 * kS, 5}, *spool.jobs);
  ASSERT_EQ(spool.told.size(), 2U) << "job 3 began later";
  for (const std::string part :
       {R"("kind":"hardware")", R"("class":"xid")", R"("device":"0000:04:00")", R"("code":79)",
        R"("seq":4711)", R"("count":5)", R"("text":"text")", R"("cluster":"c")"})
    EXPECT_NE(spool.told[0].find(part), std::string::npos) << part << spool.told[0];
  EXPECT_NE(spool.told[0].find(Cat(R"("t":)", kBoot + 50 * kS)), std::string::npos) << spool.told[0];
  EXPECT_NE(spool.told[0].find(Cat(R"("last_m":)", 60 * kS)), std::string::npos) << spool.told[0];
  EXPECT_EQ(spool.recorder->stored(), 2U);
  // A restart knows what was recorded.
  spool.Start();
  EXPECT_EQ(spool.jobs->LastKernelSeq(), 4711U);
  spool.full = true;
  spool.recorder->Record({Xid(48), 4712, 50 * kS, 50 * kS, 1}, *spool.jobs);
  EXPECT_EQ(spool.recorder->not_stored(), 2U);
}

TEST(HardwareRecorder, EachJobHasOnceThatTheLogIsRead) {
  NodeSpool spool;
  kernel_mono = 100 * kS;
  spool.Prolog("n1", 1, 10 * kS);
  spool.Start();
  for (int i = 0; i < 3; ++i) {
    spool.recorder->SayRead(*spool.jobs);
    spool.jobs->Refresh();
  }
  ASSERT_EQ(spool.told.size(), 1U);
  EXPECT_NE(spool.told[0].find(R"("kind":"host")"), std::string::npos);
  EXPECT_NE(spool.told[0].find(R"("notice":"kernel_log","value":"read")"), std::string::npos);
  spool.Prolog("n1", 2, 101 * kS);
  spool.Start();
  spool.recorder->SayRead(*spool.jobs);
  EXPECT_EQ(spool.told.size(), 2U) << "a restart repeats nothing";
}

// --- everything, with a file in the place of /dev/kmsg

class Running {
 public:
  explicit Running(const std::string& folder) {
    config_.spool = folder + "/spool";
    config_.kernel_log = folder + "/kmsg";
    std::filesystem::create_directories(config_.spool + "/n1");
    const std::int64_t now = kSystemClock.real_ns();
    const std::int64_t mono = kSystemClock.mono_ns();
    const std::string path = Cat(config_.spool, "/n1/", BootId(), ".2026010100Z.jsonl");
    if (!std::filesystem::exists(path)) {
      std::ofstream(path) << Cat("\n", R"({"v":1,"t":)", now, R"(,"m":)", mono,
                                 R"(,"node":"n1","kind":"job_prolog","cluster":"c","job":1,"uid":7})", "\n");
    }
    jobs_ = std::make_unique<NodeJobs>(config_.spool);
    quota_ = std::make_unique<RecordQuota>(RecordQuota::Limits{});
    spools_ = std::make_unique<NodeSpools>(config_.spool, 1 << 24, geteuid(), *quota_);
    stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] {
      RunKernelLoop({config_, *jobs_, *spools_, *spools_, stop_fd_, nullptr}, -1);
    });
  }
  ~Running() { Stop(); }
  void Stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(write(stop_fd_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
    close(stop_fd_);
  }
  // The records of faulty hardware.
  std::vector<std::string> Records() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(config_.spool + "/n1")) {
      if (entry.path().extension() != ".jsonl") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.find(R"("kind":"hardware")") != std::string::npos) found.push_back(line);
      }
    }
    return found;
  }
  std::string Counts() const {
    std::ifstream in(config_.spool + "/kernel");
    std::string line;
    std::getline(in, line);
    return line;
  }
  void WaitForRecords(std::size_t count) const {
    for (int i = 0; i < 500 && Records().size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(Records().size(), count);
  }

 private:
  Config config_;
  std::unique_ptr<NodeJobs> jobs_;
  std::unique_ptr<RecordQuota> quota_;
  std::unique_ptr<NodeSpools> spools_;
  int stop_fd_ = -1;
  std::thread thread_;
};

TEST(KernelLoop, RecordsTheKernelsOwnLinesOnce) {
  const TempFolder folder;
  const std::string path = folder.path() + "/kmsg";
  // A line that the kernel writes now.
  const auto say = [&](const std::string& priority_and_seq, const std::string& text) {
    std::ofstream(path, std::ios::app)
        << Cat(priority_and_seq, ",", kSystemClock.mono_ns() / 1000, ",-;", text, "\n SUBSYSTEM=pci\n");
  };
  std::ofstream(path) << "3,1,0,-;NVRM: Xid (PCI:0000:04:00): 48, before the job\n";
  {
    Running daemon(folder.path());
    say("12,2", "NVRM: Xid (PCI:0000:04:00): 94, forged by a process");
    say("3,3",
        "NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    daemon.WaitForRecords(1);
    for (int i = 0; i < 3; ++i) say("3,4", "NVRM: Xid (PCI:0000:04:00): 79, pid=1, name=a, again");
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    daemon.Stop();
    ASSERT_EQ(daemon.Records().size(), 2U) << "the others of the minute are one record";
    EXPECT_NE(daemon.Records()[0].find("fallen off"), std::string::npos);
    EXPECT_NE(daemon.Records()[1].find(R"("count":3)"), std::string::npos);
    EXPECT_NE(daemon.Counts().find("reading=1"), std::string::npos);
    EXPECT_NE(daemon.Counts().find("recorded=2"), std::string::npos);
  }
  Running again(folder.path());
  say("3,5", "NVRM: Xid (PCI:0000:04:00): 95, pid=1, name=a, new");
  again.WaitForRecords(3);
}

TEST(KernelLoop, SaysThatNothingIsRead) {
  const TempFolder folder;
  Running daemon(folder.path());
  for (int i = 0; i < 500 && daemon.Counts().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_NE(daemon.Counts().find("reading=0 absent=1 refused=0"), std::string::npos) << daemon.Counts();
}

}  // namespace
}  // namespace goodput
