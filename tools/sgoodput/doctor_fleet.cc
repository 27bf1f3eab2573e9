// `sgoodput doctor`: are the runs sent to the fleet database?
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "sql/text.h"
#include "tools/sgoodput/findings.h"
#include "tools/sgoodput/fleet_program.h"
#include "tools/sgoodput/program_call.h"

namespace goodput {

void CheckFleetDatabase(const Config& config, const std::string& config_file, Findings& findings) {
  if (config.fleet.empty()) return;
  const absl::StatusOr<CommandResult> answer =
      AskInstalledProgram(FleetProgram(), {"fleet", "status"}, config_file);
  if (!answer.ok()) {
    findings.Bad(Cat("fleet database: ", Message(answer.status())), "install slurm-goodput completely");
    return;
  }
  if (answer->exit_code == 0) {
    findings.Good("the fleet database has the runs of this cluster");
    return;
  }
  std::string problem(absl::StripPrefix(answer->err, "sgoodput: "));
  absl::StripAsciiWhitespace(&problem);
  if (problem.empty()) {
    findings.Bad("the fleet database is more than five minutes behind, or runs cannot be sent",
                 "see sgoodput fleet status, and systemctl status goodput-fleet");
  } else {
    findings.Bad(problem, "see docs/fleet.md, and systemctl status goodput-fleet");
  }
}

}  // namespace goodput
