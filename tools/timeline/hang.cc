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

// Told to stop long before its end (--signal=USR1@300), it did not stir.
bool DidNothingBetween(const Timeline& timeline, int attempt, Ns from, Ns to) {
  const auto between = [&](Ns t) { return t >= from && t < to; };
  return std::none_of(timeline.incarnations.begin(), timeline.incarnations.end(),
                      [&](const Incarnation& one) { return one.attempt == attempt && between(one.begin); }) &&
         std::none_of(timeline.checkpoints.begin(), timeline.checkpoints.end(),
                      [&](const Checkpoint& one) { return between(one.begin); });
}

}  // namespace

void NameHangs(Timeline& timeline) {
  for (Interruption& interruption : timeline.interruptions) {
    if (!MayBeBecauseOfAHang(interruption.cause)) continue;
    const auto stall = std::find_if(timeline.stalls.begin(), timeline.stalls.end(), [&](const Stall& one) {
      return !one.recovered && one.attempt == interruption.attempt && one.ns >= kHang &&
             one.begin < interruption.time &&
             (one.end >= interruption.time - kWayOut ||
              DidNothingBetween(timeline, one.attempt, one.end, interruption.time));
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
