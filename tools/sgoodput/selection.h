// Which runs a command line means, by sacct's flags: what listing and roll-ups begin with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"

namespace goodput {

// Between -S (midnight, unless -j names jobs) and -E; absent is open.
struct SelectedTime {
  std::optional<Ns> start;
  std::optional<Ns> end;
};
absl::StatusOr<SelectedTime> TimeOfSelection(const SelectionOptions& options, absl::Time now);

// A part of a long list. A cursor is a run's place in it, and stays so when others are added.
struct Page {
  std::int64_t limit = 0;  // 0: no end
  std::string after;       // the cursor of the last run before it; empty: from the begin
  bool reverse = false;    // the newest first
  std::string next;        // set where there are more: the cursor to go on after
};

// Opens a session and calls `take` for each selected run, by job id or in a page's order, clipped to the
// selected time with -T. Only one report exists at a time, so a million jobs need no more memory than one.
absl::Status ForEachSelected(const CommonOptions& common, const SelectionOptions& options,
                             const TimelineOptions& timeline_options,
                             const std::function<absl::Status(Session&, Report)>& take, Page* page = nullptr);

}  // namespace goodput
