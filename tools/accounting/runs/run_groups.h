// Which jobs form a run: those of one user with one run name on one cluster. A job without a run name is a
// run of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sql/tables/jobs.h"
#include "sql/tables/owners.h"

namespace goodput {

// `owners`: of the jobs with a name, at least. In the order of their first jobs.
std::vector<std::vector<JobKey>> GroupByRun(const std::vector<JobKey>& jobs,
                                            const std::map<JobKey, std::string>& names,
                                            const std::map<JobKey, Owner>& owners);

}  // namespace goodput
