// Calls of Cloud Monitoring (monitoring.googleapis.com, REST, version 3).
// CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING names another endpoint: https://, or http:// on the loopback
// interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/google_cloud/access_token.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

// From projects/PROJECT; projects/- is the project of this machine, to be asked of the metadata server.
absl::StatusOr<std::string> ParseProject(const std::string& text);

class MonitoringService {
 public:
  static absl::StatusOr<MonitoringService> Connect(const CloudWorld& world);

  // Writes points; `body` is a CreateTimeSeriesRequest. It is sent once: a point that may be there already
  // cannot be written again, and the next minute's replaces it. Errors say what to do, as those of
  // ExplainRefusal, and Unavailable: no answer. If only some points were refused, the error has the response
  // in the payload kRefusedPoints.
  absl::Status Create(const std::string& project, const std::string& body);
  AccessToken& token() { return token_; }

  static constexpr std::string_view kRefusedPoints = "slurm-goodput/refused-points";
  static constexpr std::string_view kScope = "monitoring.write";

 private:
  MonitoringService(const CloudWorld& world, std::string endpoint);
  absl::StatusOr<HttpAnswer> Send(const std::string& project, const std::string& body);

  const CloudWorld* world_;
  std::string endpoint_;
  AccessToken token_;
};

}  // namespace goodput
