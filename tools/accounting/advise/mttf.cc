// Estimates the MTTF. Boost is included only here and in tools/accounting/rollup/node_chance.cc.
#include "tools/accounting/advise/mttf.h"

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace goodput {
namespace {

constexpr double kSecondsPerDay = 86400;

// The value below which a chi-squared variable with `dof` degrees of freedom stays with probability `p`.
double ChiSquaredQuantile(double p, double dof) {
  return 2 * boost::math::gamma_p_inv(dof / 2, p);
}

}  // namespace

MttfEstimate EstimateMttf(double up_s, std::int64_t failures) {
  if (failures <= 0) return {std::nullopt, up_s / std::log(10.0), std::nullopt};
  const auto n = static_cast<double>(failures);
  return {up_s / n, 2 * up_s / ChiSquaredQuantile(0.95, 2 * n + 2),
          2 * up_s / ChiSquaredQuantile(0.05, 2 * n)};
}

double MttfOfNodes(double nodes, double failures_per_node_day) {
  return kSecondsPerDay / (nodes * failures_per_node_day);
}

double FailuresPerNodeDay(double nodes, double mttf_s) {
  return kSecondsPerDay / (nodes * mttf_s);
}

}  // namespace goodput
