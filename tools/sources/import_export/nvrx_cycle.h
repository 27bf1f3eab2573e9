// A restart cycle of NVRx's launcher (ft_launcher --ft-cycle-info-dir=DIR): how many nodes trained in it, and
// how many stood by to replace one.
//
// The launcher writes one file a cycle, cycle_info.JOB.ATTEMPT.CYCLE, and the link cycle_info.JOB.current.
// Read from nvidia-resiliency-ext d8686d9: fault_tolerance/cycle_info_writer.py and
// shared_utils/proto/nvrx_interface.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

struct NvrxCycle {
  std::string job;              // SLURM_ARRAY_JOB_ID, SLURM_JOB_ID or any name that the launcher was given
  std::int64_t attempt = 0;     // always 0: the launcher reads a variable that Slurm does not set
  std::int64_t number = 0;      // of the cycle
  std::int64_t generation = 0;  // how often the file was written again
  Ns begin = 0;
  std::int64_t active = 0;   // nodes that train, at least 1
  std::int64_t standby = 0;  // nodes that wait to replace one
};

// InvalidArgument: not a cycle, or without a start or an active node.
absl::StatusOr<NvrxCycle> ParseNvrxCycle(std::string_view text);

// Whether the beginning of a file looks like a cycle.
bool LooksLikeNvrxCycle(std::string_view beginning);

}  // namespace goodput
