#include "tools/sources/google_cloud/check_monitoring.h"

#include <vector>

#include "sql/text.h"
#include "tools/sources/google_cloud/metadata_server.h"

namespace goodput {
bool CheckMonitoring(const CloudWorld& world, MonitoringService& service, const std::string& project,
                     const TellFinding& tell) {
  bool good = true;
  const auto say = [&](const CloudFinding& finding) {
    good = good && finding.good;
    tell(finding);
  };
  if (!CheckCredentials(service.token(), {std::string(MonitoringService::kScope)}, "monitoring",
                        "writing metrics", say))
    return false;
  std::string name = project;
  if (project == "-") {
    const absl::StatusOr<std::string> own = ProjectOfMachine(world);
    say(own.ok() ? GoodFinding(Cat("project: ", *own)) : BadFinding("project: ", own.status()));
    if (own.ok()) name = *own;
  }
  const absl::StatusOr<std::string> zone = ZoneOfMachine(world);
  say(zone.ok() ? GoodFinding(Cat("location: ", *zone)) : BadFinding("location: ", zone.status()));
  say({true,
       Cat("writing to projects/", name,
           ": not tried, since nothing can be tried without writing; it needs roles/monitoring.metricWriter"),
       "", false});
  return good;
}

}  // namespace goodput
