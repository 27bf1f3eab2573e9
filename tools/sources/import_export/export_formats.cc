#include "tools/sources/import_export/export_formats.h"

#include "absl/strings/str_format.h"
#include "tools/sources/import_export/folded_export.h"
#include "tools/sources/import_export/google_export.h"
#include "tools/sources/import_export/otlp_export.h"
#include "tools/sources/import_export/spool_export.h"
#include "tools/sources/import_export/summary_export.h"
#include "tools/sources/import_export/trace_export.h"

namespace goodput {

const std::vector<ExportFormat>& ExportFormats() {
  static const auto* const formats = new std::vector<ExportFormat>{
      {"google-goodput", "the log of Google's goodput library", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportGoogleLog(*run.facts, *run.timeline, run.name, write);
       }},
      {"spool", "the records as the nodes wrote them", true,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportSpoolRecords(run.db, run.jobs, write);
       }},
      {"trace", "a timeline for ui.perfetto.dev or chrome://tracing", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportTrace(*run.timeline, run.name, write);
       }},
      {"otlp", "a trace of OpenTelemetry, as JSON for /v1/traces", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportOtlpTrace(*run.info, *run.timeline, write);
       }},
      {"folded", "seconds by cause, for flamegraph.pl or speedscope", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportFoldedStacks(*run.timeline, run.name, write);
       }},
      {"wandb-summary", "numbers for run.summary.update() of Weights & Biases", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportWandbSummary(*run.timeline, write);
       }},
      {"mlflow", "numbers for MLflow's runs/log-batch", false,
       [](const ExportedRun& run, const WriteText& write) {
         return ExportMlflowBatch(*run.timeline, run.name, write);
       }},
  };
  return *formats;
}

const ExportFormat* FindExportFormat(std::string_view name) {
  for (const ExportFormat& format : ExportFormats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::vector<std::string> ExportFormatNames() {
  std::vector<std::string> names;
  for (const ExportFormat& format : ExportFormats()) names.emplace_back(format.name);
  return names;
}

std::string DescribeExportFormats() {
  std::string text = "\nFormats:\n";
  for (const ExportFormat& format : ExportFormats()) {
    text += absl::StrFormat("  %-15s %s\n", std::string(format.name), std::string(format.what));
  }
  return text;
}

}  // namespace goodput
