#include "tools/accounting/rollup/node_chance.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>

namespace goodput {

double ChanceOfFailures(std::int64_t failures, std::int64_t all, double share, std::int64_t nodes) {
  if (failures <= 0 || share >= 1) return 1;
  if (share <= 0) return 0;
  // P(X >= k) for n trials is the regularized incomplete beta function I_p(k, n - k + 1).
  const double tail =
      boost::math::ibeta(static_cast<double>(failures), static_cast<double>(all - failures + 1), share);
  return std::min(1.0, tail * static_cast<double>(nodes));
}

}  // namespace goodput
