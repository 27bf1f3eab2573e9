// The values of a command line of `sgoodput telemetry`: main.cc fills these in, and each command is a
// function of them.
#pragma once

#include <string>

namespace goodput {

struct TelemetryOptions {
  std::string config;   // --config FILE
  std::string db;       // or goodput.conf's
  std::string cluster;  // or goodput.conf's
  std::string state;    // what was sent; empty: telemetry.state beside the database
  std::string start;    // -S
  bool once = false;
};

int RunTelemetrySend(const TelemetryOptions& options);
int RunTelemetryStatus(const TelemetryOptions& options);

}  // namespace goodput
