// When a node was part of the fleet, with how many GPUs, and what it was in when no job held it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// In the order of precedence, where several are true, except for the last two: kOff is a machine that was not
// there, shut down to save money; kUnknown that nobody looked.
enum class NodeCondition : std::uint8_t { kDown, kDrained, kCompleting, kIdle, kOff, kUnknown };
inline constexpr int kConditionCount = 6;
std::string_view ConditionName(NodeCondition condition);

// The controller's word about a node, true from `t` until the next, or until nobody looked any more.
struct NodeWord {
  Ns t = 0;
  NodeCondition condition = NodeCondition::kIdle;
  bool gone = false;        // it is no longer there
  std::optional<Ns> since;  // when it went down or was drained, which may be before somebody looked
  std::int64_t gpus = 0;
  std::string partitions;
};

// As Slurm says it.
NodeCondition ConditionOf(std::string_view state, const std::vector<std::string>& flags);

// What slurmdbd knows also of times in which nobody looked.
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
using NodeHistory = std::vector<NodeSpan>;  // in order; between them it was no part of the fleet

// `words` and `watched`, the times in which somebody looked, by time; a look that begins a watch says a word
// of every node there is. A node that was there at the first of all looks was there before, in a condition
// nobody knows. Within [begin, end).
NodeHistory HistoryOf(const std::vector<NodeWord>& words, const std::vector<TimeSpan>& watched,
                      const std::vector<KnownOutage>& outages, Ns begin, Ns end);

}  // namespace goodput
