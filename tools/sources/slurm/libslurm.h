// Hides the differences between releases of libslurm (22.05 to 26.05 are built and run by tests/matrix). Only
// tools/sources/slurm/controller.cc includes it.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "config.h"

// Exported by every libslurm but not declared in any installed header; the first was renamed between
// releases, so the one that exists is used.
extern "C" {
char* slurm_job_reason_string(unsigned reason) __attribute__((weak));
const char* slurm_job_state_reason_string(unsigned reason) __attribute__((weak));
char* slurm_node_state_string(std::uint32_t state);
}

namespace goodput::libslurm {

// Until 24.05, libslurm kept its last error itself; since then it is in errno.
inline int LastError() {
#if HAVE_DECL_SLURM_GET_ERRNO
  return slurm_get_errno();
#else
  return errno;
#endif
}

inline void FreeConf(slurm_conf_t* conf) {
#if HAVE_DECL_SLURM_FREE_CTL_CONF
  slurm_free_ctl_conf(conf);
#else
  slurm_free_conf(conf);
#endif
}

// "Resources"; null if this libslurm has neither function.
inline const char* ReasonName(std::uint32_t reason) {
  if (slurm_job_state_reason_string != nullptr) return slurm_job_state_reason_string(reason);
  if (slurm_job_reason_string != nullptr) return slurm_job_reason_string(reason);
  return nullptr;
}

// The node whose failure ended the job; null if the release does not report it.
inline const char* FailedNode(const slurm_job_info_t& info) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
  return info.failed_node;
#else
  static_cast<void>(info);
  return nullptr;
#endif
}

// Whether the job asked for sbatch --requeue=expedite, which 25.11 brought.
inline bool AsksToExpedite(const slurm_job_info_t& info) {
#ifdef EXPEDITED_REQUEUE
  return (info.bitflags & EXPEDITED_REQUEUE) != 0;
#else
  static_cast<void>(info);
  return false;
#endif
}

// Whether Slurm waits for its epilogs to decide that it is requeued so.
inline bool IsExpediting(std::uint32_t state) {
#ifdef JOB_EXPEDITING
  return (state & JOB_EXPEDITING) != 0;
#else
  static_cast<void>(state);
  return false;
#endif
}

}  // namespace goodput::libslurm
