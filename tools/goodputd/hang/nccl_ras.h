// Asks NCCL's RAS what it knows about the communicators of a job: since NCCL 2.24, a thread of each process
// of a job listens on localhost, port 28028 or NCCL_RAS_ADDR. The protocol, as NCCL's own client speaks it
// (src/ras/client.cc at commit 5067397c2676): lines of text, "CLIENT PROTOCOL 2", "TIMEOUT 5", "STATUS"; the
// report ends with the connection. Call with the rights of the job's user.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace goodput {

struct RasAnswer {
  std::string report;   // as it was sent, at most 64 KiB
  std::string problem;  // why there is none
};

// `processes`: those of the job on this node. Asked only if one of them listens, and nobody else does at that
// port: another job, or another user, might answer. `at` is called at least once a second; after 15 s it
// gives up.
RasAnswer AskRas(const std::vector<std::int64_t>& processes, const std::function<void()>& at);

}  // namespace goodput
