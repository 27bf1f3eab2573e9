// Where telemetry is sent: goodput.conf, and the environment variables of OpenTelemetry's specification,
// which come before it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/base/config.h"
#include "tools/sources/telemetry/otlp_request.h"

namespace goodput {

struct OtlpTarget {
  std::string url;
  OtlpProtocol protocol = OtlpProtocol::kProtobuf;
  std::vector<std::string> headers;  // "Name: value", without those about the body
  absl::Duration timeout = absl::Seconds(10);
  bool gzip = true;
};

struct OtlpTargets {
  std::optional<OtlpTarget> metrics;
  std::optional<OtlpTarget> traces;
  OtlpAttributes resource;  // of OTEL_RESOURCE_ATTRIBUTES
};

// Null: the variable is not set. (As std::getenv.)
using GetVariable = std::function<const char*(const char*)>;

// `headers_file`: the text of the file that goodput.conf names. NotFound: nothing is to be sent anywhere.
absl::StatusOr<OtlpTargets> FindTargets(const Config& config, const std::string& headers_file,
                                        const GetVariable& get);

// The text of the file with the headers, which only its owner may read; empty if `path` is.
absl::StatusOr<std::string> ReadHeadersFile(const std::string& path);

}  // namespace goodput
