#include "tools/goodputd/kernel/kernel_loop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "sql/text.h"
#include "tools/goodputd/counts_file.h"
#include "tools/goodputd/kernel/hardware_fold.h"
#include "tools/goodputd/kernel/hardware_recorder.h"
#include "tools/goodputd/kernel/kernel_line.h"
#include "tools/goodputd/kernel/kernel_log.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

constexpr int kKernelTickMs = 1000;
// Each turn takes what came in this time, so that nobody who makes the kernel write a lot wakes goodputd for
// each line. Times of records are late by so much.
constexpr int kKernelPauseMs = 100;
// New jobs have their record within this time.
constexpr std::int64_t kSayReadNs = 10'000'000'000;
constexpr std::int64_t kMicrosecond = 1000;

class KernelLoop {
 public:
  explicit KernelLoop(const NodeContext& node)
      : jobs_(node.jobs),
        stop_fd_(node.stop_fd),
        recorder_(node.spools.store()),
        counts_(node.config.spool + kKernelCountsFile) {
    counts_.Read(Counts());
    before_ = totals_;
  }

  bool Open(int passed, const std::string& path) {
    const absl::Status status = log_.Open(path == kKernelLogPath ? passed : -1, path);
    totals_.reading = status.ok() ? 1 : 0;
    totals_.absent = absl::IsNotFound(status) ? 1 : 0;
    totals_.refused = absl::IsPermissionDenied(status) ? 1 : 0;
    if (!status.ok())
      Log(Cat("the kernel's messages are not read: ", Message(status),
              "; errors of the hardware remain unknown (sgoodput doctor says what to do)"));
    return status.ok();
  }

  // Writes to the spool, for doctor, that nothing is read; the plugin creates the folder at the first job.
  void SayUntilKnown() {
    pollfd stop{stop_fd_, POLLIN, 0};
    while (!counts_.Write(Counts()) && poll(&stop, 1, kKernelTickMs) == 0) {
    }
  }

  void Run() {
    jobs_.Refresh();
    recorded_seq_ = jobs_.LastKernelSeq();
    std::array<pollfd, 2> polled{{{stop_fd_, POLLIN, 0}, {log_.poll_fd(), POLLIN, 0}}};
    bool more = true;
    while (true) {
      poll(polled.data(), polled.size(), more ? 0 : kKernelTickMs);
      const bool stop = polled[0].revents != 0;
      more = Turn(stop);
      if (stop) return;
      if (polled[1].revents != 0) poll(polled.data(), 1, kKernelPauseMs);
    }
  }

 private:
  bool Turn(bool last) {
    std::vector<HardwareEvent> events;
    const bool more = log_.Read([&](std::string_view line, bool live) { Take(line, live, events); });
    const std::int64_t now = kSystemClock.mono_ns();
    for (HardwareEvent& event : fold_.TakeDue(now, last)) events.push_back(std::move(event));
    const bool say = now >= next_say_;
    if (say || !events.empty()) jobs_.Refresh();
    for (const HardwareEvent& event : events) recorder_.Record(event, jobs_);
    if (say) {
      recorder_.SayRead(jobs_);
      next_say_ = now + kSayReadNs;
    }
    WriteCounts();
    return more;
  }

  void Take(std::string_view line, bool live, std::vector<HardwareEvent>& events) {
    const std::optional<KernelRecord> record = ParseKernelRecord(line);
    if (!record || record->facility != 0 || record->seq <= recorded_seq_) return;
    std::optional<HardwareLine> found = ParseHardwareLine(record->text);
    if (!found) return;
    // The kernel's clock is the processor's, which is not adjusted: it may differ by a second a day. So a
    // line that has just come has the time at which it is read.
    const std::int64_t now = kSystemClock.mono_ns();
    const std::int64_t mono_ns = live ? now : std::min(now, record->clock_us * kMicrosecond);
    if (std::optional<HardwareEvent> event = fold_.Add(*std::move(found), record->seq, mono_ns))
      events.push_back(*std::move(event));
  }

  CountsFile::Names Counts() {
    return {{"reading", &totals_.reading},       {"absent", &totals_.absent},
            {"refused", &totals_.refused},       {"recorded", &totals_.recorded},
            {"not_stored", &totals_.not_stored}, {"overwritten", &totals_.overwritten},
            {"dropped", &totals_.dropped}};
  }

  void WriteCounts() {
    totals_.recorded = before_.recorded + recorder_.stored();
    totals_.not_stored = before_.not_stored + recorder_.not_stored();
    totals_.overwritten = before_.overwritten + log_.overwritten();
    totals_.dropped = before_.dropped + fold_.dropped();
    counts_.Write(Counts());
  }

  struct Totals {
    std::uint64_t reading = 0;
    std::uint64_t absent = 0;       // 1: there is none
    std::uint64_t refused = 0;      // 1: it is not permitted
    std::uint64_t recorded = 0;     // records of faulty hardware
    std::uint64_t not_stored = 0;   // such records
    std::uint64_t overwritten = 0;  // times
    std::uint64_t dropped = 0;      // lines
  };

  NodeJobs& jobs_;
  int stop_fd_;
  KernelLog log_;
  HardwareFold fold_;
  HardwareRecorder recorder_;
  CountsFile counts_;
  Totals totals_;
  Totals before_;                   // in the file when the daemon started
  std::uint64_t recorded_seq_ = 0;  // by a goodputd before this one, since the boot
  std::int64_t next_say_ = 0;
};

}  // namespace

void RunKernelLoop(const NodeContext& node, int passed) {
  if (node.config.kernel_log.empty()) return;
  KernelLoop loop(node);
  if (!loop.Open(passed, node.config.kernel_log)) return loop.SayUntilKnown();
  loop.Run();
}

}  // namespace goodput
