// Numbers the nodes in the facts of one run: a large job has millions of facts about thousands of nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

class FactNodes {
 public:
  // The node's number; assigns one on first use.
  std::int32_t Of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto next = static_cast<std::int32_t>(numbers_.size());
    return numbers_.emplace(name, next).first->second;
  }

  // By number.
  std::vector<std::string_view> Names() const {
    std::vector<std::string_view> names(numbers_.size());
    for (const auto& [name, number] : numbers_) names[static_cast<std::size_t>(number)] = name;
    return names;
  }

  // Renumbers the nodes of these attempts in the order of their names, independent of the order of first use.
  void Settle(std::vector<AttemptFacts>& attempts) {
    std::vector<std::int32_t> place(numbers_.size());
    std::int32_t next = 0;
    bool in_place = true;
    for (auto& [name, number] : numbers_) {
      in_place = in_place && number == next;
      place[static_cast<std::size_t>(number)] = next;
      number = next++;
    }
    if (in_place) return;
    for (AttemptFacts& attempt : attempts) {
      for (NodeEvent& event : attempt.node_events) {
        if (event.node >= 0) event.node = place[static_cast<std::size_t>(event.node)];
      }
    }
  }

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

}  // namespace goodput
