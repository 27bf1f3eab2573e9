// Compares results of nccl-tests with the bandwidth that the site expects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/advise/advice.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Latency dominates smaller messages.
inline constexpr std::int64_t kLargeMessage = std::int64_t{1} << 30U;

// Whether a message of this size at `busbw` bytes per second is slower than `expected` GB/s. False if nothing
// is expected (0) or the message is small.
bool IsSlow(std::int64_t bytes, std::int64_t busbw, double expected);

// "178.46 GB/s" (10^9 bytes per second); "8 GiB".
std::string BandwidthInWords(std::int64_t bytes_per_s);
std::string MessageInWords(std::int64_t bytes);

// One advice if the last test between nodes was slow; otherwise none.
std::vector<Advice> AdviseNetwork(const Timeline& timeline, double expected);

// The last test between nodes, with its largest message; null if there was none.
const CollectiveTest* LastNetworkTest(const Timeline& timeline);

}  // namespace goodput
