// `sgoodput doctor`: does the exchange with Google Cloud work?
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sgoodput/cloud_state.h"
#include "tools/sgoodput/findings.h"

namespace goodput {

void CheckCloud(const Config& config, Findings& findings) {
  const bool asked = !CloudParts(config, {}).empty();
  if (!asked) return;
  const std::string file = CloudStateFile(config.database);
  const absl::StatusOr<std::optional<CloudState>> state = LoadCloudState(file);
  const std::string hint = "see sgoodput cloud status, and systemctl status goodput-cloud";
  if (!state.ok()) return findings.Bad(Cat(file, ": ", Message(state.status())), hint);
  bool good = true;
  for (const NamedCloudPart& one : CloudParts(config, state->value_or(CloudState{}))) {
    if (!one.IsBad(absl::GetCurrentTimeNanos())) continue;
    good = false;
    const std::string why = one.part.problem.empty() ? "not done for ten minutes" : one.part.problem;
    findings.Bad(Cat("Google Cloud: ", Printable(one.name), ": ", Printable(why)), hint);
  }
  if (good) findings.Good("the exchange with Google Cloud works");
}

}  // namespace goodput
