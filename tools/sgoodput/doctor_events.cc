// `sgoodput doctor`: do events reach the administrator's program and URL?
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sgoodput/events_deliver.h"
#include "tools/sgoodput/events_state.h"
#include "tools/sgoodput/findings.h"

namespace goodput {
namespace {

constexpr Ns kLateLook = 600 * kSecond;
constexpr const char* kEventsHint = "see sgoodput events status, and systemctl status goodput-events";

}  // namespace

void CheckEvents(const Config& config, Findings& findings) {
  const std::vector<EventTarget> targets = EventTargets(config);
  if (targets.empty()) return;
  const int before = findings.bad();
  if (!config.event_program.empty()) {
    const absl::Status good = CheckEventProgram(config.event_program);
    if (!good.ok())
      findings.Bad(Cat("event_program: ", Message(good)), "let root own it, and only root write to it");
  }
  const std::string file = EventsStateFile(config.database);
  const absl::StatusOr<std::optional<EventsState>> loaded = LoadEventsState(file);
  if (!loaded.ok()) return findings.Bad(Cat(file, ": ", Message(loaded.status())), kEventsHint);
  const EventsState state = loaded->value_or(EventsState{});
  if (!state.problem.empty()) {
    findings.Bad(Cat("events: ", state.problem), kEventsHint);
  } else if (absl::GetCurrentTimeNanos() - state.looked > kLateLook) {
    findings.Bad("events: not looked for in the last ten minutes", kEventsHint);
  }
  for (const EventTarget target : targets) {
    const auto found = state.targets.find(target);
    if (found == state.targets.end()) continue;
    if (!found->second.problem.empty())
      findings.Bad(Cat(EventTargetName(target), ": ", found->second.problem), kEventsHint);
    if (found->second.dropped > 0)
      findings.Note(Cat(EventTargetName(target), ": ", found->second.dropped,
                        " events were dropped, not taken within a day or more than 1,000 at once"));
  }
  if (findings.bad() == before) findings.Good("events are looked for, and taken");
}

}  // namespace goodput
