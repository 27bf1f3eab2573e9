#include "tools/accounting/runs/allocated_nodes.h"

#include "sql/text.h"
#include "tools/base/hostlist.h"

namespace goodput {

AllocatedNodes::AllocatedNodes(Drafts& drafts, bool is_component) : known_(!is_component) {
  for (const auto& [submit, draft] : drafts) {
    const AttemptFacts& facts = draft.facts;
    // One that never started has none.
    if (!facts.start && facts.node_list.empty()) continue;
    const std::vector<std::string> names = ExpandHostList(facts.node_list);
    if (names.empty() || !facts.resizes.empty() || draft.nodes_changed) known_ = false;
    nodes_.insert(names.begin(), names.end());
  }
  if (nodes_.empty()) known_ = false;
}

bool AllocatedNodes::Believe(std::string_view node, std::int64_t records) {
  if (!known_) return true;
  if (node != last_) {
    last_ = std::string(node);
    last_is_ours_ = node.empty() || node.front() == '@' || nodes_.count(node) != 0;
  }
  if (!last_is_ours_) ignored_[last_] += records;
  return last_is_ours_;
}

std::vector<std::string> AllocatedNodes::Warnings(std::int64_t job_id) const {
  std::vector<std::string> warnings;
  for (const auto& [node, records] : ignored_) {
    warnings.push_back(Cat("job ", job_id, ": ignored ", records, " records from node ", node,
                           ", which Slurm did not give to this job"));
  }
  return warnings;
}

}  // namespace goodput
