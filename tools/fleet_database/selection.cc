#include "tools/fleet_database/selection.h"

#include <pwd.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/hostlist.h"
#include "tools/base/option_lists.h"
#include "tools/base/parse_time.h"

namespace goodput {
absl::StatusOr<FleetSelection> ReadFleetSelection(const FleetSelectOptions& options, absl::Time now) {
  FleetSelection select;
  select.clusters = options.all_clusters ? std::vector<std::string>{} : SplitLists(options.clusters);
  select.users = SplitLists(options.users);
  select.accounts = SplitLists(options.accounts);
  select.partitions = SplitLists(options.partitions);
  ASSIGN_OR_RETURN(select.states, SplitStates(options.states));
  select.names = SplitLists(options.names);
  select.jobs = SplitLists(options.jobs);
  for (const std::string& nodes : options.nodes) {
    for (std::string& node : ExpandHostList(nodes)) select.nodes.push_back(std::move(node));
  }
  select.truncate = options.truncate;
  // As sgoodput without --fleet-db: an ordinary user sees their own runs, everyone those since midnight.
  const passwd* const user = getpwuid(geteuid());
  if (select.users.empty() && !options.all_users && select.jobs.empty() && geteuid() != 0)
    select.users.emplace_back(user == nullptr ? std::to_string(geteuid()) : user->pw_name);
  const auto time = [&](const std::string& text, const char* option,
                        std::optional<Ns>& into) -> absl::Status {
    if (text.empty()) return absl::OkStatus();
    const absl::StatusOr<Ns> parsed = ParseTimeOption(text, now);
    if (!parsed.ok()) return Annotate(parsed.status(), option);
    into = *parsed;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      time(options.start.empty() && select.jobs.empty() ? "midnight" : options.start, "-S", select.start));
  RETURN_IF_ERROR(time(options.end, "-E", select.end));
  if (select.start && select.end && *select.start > *select.end)
    return absl::InvalidArgumentError("-S is after -E");
  return select;
}

}  // namespace goodput
