// How likely it is that a node's failures are due to chance.
#pragma once

#include <cstdint>

namespace goodput {

// If each of `all` failures struck a node with a probability equal to its share of the node-time, how likely
// is it that some node of `nodes` has at least as many as this one? The upper tail of a binomial
// distribution, times the number of nodes (Bonferroni), at most 1. `share` is within [0, 1].
double ChanceOfFailures(std::int64_t failures, std::int64_t all, double share, std::int64_t nodes);

}  // namespace goodput
