#include "tools/goodputd/signals/signal_recorder.h"

#include "spank/event.h"
#include "tools/goodputd/job_record.h"

namespace goodput {

void SignalRecorder::Take(const JobSignal& signal) {
  ++seen_;
  Burst& burst = bursts_[{signal.target, signal.signo, signal.sender, signal.sender_pid}];
  if (burst.records == 0 || signal.mono_ns - burst.begin_mono_ns >= kWindowNs) {
    WriteBurst(burst);
    burst = Burst{};
    burst.begin_mono_ns = signal.mono_ns;
  }
  if (burst.records < kOwnRecords) {
    ++burst.records;
    Write(signal, 1, signal.mono_ns);
    return;
  }
  if (burst.count == 0) burst.first = signal;
  ++burst.count;
  ++held_;
  burst.last_mono_ns = signal.mono_ns;
}

void SignalRecorder::Flush(bool all) {
  const std::int64_t over = clock_.mono_ns() - kWindowNs;
  for (auto at = bursts_.begin(); at != bursts_.end();) {
    if (!all && at->second.begin_mono_ns > over) {
      ++at;
      continue;
    }
    WriteBurst(at->second);
    at = bursts_.erase(at);
  }
}

void SignalRecorder::WriteBurst(Burst& burst) {
  if (burst.count == 0) return;
  held_ -= burst.count;
  Write(burst.first, burst.count, burst.last_mono_ns);
  burst.count = 0;
}

void SignalRecorder::Write(const JobSignal& signal, std::uint64_t count, std::int64_t last_mono_ns) {
  const NodeJob& job = *signal.step.job;
  JobRecord record(kind::kSignal, job, StampAtMono(clock_, job.node, signal.mono_ns));
  record.Text(key::kSlurmStep, signal.step.slurm_step);
  if (signal.task) record.Int(key::kTask, *signal.task);
  record.Int(key::kSignal, signal.signo);
  record.Int(key::kPid, signal.target);
  record.Text(key::kTarget, signal.is_task ? "task" : "child");
  if (!signal.comm.empty()) record.Text(key::kComm, signal.comm);
  if (signal.sender != SignalSender::kUnknown) record.Text(key::kSender, SignalSenderName(signal.sender));
  if (signal.sender_pid > 0) record.Int(key::kSenderPid, signal.sender_pid);
  if (signal.handled) record.Int(key::kHandled, *signal.handled ? 1 : 0);
  if (signal.ignored) record.Int(key::kIgnored, 1);
  if (count > 1) {
    record.Uint(key::kCount, count);
    record.Int(key::kLastMonotonic, last_mono_ns);
  }
  if (store_(job, record.Finish())) stored_ += count;
}

}  // namespace goodput
