// Records which jobs are alive on the node: one value per node, replaced every few seconds. If a node dies,
// this is the only record of its last activity.
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

// The jobs with a living task process, by node. A process with a task's id that began after the task is
// another process.
std::map<std::string, std::vector<NodeJob>> LiveJobs(const NodeJobs& jobs, const Processes& processes,
                                                     std::int64_t boottime_less_mono_ns);

// The text of SPOOL/NODE/heartbeat (SPOOL_FORMAT.md), with its newline.
std::string HeartbeatText(const std::string& node, const std::vector<NodeJob>& live,
                          const std::string& boot_id, std::int64_t real_ns, std::int64_t mono_ns);

// Writes that of every node of the spool each `config.heartbeat` until `stop_fd` becomes readable.
void RunHeartbeatLoop(const NodeContext& context);

}  // namespace goodput
