// What Google's services have in common: where they are, and what a refusal means.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

struct GoogleService {
  const char* name;         // "Cloud Logging"
  const char* host;         // "logging.googleapis.com"
  const char* unavailable;  // what was done about 5xx, for messages
  const char* exhausted;    // what 429 means
};

// What a call needs.
struct ServiceAccess {
  const char* scope;
  const char* role;
};

// For which a service account's key signs.
std::string AudienceOf(const GoogleService& service);

// https://HOST, or what the environment's `variable` names: https://, or http:// on the loopback interface.
absl::StatusOr<std::string> EndpointOf(const CloudWorld& world, const GoogleService& service,
                                       const char* variable);

// An answer other than 200, as an error that says what to do: InvalidArgument (400), Unauthenticated (401),
// PermissionDenied (403), NotFound (404), ResourceExhausted (429), Unavailable (500, 503, 504). `who`: whose
// token it was.
absl::Status ExplainRefusal(const GoogleService& service, const ServiceAccess& access,
                            std::string_view method, const HttpAnswer& answer, const std::string& who);

}  // namespace goodput
