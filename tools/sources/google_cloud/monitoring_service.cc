#include "tools/sources/google_cloud/monitoring_service.h"

#include <simdjson.h>

#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/sources/google_cloud/error_details.h"
#include "tools/sources/google_cloud/google_service.h"
#include "tools/sources/google_cloud/log_name.h"

namespace goodput {
namespace {

constexpr const char* kEndpoint = "CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING";
const GoogleService kMonitoring{"Cloud Monitoring", "monitoring.googleapis.com",
                                "not repeated, since the next points replace these",
                                "the quota of the project is used up"};
const ServiceAccess kWriting{MonitoringService::kScope.data(), "roles/monitoring.metricWriter"};

// So that a call each minute is over before the next one.
constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr int kOk = 200;
constexpr int kUnauthorized = 401;

// Whether it tells how many points were refused.
bool CountsPoints(const std::string& body) {
  simdjson::dom::parser parser;
  for (const simdjson::dom::element& detail : ErrorDetails(parser, body)) {
    if (detail["totalPointCount"].is_int64()) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> ParseProject(const std::string& text) {
  constexpr std::string_view kProjects = "projects/";
  const std::string_view all = text;
  if (all.substr(0, kProjects.size()) == kProjects) {
    const std::string_view name = all.substr(kProjects.size());
    if (name == "-" || IsProject(name)) return std::string(name);
  }
  return absl::InvalidArgumentError(
      Cat("not the name of a project: ", text.substr(0, 200),
          "; write projects/PROJECT, or projects/- for the project of this machine"));
}

MonitoringService::MonitoringService(const CloudWorld& world, std::string endpoint)
    : world_(&world), endpoint_(std::move(endpoint)), token_(world, AudienceOf(kMonitoring)) {}

absl::StatusOr<MonitoringService> MonitoringService::Connect(const CloudWorld& world) {
  ASSIGN_OR_RETURN(const std::string endpoint, EndpointOf(world, kMonitoring, kEndpoint));
  return MonitoringService(world, endpoint);
}

absl::StatusOr<HttpAnswer> MonitoringService::Send(const std::string& project, const std::string& body) {
  ASSIGN_OR_RETURN(const std::string token, token_.Get());
  HttpRequest request;
  request.url = Cat(endpoint_, "/v3/projects/", project, "/timeSeries");
  request.body = body;
  request.headers = {"Content-Type: application/json", Cat("Authorization: Bearer ", token)};
  request.connect_timeout = absl::Seconds(10);
  request.timeout = request.answer_timeout = kCallTimeout;
  request.max_bytes = std::size_t{1} << 20U;
  request.at_most_once = true;
  return world_->send(request);
}

absl::Status MonitoringService::Create(const std::string& project, const std::string& body) {
  ASSIGN_OR_RETURN(HttpAnswer answer, Send(project, body));
  if (answer.status.ok() && answer.code == kUnauthorized) {
    // Nothing was written.
    token_.Forget();
    ASSIGN_OR_RETURN(answer, Send(project, body));
  }
  if (!answer.status.ok()) {
    return absl::UnavailableError(
        Cat("no answer from ", endpoint_, ": ", Message(answer.status), "; ", kMonitoring.unavailable));
  }
  if (answer.code == kOk) return absl::OkStatus();
  absl::Status status = ExplainRefusal(kMonitoring, kWriting, "timeSeries", answer, token_.WhoseName());
  if (CountsPoints(answer.body)) status.SetPayload(ToAbsl(kRefusedPoints), absl::Cord(answer.body));
  return status;
}

}  // namespace goodput
