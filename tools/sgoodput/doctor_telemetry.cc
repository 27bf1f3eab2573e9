// `sgoodput doctor`: does telemetry arrive?
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/text.h"
#include "tools/base/subprocess.h"
#include "tools/sgoodput/findings.h"
#include "tools/sgoodput/installed_program.h"

namespace goodput {

void CheckTelemetry(const Config& config, const std::string& config_file, Findings& findings) {
  if (config.otlp.empty()) return;
  std::vector<std::string> command{InstalledProgram("telemetry", "goodput-telemetry"), "telemetry", "status"};
  if (!config_file.empty()) {
    command.emplace_back("--config");
    command.push_back(config_file);
  }
  CommandOptions options;
  options.timeout = absl::Seconds(30);
  const absl::StatusOr<CommandResult> answer = RunCommand(command, options);
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
