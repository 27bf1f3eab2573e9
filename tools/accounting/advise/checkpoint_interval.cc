#include "tools/accounting/advise/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

namespace goodput {

std::optional<double> YoungInterval(double mttf, double save) {
  if (save <= 0) return std::nullopt;
  return std::sqrt(2 * save * mttf);
}

std::optional<double> DalyInterval(double mttf, double save) {
  if (save <= 0) return std::nullopt;
  if (save >= 2 * mttf) return mttf;
  const double ratio = save / (2 * mttf);
  return std::sqrt(2 * save * mttf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - save;
}

std::optional<double> PoissonInterval(double mttf, double save) {
  if (save <= 0) return std::nullopt;
  // With t = interval / M and d = save / M, the derivative is 0 where t + e^-(t+d) - 1 = 0. That function is
  // convex and increasing in t, so after the first step Newton's method approaches the root from the right.
  const double d = save / mttf;
  double t = std::min(1.0, std::sqrt(2 * d));
  for (int i = 0; i < 60; ++i) {
    const double slope = -std::expm1(-(t + d));
    const double step = (t - slope) / slope;
    t -= step;
    if (std::abs(step) <= 1e-15 * t) break;
  }
  return t * mttf;
}

double PoissonGoodput(double mttf, double save, double restart, double interval) {
  if (interval <= 0) return 0;
  return interval / (mttf * std::exp(restart / mttf) * std::expm1((interval + save) / mttf));
}

std::optional<double> SaxenaInterval(double mttf, double save, double restart) {
  if (save <= 0) return std::nullopt;
  return save + std::sqrt(2 * (mttf + restart) * save + save * save);
}

double Ettr(double mttf, double save, double restart, double interval) {
  if (interval <= 0) return 0;
  return std::max(0.0, (1 - (restart + interval / 2) / mttf) / (1 + save / interval));
}

std::optional<double> EttrInterval(double mttf, double save) {
  return YoungInterval(mttf, save);
}

}  // namespace goodput
