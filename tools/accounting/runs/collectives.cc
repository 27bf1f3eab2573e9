#include "tools/accounting/runs/collectives.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// A Slurm step on all its nodes.
struct StepSpan {
  Ns begin = std::numeric_limits<Ns>::max();
  Ns end = std::numeric_limits<Ns>::max();
  std::set<std::string> nodes;
};

std::map<std::int32_t, StepSpan> StepsOf(const AttemptFacts& attempt,
                                         const std::vector<std::string_view>& names) {
  std::map<std::int32_t, StepSpan> steps;
  std::map<std::int32_t, Ns> ends;
  for (const NodeEvent& event : attempt.node_events) {
    if (event.slurm_step < 0 || event.node < 0) continue;
    StepSpan& step = steps[event.slurm_step];
    step.begin = std::min(step.begin, event.t);
    step.nodes.emplace(names[static_cast<std::size_t>(event.node)]);
    if (event.kind == NodeEvent::Kind::kStepEnd) {
      Ns& end = ends[event.slurm_step];
      end = std::max(end, event.t);
    }
  }
  for (const auto& [number, end] : ends) steps[number].end = end;
  return steps;
}

// The step to which the test's line belongs; where the output is read, not all steps are known. Null: none;
// absent: one of several, unknown which.
std::optional<const StepSpan*> StepOf(const CollectiveTest& test,
                                      const std::map<std::int32_t, StepSpan>& steps) {
  const StepSpan* alive = nullptr;
  for (const auto& [number, step] : steps) {
    if (test.t < step.begin || test.t > step.end) continue;
    if (alive != nullptr) return std::nullopt;
    alive = &step;
  }
  if (alive != nullptr) return alive;
  const auto said = steps.find(test.slurm_step);
  return said == steps.end() ? nullptr : &said->second;
}

// A host's name need not be its node's, as in a container with a name of its own.
bool AreNodesOf(const AttemptFacts& attempt, const std::vector<std::string>& hosts) {
  if (attempt.node_list.empty()) return true;
  const std::vector<std::string> list = ExpandHostList(attempt.node_list);
  const std::set<std::string> nodes(list.begin(), list.end());
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return nodes.count(host) != 0; });
}

void NameNodes(const std::vector<std::string_view>& names, AttemptFacts& attempt) {
  const std::map<std::int32_t, StepSpan> steps = StepsOf(attempt, names);
  for (CollectiveTest& test : attempt.collectives) {
    if (!test.nodes.empty() && AreNodesOf(attempt, test.nodes)) continue;
    test.nodes.clear();
    const std::optional<const StepSpan*> step = StepOf(test, steps);
    if (!step) continue;
    test.nodes = *step == nullptr ? ExpandHostList(attempt.node_list)
                                  : std::vector<std::string>((*step)->nodes.begin(), (*step)->nodes.end());
  }
}

}  // namespace

void NameNodesOfCollectives(const FactNodes& nodes, std::vector<AttemptFacts>& attempts) {
  const std::vector<std::string_view> names = nodes.Names();
  for (AttemptFacts& attempt : attempts) {
    if (!attempt.collectives.empty()) NameNodes(names, attempt);
  }
}

}  // namespace goodput
