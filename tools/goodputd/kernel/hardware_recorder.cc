#include "tools/goodputd/kernel/hardware_recorder.h"

#include "spank/event.h"
#include "tools/goodputd/job_record.h"

namespace goodput {

void HardwareRecorder::Record(const HardwareEvent& event, const NodeJobs& jobs) {
  // Reports tell by its time that two jobs have the same event.
  Stamp stamp = StampAtMono(clock_, "", event.mono_ns);
  for (const NodeJobs::NoticedJob& noticed : jobs.NoticedJobs()) {
    const NodeJob& job = *noticed.job;
    stamp.node = job.node;
    if (stamp.real_ns < job.since_ns) continue;
    JobRecord record(kind::kHardware, job, stamp);
    record.Text(key::kClass, event.line.kind);
    if (!event.line.device.empty()) record.Text(key::kDevice, event.line.device);
    if (event.line.code) record.Int(key::kCode, *event.line.code);
    record.Uint(key::kSeq, event.seq);
    if (event.count > 1) {
      record.Int(key::kCount, event.count);
      record.Int(key::kLastMonotonic, event.last_mono_ns);
    }
    if (!event.line.text.empty()) record.Text(key::kText, event.line.text, Worth::kFreeText);
    ++(store_(job, record.Finish()) ? stored_ : not_stored_);
  }
}

void HardwareRecorder::SayRead(const NodeJobs& jobs) {
  std::set<Job> told;
  for (const NodeJobs::NoticedJob& noticed : jobs.NoticedJobs()) {
    const NodeJob& job = *noticed.job;
    if (noticed.told.count(std::string(kKernelLogNotice)) != 0) continue;
    Job of_job{job.node, job.job, job.since_ns};
    if (told_.count(of_job) == 0) {
      JobRecord record(kind::kHost, job, StampAtReal(clock_, job.node, clock_.real_ns()));
      record.Text(key::kNotice, kKernelLogNotice);
      record.Text(key::kValue, kKernelLogRead);
      store_(job, record.Finish());
    }
    told.insert(std::move(of_job));
  }
  told_ = std::move(told);
}

}  // namespace goodput
