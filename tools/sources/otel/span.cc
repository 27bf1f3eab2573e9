#include "tools/sources/otel/span.h"

#include <algorithm>
#include <array>

namespace goodput {
namespace {

struct Row {
  std::string_view name;
  SpanName is;
};

using Kind = Span::Kind;

// By name. Parts of startup and of saves have the names that NVIDIA Lens reports them by.
constexpr std::array kRows{
    Row{"megatron.checkpoint.exit_finalize", {Kind::kExitFinalize, "checkpoint_save.exit_finalize"}},
    Row{"megatron.checkpoint.exposed_save", {Kind::kExposedSave, {}}},
    Row{"megatron.checkpoint.ft_heartbeat", {Kind::kReport, "ft_heartbeat"}},
    Row{"megatron.checkpoint.load", {Kind::kLoad, {}}},
    Row{"megatron.checkpoint.save", {Kind::kSave, "checkpoint_save.dispatch"}},
    Row{"megatron.checkpoint.save.finalize", {Kind::kFinalize, "checkpoint_save.finalize"}},
    Row{"megatron.checkpoint.timers_log", {Kind::kSkewWait, "checkpoint_save.skew_wait"}},
    Row{"megatron.evaluate", {Kind::kEvaluate, "evaluation"}},
    Row{"megatron.startup", {Kind::kStartup, {}}},
    Row{"megatron.startup.arg_parse", {Kind::kStartupPart, "python_init"}},
    Row{"megatron.startup.container_load", {Kind::kBackdated, "container_load"}},
    Row{"megatron.startup.dataloader", {Kind::kStartupPart, "dataloader"}},
    Row{"megatron.startup.imports", {Kind::kStartupPart, "python_init"}},
    Row{"megatron.startup.in_job_setup", {Kind::kStartupPart, "megatron_init"}},
    Row{"megatron.startup.initialize_megatron", {Kind::kStartupPart, "megatron_init"}},
    Row{"megatron.startup.inprocess_setup", {Kind::kStartupPart, "megatron_init"}},
    Row{"megatron.startup.jit_fusion_options", {Kind::kStartupPart, "megatron_init"}},
    Row{"megatron.startup.launch_script", {Kind::kBackdated, "python_init"}},
    Row{"megatron.startup.model_init", {Kind::kStartupPart, "model_init"}},
    Row{"megatron.startup.sniff_test", {Kind::kStartupPart, "sniff_test"}},
    Row{"megatron.startup.weight_hash_check", {Kind::kStartupPart, "weight_hash_check"}},
    Row{"megatron.train.cuda_graph_capture", {Kind::kStartupPart, "graph_capture"}},
    Row{"megatron.train.first_iteration", {Kind::kFirstIteration, {}}},
    Row{"megatron.train.forward_pre_hook", {Kind::kReport, "forward_pre_hook"}},
    Row{"megatron.train.gc_collect", {Kind::kReport, "gc_collect"}},
    Row{"megatron.train.iteration", {Kind::kIteration, {}}},
    Row{"megatron.train.iteration_report", {Kind::kReport, "reporting"}},
    Row{"megatron.train.sniff_test", {Kind::kReport, "sniff_test"}},
    Row{"nvrx.restart.health_check", {Kind::kLaunch, "health_check"}},
    Row{"nvrx.restart.rendezvous", {Kind::kLaunch, "rendezvous"}},
    Row{"nvrx.restart.worker_launch", {Kind::kLaunch, "worker_launch"}},
    Row{"pre_startup", {Kind::kBackdated, "python_init"}},
    Row{"workload.startup.container_load", {Kind::kBackdated, "container_load"}},
    Row{"workload.startup.launch_script", {Kind::kBackdated, "python_init"}},
};

constexpr bool IsSorted() {
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name <= kRows[i - 1].name) return false;
  }
  return true;
}
static_assert(IsSorted());

}  // namespace

SpanName ReadSpanName(std::string_view name) {
  const auto* const found = std::lower_bound(kRows.begin(), kRows.end(), name,
                                             [](const Row& row, std::string_view n) { return row.name < n; });
  return found != kRows.end() && found->name == name ? found->is : SpanName{};
}

}  // namespace goodput
