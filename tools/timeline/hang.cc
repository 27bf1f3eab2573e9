#include "tools/timeline/hang.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace goodput {
namespace {

// From the end of the stall, be it a signal, to the end of the attempt: KillWait, and whatever the script
// did.
constexpr Ns kWayOut = 120 * kSecond;

bool MayBeBecauseOfAHang(std::string_view cause) {
  constexpr std::array<std::string_view, 5> kCauses{"timeout", "cancelled", "user_requeue", "failed",
                                                    "unknown"};
  return std::find(kCauses.begin(), kCauses.end(), cause) != kCauses.end();
}

}  // namespace

void NameHangs(Timeline& timeline) {
  for (Interruption& interruption : timeline.interruptions) {
    if (!MayBeBecauseOfAHang(interruption.cause)) continue;
    const auto stall = std::find_if(timeline.stalls.begin(), timeline.stalls.end(), [&](const Stall& one) {
      return !one.recovered && one.attempt == interruption.attempt && one.ns >= kHang &&
             one.begin < interruption.time && one.end >= interruption.time - kWayOut;
    });
    if (stall == timeline.stalls.end()) continue;
    interruption.evidence.push_back("it had made no progress for " +
                                    std::to_string((stall->end - stall->last_progress) / kSecond) +
                                    " s; otherwise the cause would be " + interruption.cause);
    interruption.cause = "hang";
    interruption.planned = false;
  }
}

}  // namespace goodput
