#include "tools/accounting/timeline/incarnation_facts.h"

#include <algorithm>

namespace goodput {

Ns NetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end) {
  if (begin >= end) return 0;
  Ns net = end - begin;
  auto it = std::lower_bound(cuts.begin(), cuts.end(), begin,
                             [](const TimeSpan& span, Ns value) { return span.end <= value; });
  for (; it != cuts.end() && it->begin < end; ++it)
    net -= std::min(end, it->end) - std::max(begin, it->begin);
  return net;
}

Ns AfterNetTime(const std::vector<TimeSpan>& cuts, Ns begin, Ns end, Ns net) {
  auto it = std::lower_bound(cuts.begin(), cuts.end(), begin,
                             [](const TimeSpan& span, Ns value) { return span.end <= value; });
  Ns at = begin;
  for (; it != cuts.end() && it->begin < end; ++it) {
    const Ns stretch = std::max<Ns>(0, it->begin - at);
    if (net <= stretch) return at + net;
    net -= stretch;
    at = std::max(at, it->end);
  }
  return std::min(end, at + net);
}

}  // namespace goodput
