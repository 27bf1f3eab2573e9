// What job_prolog knows of a job and slurmstepd cannot learn from a source a user has no hand in: kept in the
// spool as the note "job.ID" from the job's prolog to its epilog. slurmstepd's own view of these is the job's
// environment, which its user may have edited.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "spank/spool.h"

namespace goodput {

struct JobState {
  bool enabled = true;  // whether this job is recorded
  std::optional<int64_t> gpus;
  std::optional<int64_t> restart;
  std::optional<int64_t> job_start_s;
  std::optional<int64_t> het_job;
  std::array<char, 128> cluster{};  // NUL-terminated, empty where not known
  std::array<char, 64> sluid{};
};

// False when it could not be written, or a word in it would not be read back (a space or a control
// character).
bool WriteJobState(const Spool& spool, uint32_t job, const JobState& note) noexcept;
// Nothing when there is none, or it is not one of ours.
std::optional<JobState> ReadJobState(const Spool& spool, uint32_t job) noexcept;
// The cluster's name outlives every job: slurmd starts no prolog for an attempt that follows its requeue at
// once.
void RememberCluster(const Spool& spool, const JobState& note) noexcept;
// A note that knows the cluster alone.
JobState StateOfUnknownJob(const Spool& spool) noexcept;
void DropJobState(const Spool& spool, uint32_t job) noexcept;

}  // namespace goodput
