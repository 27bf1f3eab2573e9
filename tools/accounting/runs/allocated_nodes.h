// The nodes that Slurm gave to a job. Records about it from any other node are not believed: root of that
// node can write what it wants.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/runs/drafts.h"

namespace goodput {

class AllocatedNodes {
 public:
  // By the node lists of accounting and of the queue. Every node is believed if one of the attempts has no
  // list, if the job was resized, since only its last list is known, or if it is a component of a
  // heterogeneous job, whose tasks may report by the id of another component.
  AllocatedNodes(Drafts& drafts, bool is_component);

  // Whether a record of `node` may be about the job. Counts those that may not. Names that begin with @ are
  // not nodes.
  bool Believe(std::string_view node, std::int64_t records = 1);
  // One for each node that was not believed.
  std::vector<std::string> Warnings(std::int64_t job_id) const;

 private:
  bool known_;
  std::set<std::string, std::less<>> nodes_;
  std::map<std::string, std::int64_t, std::less<>> ignored_;
  // Of the last question, since most records come from the node of the one before.
  std::string last_;
  bool last_is_ours_ = true;
};

}  // namespace goodput
