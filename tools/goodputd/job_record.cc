#include "tools/goodputd/job_record.h"

#include <unistd.h>

namespace goodput {
namespace {

void AddJobAndUser(const NodeJob& job, RecordBuilder& record) {
  if (!job.cluster.empty()) record.Text(key::kCluster, job.cluster);
  record.Int(key::kJob, job.job);
  record.Uint(key::kUid, job.uid);
}

}  // namespace

Stamp StampAtReal(const Clock& clock, std::string_view node, std::int64_t t_ns) {
  const Moment now = ReadMoment(clock);
  return {t_ns, now.mono_ns - (now.real_ns - t_ns), node, static_cast<int>(getpid())};
}

Stamp StampAtMono(const Clock& clock, std::string_view node, std::int64_t mono_ns) {
  const Moment now = ReadMoment(clock);
  return {now.real_ns - (now.mono_ns - mono_ns), mono_ns, node, static_cast<int>(getpid())};
}

JobRecord::JobRecord(std::string_view kind, const NodeJob& job, const Stamp& stamp)
    : RecordBuilder(kind, stamp) {
  AddJobAndUser(job, *this);
  if (job.restart) Int(key::kRestart, *job.restart);
  if (job.job_start_s) Int(key::kJobStart, *job.job_start_s);
  if (!job.sluid.empty()) Text(key::kSluid, job.sluid);
}

JobMarkRecord::JobMarkRecord(std::string_view kind, const NodeJob& job, std::string_view slurm_step,
                             const Stamp& stamp)
    : RecordBuilder(kind, stamp) {
  AddJobAndUser(job, *this);
  if (!slurm_step.empty()) Text(key::kSlurmStep, slurm_step);
}

}  // namespace goodput
