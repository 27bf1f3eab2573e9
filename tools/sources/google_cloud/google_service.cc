#include "tools/sources/google_cloud/google_service.h"

#include <simdjson.h>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::size_t kMostWords = 300;

struct ServiceError {
  std::string message;
  std::string reason;  // of google.rpc.ErrorInfo
};

ServiceError ReadError(const std::string& body) {
  ServiceError error;
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  if (parser.parse(body).get(parsed) != simdjson::SUCCESS) return error;
  std::string_view text;
  if (parsed["error"]["message"].get(text) == simdjson::SUCCESS) error.message = text;
  simdjson::dom::array details;
  if (parsed["error"]["details"].get(details) != simdjson::SUCCESS) return error;
  for (const simdjson::dom::element detail : details) {
    if (detail["reason"].get(text) == simdjson::SUCCESS) error.reason = text;
  }
  return error;
}

std::string WhatIsMissing(const GoogleService& service, const ServiceAccess& access,
                          const ServiceError& error, const std::string& who) {
  if (error.reason == "SERVICE_DISABLED") return Cat("enable it with gcloud services enable ", service.host);
  if (error.reason == "ACCESS_TOKEN_SCOPE_INSUFFICIENT" || absl::StrContains(error.message, "scopes")) {
    return Cat("the machine needs the access scope cloud-platform or ", access.scope,
               " (gcloud compute instances set-service-account --scopes)");
  }
  return Cat("give ", who, " the role ", access.role, " in the project");
}

bool IsLoopback(std::string_view url) {
  constexpr std::string_view kHttp = "http://";
  std::string_view host = url.substr(kHttp.size());
  host = host.substr(0, host.find('/'));
  if (host.find('@') != std::string_view::npos) return false;
  if (host.substr(0, 5) == "[::1]") return host.size() == 5 || host[5] == ':';
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host == "127.0.0.1";
}

}  // namespace

std::string AudienceOf(const GoogleService& service) {
  return Cat("https://", service.host, "/");
}

absl::StatusOr<std::string> EndpointOf(const CloudWorld& world, const GoogleService& service,
                                       const char* variable) {
  const std::string named = world.variable(variable).value_or(AudienceOf(service));
  std::string endpoint(absl::StripSuffix(named, "/"));
  // A token must not travel in clear text.
  if (absl::StartsWith(endpoint, "https://") ||
      (absl::StartsWith(endpoint, "http://") && IsLoopback(endpoint)))
    return endpoint;
  return absl::InvalidArgumentError(Cat(
      variable, ": not a URL with https://, or http:// on this machine: ", Printable(endpoint, kMostWords)));
}

absl::Status ExplainRefusal(const GoogleService& service, const ServiceAccess& access,
                            std::string_view method, const HttpAnswer& answer, const std::string& who) {
  const ServiceError error = ReadError(answer.body);
  const std::string said =
      error.message.empty() ? std::string() : Cat(": ", Printable(error.message, kMostWords));
  const std::string what = Cat(service.name, ", ", method, ": ", answer.code, said);
  switch (answer.code) {
    case 400:
      return absl::InvalidArgumentError(what);
    case 401:
      return absl::UnauthenticatedError(
          Cat(what, "; the token of ", who, " was refused: is the key, or this machine's clock, wrong?"));
    case 403:
      return absl::PermissionDeniedError(Cat(what, "; ", WhatIsMissing(service, access, error, who)));
    case 404:
      return absl::NotFoundError(Cat(what, "; is the name of the project right?"));
    case 429:
      return absl::ResourceExhaustedError(Cat(what, "; ", service.exhausted));
    case 500:
    case 503:
    case 504:
      return absl::UnavailableError(Cat(what, "; ", service.unavailable));
    default:
      return absl::UnknownError(what);
  }
}

}  // namespace goodput
