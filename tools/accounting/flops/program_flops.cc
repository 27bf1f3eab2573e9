#include "tools/accounting/flops/program_flops.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/flops/step_flops.h"

namespace goodput {
namespace {

// FLOPs per step of one job; absent if it declared none.
absl::StatusOr<std::optional<double>> FlopsPerStep(const DeclaredFlops& declared) {
  if (declared.flops_per_step) return declared.flops_per_step;
  if (declared.model.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const ModelShape model, ParseModel(declared.model));
  return FlopsOfStep(model);
}

// Of its model; absent if it declared FLOPs without one.
std::optional<double> TokensPerStep(const DeclaredFlops& declared) {
  if (declared.flops_per_step || declared.model.empty()) return std::nullopt;
  const absl::StatusOr<ModelShape> model = ParseModel(declared.model);
  return model.ok() ? std::optional(model->tokens_per_step) : std::nullopt;
}

}  // namespace

absl::StatusOr<ProgramFlops> FlopsOfProgram(const std::vector<DeclaredFlops>& declared,
                                            const std::set<std::string>& gpu_types,
                                            const std::vector<GpuPeak>& more_peaks) {
  std::set<double> flops;
  std::set<std::optional<double>> tokens;
  std::set<std::string> precisions;
  for (const DeclaredFlops& job : declared) {
    ASSIGN_OR_RETURN(const std::optional<double> of_step, FlopsPerStep(job));
    if (of_step) flops.insert(*of_step);
    if (of_step) tokens.insert(TokensPerStep(job));
    if (!job.precision.empty()) precisions.insert(job.precision);
  }
  const auto refuse = [](const std::string& reason) { return absl::FailedPreconditionError(reason); };
  if (flops.empty()) {
    return refuse("the FLOPs per step are not known (set --goodput-flops-per-step or --goodput-model)");
  }
  if (flops.size() > 1) return refuse("its jobs declare different FLOPs per step");
  if (precisions.empty()) return refuse("the precision is not known (set --goodput-precision)");
  if (precisions.size() > 1)
    return refuse(Cat("its jobs declare different precisions: ", absl::StrJoin(precisions, ", ")));
  if (gpu_types.empty()) {
    return refuse(
        "Slurm does not report the type of its GPUs (set Type in gres.conf, and gres/gpu:TYPE in "
        "AccountingStorageTRES)");
  }
  std::set<double> peaks;
  for (const std::string& type : gpu_types) {
    ASSIGN_OR_RETURN(const double peak, PeakFlops(more_peaks, type, *precisions.begin()));
    peaks.insert(peak);
  }
  const std::string types = absl::StrJoin(gpu_types, ", ");
  if (peaks.size() > 1) return refuse(Cat("its GPUs are of several types: ", types));
  ProgramFlops program;
  program.flops_per_step = *flops.begin();
  program.peak_flops = *peaks.begin();
  if (tokens.size() == 1) program.tokens_per_step = *tokens.begin();
  program.evidence =
      Cat(absl::StrFormat("%.3g", program.flops_per_step), " FLOPs per step as declared; peak ",
          absl::StrFormat("%.6g", program.peak_flops / 1e12), " TFLOP/s per GPU (", types, ", ",
          *precisions.begin(), ")");
  return program;
}

}  // namespace goodput
