// goodput-telemetry: what sgoodput executes for `sgoodput telemetry`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "config.h"
#include "tools/base/help_formatter.h"
#include "tools/telemetry/options.h"

namespace {

constexpr int kBadUsage = 2;

constexpr const char* kExamples = R"(
Sends the GPU time and goodput of ended runs as metrics, and each run as a trace, to a collector of OpenTelemetry or to
any service that takes OTLP over HTTP: `otlp` in goodput.conf, or OTEL_EXPORTER_OTLP_ENDPOINT. goodput-telemetry.service
runs it on the controller.

Examples:
  sgoodput telemetry send --once                      on the controller: send what is new now
  sgoodput telemetry send --once -S now-30days        also the traces of the last 30 days
  sgoodput telemetry status                           what was sent, and what was refused
  sgoodput export --format=otlp 1234                  the trace of one run, for curl

Exit status: 0 sent, 1 a server refused something or did not answer, 2 bad usage, or the database cannot be read.)";

int ParseAndRun(int argc, char** argv) {
  CLI::App app{"Sends the runs of this cluster to OpenTelemetry.", "sgoodput"};
  app.formatter(std::make_shared<goodput::HelpFormatter>());
  app.set_version_flag("-V,--version", std::string("sgoodput ") + PACKAGE_VERSION);
  app.require_subcommand(1);
  CLI::App* telemetry = app.add_subcommand("telemetry", "send metrics and traces to OpenTelemetry");
  telemetry->require_subcommand(1);
  telemetry->footer(kExamples);
  goodput::TelemetryOptions options;
  CLI::App* send = telemetry->add_subcommand("send", "send what is new, and continue until killed");
  CLI::App* status = telemetry->add_subcommand("status", "what was sent, and what was refused");
  for (CLI::App* command : {send, status}) {
    command->add_option("--config", options.config, "read FILE instead of /etc/slurm-goodput/goodput.conf")
        ->type_name("FILE");
    command->add_option("--db", options.db, "read the database FILE")->type_name("FILE");
    command
        ->add_option("--state", options.state,
                     "keep what was sent in FILE (telemetry.state beside the database)")
        ->type_name("FILE");
  }
  send->add_option("-M,--cluster", options.cluster, "name of this cluster")->type_name("CLUSTER");
  send->add_flag("--once", options.once, "send everything that is new, and exit");
  send->add_option("-S,--starttime", options.start,
                   "send the traces of attempts that ended after TIME (the first time: since yesterday)")
      ->type_name("TIME");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "sgoodput: telemetry: %s; see sgoodput telemetry --help\n", error.what());
    return kBadUsage;
  }
  return *status ? goodput::RunTelemetryStatus(options) : goodput::RunTelemetrySend(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sgoodput: %s\n", error.what());
    return kBadUsage;
  }
}
