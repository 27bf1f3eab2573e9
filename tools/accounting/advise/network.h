// What tests of the network by nccl-tests say beside what the site expects of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/advise/advice.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Smaller messages are bound by latency.
inline constexpr std::int64_t kLargeMessage = std::int64_t{1} << 30U;

// Whether a message of so many bytes, at `busbw` bytes a second, is slower than `expected` GB/s. Nothing is
// slow where nothing is expected (0), or the message was small.
bool IsSlow(std::int64_t bytes, std::int64_t busbw, double expected);

// "178.46 GB/s", of 10^9 bytes a second; "8 GiB".
std::string BandwidthInWords(std::int64_t bytes_per_s);
std::string MessageInWords(std::int64_t bytes);

// The last test between nodes, if it was slow; else none.
std::vector<Advice> AdviseNetwork(const Timeline& timeline, double expected);

// The last of the tests between nodes, with its largest message; null where there was none.
const CollectiveTest* LastNetworkTest(const Timeline& timeline);

}  // namespace goodput
