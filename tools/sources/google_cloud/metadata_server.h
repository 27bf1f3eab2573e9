// The metadata server of a virtual machine in Google Cloud. GCE_METADATA_HOST names another one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

// InvalidArgument: the variable is not a host.
absl::StatusOr<std::string> MetadataHost(const CloudWorld& world);

// The answer of `host` about `what`, for example instance/zone. Repeats the question if that may help.
HttpAnswer AskMetadataServer(const CloudWorld& world, const std::string& host, std::string_view what);

// Whether it has an answer, and is Google's: where the cloud is another, anyone can answer at this address.
bool IsMetadata(const HttpAnswer& answer);
// "answers with 404", "does not answer: timeout"
std::string HowItAnswered(const HttpAnswer& answer);

// The zone and the project of this machine. Errors say which option to use instead.
absl::StatusOr<std::string> ZoneOfMachine(const CloudWorld& world);
absl::StatusOr<std::string> ProjectOfMachine(const CloudWorld& world);

}  // namespace goodput
