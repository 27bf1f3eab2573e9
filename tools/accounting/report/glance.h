// What a run does at this moment, from a few of its rows.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/cluster_reader.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/live/run_now.h"

namespace goodput {

// What LookAtNow says of the run's timeline, without its evidence and since when, if a few rows tell that it
// trains: a job that is running in accounting, was never requeued, does steady steps (SteadySteps), and began
// one within kHang, or not so long ago that it may be stalled. It can be neither without progress nor, as it
// never failed, saved too rarely. Absent: a timeline is needed. Of a hundred thousand steps this reads as
// much as of ten. `stall_factor`: as TimelineOptions has it.
absl::StatusOr<std::optional<RunNow>> GlanceAtNow(Database& db, ClusterReader& cluster,
                                                  const std::vector<JobKey>& run, Ns now,
                                                  double stall_factor);

}  // namespace goodput
