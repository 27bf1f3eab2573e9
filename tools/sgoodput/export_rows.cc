#include "tools/sgoodput/export_rows.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet/load_fleet.h"
#include "tools/base/format.h"
#include "tools/base/progress.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {

absl::Status ForEachRunRows(const ExportOptions& options,
                            const std::function<absl::Status(const RunRows&)>& take) {
  SelectionOptions select;
  select.all_users = select.all_clusters = true;
  if (!options.target.cluster.empty()) {
    select.all_clusters = false;
    select.clusters = {options.target.cluster};
  }
  select.start = options.start.empty() ? "1970-01-02" : options.start;
  select.end = options.end;
  std::map<std::string, std::map<std::string, std::string>> features;
  std::int64_t runs = 0;
  Progress progress;
  return ForEachSelected(
      options.common, select, {}, [&](Session& session, const Report& report) -> absl::Status {
        const std::string& named = report.run.info.cluster;
        const std::string cluster = named.empty() ? session.config.cluster : named;
        const auto [known, fresh] = features.try_emplace(cluster);
        if (fresh) {
          ASSIGN_OR_RETURN(known->second, LoadNodeFeatures(session.db, cluster));
        }
        const std::vector<UnitKey> jobs = JobsOfReport(report);
        if (jobs.empty()) return absl::OkStatus();
        const absl::StatusOr<FleetRows> rows = RowsOfRun(report, jobs.front(), cluster, known->second);
        if (!rows.ok()) {
          std::fprintf(stderr, "sgoodput: job %lld is left out: %s\n",
                       static_cast<long long>(jobs.front().job_id),
                       Printable(Message(rows.status())).c_str());
          return absl::OkStatus();
        }
        progress.Say(Cat(++runs, " runs"));
        return take({report, *rows, cluster});
      });
}

}  // namespace goodput
