// `sgoodput doctor`: does telemetry arrive?
#include <string>

#include "absl/status/statusor.h"
#include "sql/text.h"
#include "tools/base/installed_program.h"
#include "tools/sgoodput/findings.h"
#include "tools/sgoodput/program_call.h"

namespace goodput {

void CheckTelemetry(const Config& config, const std::string& config_file, Findings& findings) {
  if (config.otlp.empty()) return;
  const absl::StatusOr<CommandResult> answer = AskInstalledProgram(
      InstalledProgram("telemetry", "goodput-telemetry"), {"telemetry", "status"}, config_file);
  if (!answer.ok()) {
    findings.Bad(Cat("telemetry: ", Message(answer.status())), "install slurm-goodput completely");
  } else if (answer->exit_code == 0) {
    findings.Good("telemetry was delivered within five minutes");
  } else {
    findings.Bad("telemetry is not delivered, or a server refuses it",
                 "see sgoodput telemetry status, and systemctl status goodput-telemetry");
  }
}

}  // namespace goodput
