#include "tools/accounting/runs/components.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tools/accounting/timeline/host_use.h"

namespace goodput {
namespace {

// Every component counts its tasks from 0.
constexpr std::int32_t kTasksOfAComponent = 1 << 20;

template <typename Fact>
void Take(std::vector<Fact>& into, std::vector<Fact>& from, std::int32_t first_task) {
  for (Fact& fact : from) {
    fact.task += first_task;
    into.push_back(std::move(fact));
  }
}

// If one component lacks the time, the whole job has not reached it.
std::optional<Ns> Later(const std::optional<Ns>& a, const std::optional<Ns>& b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

std::string Join(const std::string& a, const std::string& b, const char* between) {
  if (a.empty() || b.empty()) return a + b;
  return a + between + b;
}

void AddComponent(AttemptFacts& whole, AttemptFacts component, std::int32_t number) {
  whole.submit = std::min(whole.submit, component.submit);
  whole.eligible = Later(whole.eligible, component.eligible);
  whole.start = Later(whole.start, component.start);
  whole.end = Later(whole.end, component.end);
  if (component.allocated && (!whole.allocated || *component.allocated < *whole.allocated))
    whole.allocated = component.allocated;
  if (!whole.preempt_time) whole.preempt_time = component.preempt_time;
  if (whole.preempted_by.empty()) whole.preempted_by = component.preempted_by;
  if (whole.taken_by.empty()) whole.taken_by = component.taken_by;
  if (whole.taken_node.empty()) whole.taken_node = component.taken_node;
  if (whole.operator_acted.empty()) whole.operator_acted = component.operator_acted;
  if (whole.failed_node.empty()) whole.failed_node = component.failed_node;
  if (component.noticed)
    whole.noticed = std::max(whole.noticed.value_or(*component.noticed), *component.noticed);
  if (whole.cancelled_by.empty()) whole.cancelled_by = component.cancelled_by;
  whole.down_nodes = Join(whole.down_nodes, component.down_nodes, "; ");
  whole.node_list = Join(whole.node_list, component.node_list, ",");
  whole.step_out_of_memory = whole.step_out_of_memory || component.step_out_of_memory;
  whole.nodes += component.nodes;
  whole.gpus += component.gpus;
  const std::int32_t first_task = number * kTasksOfAComponent;
  Take(whole.node_events, component.node_events, first_task);
  Take(whole.step_marks, component.step_marks, first_task);
  for (StepBlock& block : component.step_blocks) {
    block.first.task += first_task;
    block.last.task += first_task;
    whole.step_blocks.push_back(std::move(block));
  }
  Take(whole.step_ends, component.step_ends, first_task);
  Take(whole.rank_ends, component.rank_ends, first_task);
  Take(whole.marks, component.marks, first_task);
  Take(whole.save_blocks, component.save_blocks, first_task);
  whole.worlds.insert(whole.worlds.end(), component.worlds.begin(), component.worlds.end());
  if (component.spares) whole.spares = whole.spares.value_or(0) + *component.spares;
  for (SignalFact& signal : component.signals) {
    if (signal.task >= 0) signal.task += first_task;
    whole.signals.push_back(std::move(signal));
  }
  const auto append = [](auto& into, auto& from) { into.insert(into.end(), from.begin(), from.end()); };
  if (whole.checkpoint_signals.empty()) whole.checkpoint_signals = component.checkpoint_signals;
  append(whole.checkpoint_files, component.checkpoint_files);
  append(whole.last_seen, component.last_seen);
  append(whole.host_notices, component.host_notices);
  append(whole.hardware_errors, component.hardware_errors);
  append(whole.kernel_log_nodes, component.kernel_log_nodes);
  whole.gpu_use.Add(component.gpu_use);
  AddUse(component.host_use, whole.host_use);
  whole.steps_on_nodes += component.steps_on_nodes;
  if (component.cpus) whole.cpus = whole.cpus.value_or(0) + *component.cpus;
  if (component.memory_bytes) whole.memory_bytes = whole.memory_bytes.value_or(0) + *component.memory_bytes;
  append(whole.machines, component.machines);
  append(whole.lacks, component.lacks);
  append(whole.collectives, component.collectives);
  for (HangEvidence& found : component.hang_evidence) {
    if (found.task) *found.task += first_task;
    whole.hang_evidence.push_back(std::move(found));
  }
}

}  // namespace

void JoinComponents(std::vector<AttemptFacts>& attempts) {
  const auto is_component = [](const AttemptFacts& attempt) { return attempt.het_job.has_value(); };
  if (std::none_of(attempts.begin(), attempts.end(), is_component)) return;
  std::sort(attempts.begin(), attempts.end(), [](const AttemptFacts& a, const AttemptFacts& b) {
    return std::tie(a.job_id, a.submit) < std::tie(b.job_id, b.submit);
  });
  std::vector<AttemptFacts> joined;
  std::map<std::int64_t, std::int32_t> attempts_of;  // number of attempts of each component so far
  std::map<std::pair<std::int64_t, std::int32_t>, std::size_t> whole_of;
  for (AttemptFacts& attempt : attempts) {
    if (!attempt.het_job) {
      joined.push_back(std::move(attempt));
      continue;
    }
    // All components are requeued together, so the n-th attempts belong together.
    const std::int32_t ordinal = attempts_of[attempt.job_id]++;
    const auto [found, fresh] = whole_of.emplace(std::pair{*attempt.het_job, ordinal}, joined.size());
    if (fresh) {
      joined.push_back(std::move(attempt));
    } else {
      const auto number = static_cast<std::int32_t>(attempt.job_id - *attempt.het_job);
      AddComponent(joined[found->second], std::move(attempt), number);
    }
  }
  attempts = std::move(joined);
}

}  // namespace goodput
