// Job state that the job's prolog knows and that slurmstepd could otherwise learn only from the job's
// environment, which the user may have edited. Kept in the spool as the note "job.ID" from the job's prolog
// to its epilog.
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
  std::array<char, 128> cluster{};  // NUL-terminated; empty: unknown
  std::array<char, 64> sluid{};
  // Slurm's numbers of the job's GPUs on this node, "0-3,6"; empty: unknown.
  std::array<char, 128> gpu_ids{};
};

// Returns false if it could not be written, or if a value could not be read back (it contains a space or a
// control character).
bool WriteJobState(const Spool& spool, uint32_t job, const JobState& note) noexcept;
// Empty if there is no note, or it is malformed.
std::optional<JobState> ReadJobState(const Spool& spool, uint32_t job) noexcept;
// Remembers the cluster's name beyond the job: slurmd runs no prolog for an attempt that follows its requeue
// immediately.
void RememberCluster(const Spool& spool, const JobState& note) noexcept;
// The state of a job without a note: only the cluster is known.
JobState StateOfUnknownJob(const Spool& spool) noexcept;
void DropJobState(const Spool& spool, uint32_t job) noexcept;

}  // namespace goodput
