// When a node was part of the fleet, with how many GPUs, and its condition while no job held it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// In order of precedence if several apply, except for the last two: kOff is a machine that was shut down to
// save money; kUnknown means that nothing was recorded.
enum class NodeCondition : std::uint8_t { kDown, kDrained, kCompleting, kIdle, kOff, kUnknown };
inline constexpr int kConditionCount = 6;
std::string_view ConditionName(NodeCondition condition);

// The controller's report about a node, valid from `t` until the next one or the end of the watch.
struct NodeWord {
  Ns t = 0;
  NodeCondition condition = NodeCondition::kIdle;
  bool gone = false;        // the node no longer exists
  std::optional<Ns> since;  // when it went down or was drained, which may be before the first look
  std::int64_t gpus = 0;
  std::string partitions;
};

// The condition that Slurm's state and flags mean.
NodeCondition ConditionOf(std::string_view state, const std::vector<std::string>& flags);

// An outage recorded by slurmdbd, also for times without a watch.
struct KnownOutage {
  Ns begin = 0;
  Ns end = 0;
  NodeCondition condition = NodeCondition::kDown;
};

struct NodeSpan {
  Ns begin = 0;
  Ns end = 0;
  NodeCondition condition = NodeCondition::kUnknown;
  std::int64_t gpus = 0;
  std::string partitions;

  friend bool operator==(const NodeSpan& a, const NodeSpan& b) {
    return a.begin == b.begin && a.end == b.end && a.condition == b.condition && a.gpus == b.gpus &&
           a.partitions == b.partitions;
  }
};
using NodeHistory = std::vector<NodeSpan>;  // in order; in gaps, the node was not part of the fleet

// `words` and `watched` (the times in which the watch ran) are sorted by time; a watch reports every node
// when it begins. A node reported at the begin of the first watch existed before, in unknown condition.
// Within [begin, end).
NodeHistory HistoryOf(const std::vector<NodeWord>& words, const std::vector<TimeSpan>& watched,
                      const std::vector<KnownOutage>& outages, Ns begin, Ns end);

}  // namespace goodput
