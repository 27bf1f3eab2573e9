#include "tools/sources/google_cloud/check_monitoring.h"

#include <vector>

#include "sql/text.h"
#include "tools/sources/google_cloud/metadata_server.h"

namespace goodput {
namespace {

CloudFinding CheckScopes(const std::vector<std::string>& scopes) {
  const std::vector<std::string> missing =
      MissingScopes(scopes, {std::string(MonitoringService::kScope)}, "monitoring");
  return missing.empty() ? GoodFinding("access scopes: writing metrics") : LackOfScopes(missing);
}

}  // namespace

bool CheckMonitoring(const CloudWorld& world, MonitoringService& service, const std::string& project,
                     const TellFinding& tell) {
  bool good = true;
  const auto say = [&](const CloudFinding& finding) {
    good = good && finding.good;
    tell(finding);
  };
  AccessToken& token = service.token();
  if (const absl::Status status = token.Get().status(); !status.ok()) {
    say(BadFinding("", status));
    return false;
  }
  say(GoodFinding(Cat("credentials: ", token.WhoseName())));
  const absl::StatusOr<std::vector<std::string>> scopes = token.Scopes();
  if (!scopes.ok()) say(BadFinding("access scopes: ", scopes.status()));
  if (scopes.ok() && !scopes->empty()) say(CheckScopes(*scopes));
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
