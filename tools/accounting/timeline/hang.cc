#include "tools/accounting/timeline/hang.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace goodput {
namespace {

// Maximum time from the end of the stall, possibly by a signal, to the end of the attempt: KillWait, and what
// the script did.
constexpr Ns kWayOut = 120 * kSecond;

bool MayBeBecauseOfAHang(std::string_view cause) {
  constexpr std::array<std::string_view, 5> kCauses{"timeout", "cancelled", "user_requeue", "failed",
                                                    "unknown"};
  return std::find(kCauses.begin(), kCauses.end(), cause) != kCauses.end();
}

// It was told to stop long before its end (--signal=USR1@300) and did nothing.
bool DidNothingBetween(const Timeline& timeline, int attempt, Ns from, Ns to) {
  const auto between = [&](Ns t) { return t >= from && t < to; };
  return std::none_of(timeline.incarnations.begin(), timeline.incarnations.end(),
                      [&](const Incarnation& one) { return one.attempt == attempt && between(one.begin); }) &&
         std::none_of(timeline.checkpoints.begin(), timeline.checkpoints.end(),
                      [&](const Checkpoint& one) { return between(one.begin); });
}

}  // namespace

std::optional<Ns> HeardUntil(const RunFacts& facts, const AttemptFacts& attempt,
                             const IncarnationFacts& program) {
  if (attempt.end || attempt.last_seen.empty() || program.steps.empty()) return std::nullopt;
  const std::int32_t source = program.steps.back().ref.source;
  if (source < 0 || static_cast<std::size_t>(source) >= facts.sources.size()) return std::nullopt;
  const std::string file = facts.SourceName(static_cast<std::size_t>(source));
  const std::string node = file.substr(0, file.find('/'));
  std::optional<Ns> heard;
  for (const LastSeen& seen : attempt.last_seen) {
    if (seen.node == node) heard = std::max(heard.value_or(seen.t), seen.t);
  }
  if (heard && facts.now - *heard < kHang) heard = facts.now;
  return heard;
}

std::optional<Ns> NoProgressSince(const Timeline& timeline) {
  if (!timeline.running || timeline.stalls.empty()) return std::nullopt;
  const Stall& last = timeline.stalls.back();
  if (last.recovered || timeline.end - last.end >= kHang || last.ns < kHang) return std::nullopt;
  const bool of_the_last = last.attempt + 1 == static_cast<int>(timeline.attempts.size());
  return of_the_last ? std::optional(last.last_progress) : std::nullopt;
}

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
    interruption.evidence.push_back("no progress for " +
                                    std::to_string((stall->end - stall->last_progress) / kSecond) +
                                    " s before it ended; otherwise the cause would be " + interruption.cause);
    interruption.cause = "hang";
    interruption.planned = false;
  }
}

}  // namespace goodput
