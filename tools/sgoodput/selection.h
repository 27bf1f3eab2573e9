// Selects runs by sacct's flags, for listings and sums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sql/tables/cluster_reader.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"

namespace goodput {

// Between -S (midnight, unless -j names jobs) and -E; absent means open.
struct SelectedTime {
  std::optional<Ns> start;
  std::optional<Ns> end;
};
absl::StatusOr<SelectedTime> TimeOfSelection(const SelectionOptions& options, absl::Time now);

// A part of a long list. A cursor identifies a run's place, also if other runs are added.
struct Page {
  std::int64_t limit = 0;  // 0: no limit
  std::string after;       // the cursor of the last run of the previous page; empty: from the beginning
  bool reverse = false;    // newest first
  std::string next;        // output: if there are more runs, the cursor for the next page
};

// Called with the jobs of a run before its timeline is made; true: the run needs none. For a command that
// reads nothing of a report but the timeline.
using Glance = std::function<absl::StatusOr<bool>(Session&, ClusterReader&, const std::vector<JobKey>&)>;

// Opens a session and calls `take` for each selected run, by job id or in a page's order, clipped to the
// selected time with -T. Only one report exists at a time, so that memory does not grow with the number of
// jobs. With `glance`, reports have no account; it is called only if all runs that the viewer may see are
// selected.
absl::Status ForEachSelected(const CommonOptions& common, const SelectionOptions& options,
                             const TimelineOptions& timeline_options,
                             const std::function<absl::Status(Session&, Report&&)>& take,
                             Page* page = nullptr, const Glance& glance = nullptr);

}  // namespace goodput
