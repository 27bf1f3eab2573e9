// Records which jobs were alive on the node: one value per node, replaced every few seconds. If a node dies,
// this is the only record of how far its work went.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spank/clock.h"
#include "tools/goodputd/node_context.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/processes.h"

namespace goodput {

inline constexpr const char* kHeartbeatName = "heartbeat";

// By node, the jobs a task's process of which lives now. A process that has a task's id but began after it
// is another one.
std::map<std::string, std::vector<NodeJob>> LiveJobs(const NodeJobs& jobs, const Processes& processes,
                                                     std::int64_t boottime_less_mono_ns);

// The text of SPOOL/NODE/heartbeat (SPOOL_FORMAT.md), with its newline.
std::string HeartbeatText(const std::string& node, const std::vector<NodeJob>& live,
                          const std::string& boot_id, std::int64_t real_ns, std::int64_t mono_ns);

// Writes that of every node of the spool each `config.heartbeat` until `stop_fd` becomes readable.
void RunHeartbeatLoop(const NodeContext& context);

}  // namespace goodput
