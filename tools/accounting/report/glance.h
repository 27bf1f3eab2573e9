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

// Whether a few rows tell that a run trains: then the state and the GPUs that LookAtNow would return for its
// timeline, without since when. Absent: make the timeline.
//
// The run is one job that accounting has as running and that was never requeued. It does one step after the
// other (SteadySteps), and the newest began so lately that it cannot be stalled. As far as these rows tell,
// it never failed, so that it cannot save too rarely for its failures. Marks are not read: the cost does not
// grow with the number of steps or saves. `stall_factor`: as in TimelineOptions.
absl::StatusOr<std::optional<RunNow>> GlanceAtNow(Database& db, ClusterReader& cluster,
                                                  const std::vector<JobKey>& run, Ns now,
                                                  double stall_factor);

}  // namespace goodput
