// The formats of `sgoodput export`, one entry each: its name, what it is, and the function that writes it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/tables/jobs.h"
#include "tools/accounting/runs/load_run.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// What is exported. `facts`, `timeline` and `info` are null for a format that `is_records`.
struct ExportedRun {
  Database& db;
  const std::vector<JobKey>& jobs;
  std::string name;
  const RunFacts* facts = nullptr;
  const Timeline* timeline = nullptr;
  const RunInfo* info = nullptr;
};

// Gets text in complete lines; an error it returns ends the export.
using WriteText = std::function<absl::Status(std::string_view)>;

struct ExportFormat {
  std::string_view name;
  std::string_view what;    // what it is and who reads it, for --help
  bool is_records = false;  // the records themselves, without a report
  absl::Status (*write)(const ExportedRun&, const WriteText&) = nullptr;
};

// The first is the default.
const std::vector<ExportFormat>& ExportFormats();

// Null if there is none of this name.
const ExportFormat* FindExportFormat(std::string_view name);

// Their names, in order.
std::vector<std::string> ExportFormatNames();

// A line each, for --help.
std::string DescribeExportFormats();

}  // namespace goodput
