// Begins the records that goodputd writes about a job on this node.
#pragma once

#include <cstdint>
#include <string_view>

#include "spank/clock.h"
#include "spank/event.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

// The stamp of something that happened on `node` at that time of CLOCK_REALTIME, or of CLOCK_MONOTONIC. The
// stamp refers to `node`, which must outlive it.
Stamp StampAtReal(const Clock& clock, std::string_view node, std::int64_t t_ns);
Stamp StampAtMono(const Clock& clock, std::string_view node, std::int64_t mono_ns);

// A record that identifies the attempt it belongs to.
class JobRecord : public RecordBuilder {
 public:
  JobRecord(std::string_view kind, const NodeJob& job, const Stamp& stamp);
};

// A record of one of the many kinds whose time says which attempt they belong to (marks): it names the job
// and, if `slurm_step` is not empty, the step.
class JobMarkRecord : public RecordBuilder {
 public:
  JobMarkRecord(std::string_view kind, const NodeJob& job, std::string_view slurm_step, const Stamp& stamp);
};

}  // namespace goodput
