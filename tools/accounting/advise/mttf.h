// Mean time to failure, from counted failures with a confidence interval, or from a failure rate.
#pragma once

#include <cstdint>
#include <optional>

namespace goodput {

struct MttfEstimate {
  std::optional<double> mttf_s;  // absent if there was no failure
  double low_s = 0;              // the 90 % confidence interval; a one-sided bound if there was no failure
  std::optional<double> high_s;  // absent: unbounded
};

// `failures` in `up_s` seconds, as a Poisson process: 2 up / chi2(.95; 2n + 2) and 2 up / chi2(.05; 2n)
// (Garwood's interval, inverted). Without failures, the MTTF is at least up / ln 10 with 90 % confidence.
MttfEstimate EstimateMttf(double up_s, std::int64_t failures);

// The MTTF of a job on `nodes` nodes that fail independently.
double MttfOfNodes(double nodes, double failures_per_node_day);
double FailuresPerNodeDay(double nodes, double mttf_s);

}  // namespace goodput
