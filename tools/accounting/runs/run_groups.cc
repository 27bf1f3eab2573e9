#include "tools/accounting/runs/run_groups.h"

#include <cstddef>
#include <tuple>

namespace goodput {

std::vector<std::vector<JobKey>> GroupByRun(const std::vector<JobKey>& jobs,
                                            const std::map<JobKey, std::string>& names,
                                            const std::map<JobKey, Owner>& owners) {
  std::vector<std::vector<JobKey>> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> group_of;
  for (const JobKey& job : jobs) {
    const auto name = names.find(job);
    if (name == names.end()) {
      groups.push_back({job});
      continue;
    }
    const auto [found, fresh] =
        group_of.try_emplace({job.cluster, owners.at(job).user, name->second}, groups.size());
    if (fresh) {
      groups.push_back({job});
    } else {
      groups[found->second].push_back(job);
    }
  }
  return groups;
}

}  // namespace goodput
