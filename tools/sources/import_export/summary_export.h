// Writes a run's numbers for experiment trackers, each under the names "goodput/...".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// A JSON object from name to number, for run.summary.update() of Weights & Biases. What is not known is left
// out.
absl::Status ExportWandbSummary(const Timeline& timeline,
                                const std::function<absl::Status(std::string_view)>& write);

// The body of MLflow's POST /api/2.0/mlflow/runs/log-batch, without the run_id, which the caller adds. The
// time of the metrics is the end of the run.
absl::Status ExportMlflowBatch(const Timeline& timeline, const std::string& name,
                               const std::function<absl::Status(std::string_view)>& write);

}  // namespace goodput
