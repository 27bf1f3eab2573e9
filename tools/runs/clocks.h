// Brings what nodes wrote about one job onto the controller's time: see node_clock.h for one node.
#ifndef GOODPUT_TOOLS_RUNS_CLOCKS_H_
#define GOODPUT_TOOLS_RUNS_CLOCKS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sql/evidence.h"
#include "sql/heartbeats.h"
#include "tools/runs/node_clock.h"

namespace goodput {

// Corrects the times of a job's events, step marks and heartbeats in place; the controller's own records are
// left alone.
// Blocks stay as they are: `block_shifts` is how far to move each. `shifts`: what the controller's clock was
// set by while the job was known. Returns a warning for each clock that was set or is apart.
std::vector<std::string> CorrectClocks(const std::map<std::int64_t, SourceRow>& sources,
                                       const AllocatedSpans& spans, const std::vector<Ns>& shifts,
                                       std::vector<EventRow>& events, JobSteps& steps,
                                       std::vector<Ns>& block_shifts, std::vector<Heartbeat>& heartbeats);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_RUNS_CLOCKS_H_
