// Looks once at a job of this node that makes no progress, and records what it finds (kind `hang_evidence`).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "tools/base/config.h"
#include "tools/goodputd/hang/hang_helper.h"
#include "tools/goodputd/hang/stalled_jobs.h"
#include "tools/goodputd/job_watches.h"
#include "tools/goodputd/node_spools.h"

namespace goodput {

// One record each. `since_ns`: the last sign of progress, CLOCK_REALTIME. What a job says is cut and made
// printable, so that a record is never too long.
std::vector<std::string> HangRecords(const StalledJob& stalled, std::string_view source,
                                     const std::vector<HangFinding>& findings, std::int64_t since_ns,
                                     const Clock& clock);

// Asks for one source after the other, so that one that hangs costs none of the others. `spools` must outlive
// it. `py_spy`: the program, if the job asked for it and the site allows it; otherwise empty.
std::unique_ptr<JobWatcher> MakeHangWatcher(StalledJob stalled, const HangSources& sources,
                                            std::string py_spy, NodeSpools& spools,
                                            Clock clock = kSystemClock);

}  // namespace goodput
