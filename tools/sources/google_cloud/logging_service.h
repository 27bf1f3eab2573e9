// Calls of Cloud Logging (logging.googleapis.com, REST, version 2). CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING
// names another endpoint, as for gcloud: https://, or http:// on the loopback interface.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/sources/google_cloud/access_token.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

// A time as the service writes it, in UTC.
std::string ServiceTime(absl::Time time);

// Calls are at least this far apart.
class Pace {
 public:
  explicit Pace(absl::Duration apart) : apart_(apart) {}
  // How long to wait at `now` until the next call, which is taken to be made then.
  absl::Duration Next(absl::Time now);

 private:
  absl::Duration apart_;
  absl::Time next_ = absl::InfinitePast();
};

// How long to wait after a failure that may pass.
class Retries {
 public:
  // From 0 to 100 ms x 1.3^n, at most a minute: `random`, from 0 to below 1, chooses. Infinite: it has failed
  // `for_at_most` so long.
  absl::Duration Next(absl::Time now, double random, absl::Duration for_at_most);

 private:
  absl::Time first_ = absl::InfiniteFuture();
  absl::Duration most_ = absl::Milliseconds(100);
};

// Reads allow 60 calls a minute and project; other readers of the project share them.
inline constexpr int kReadsPerMinute = 60;

class LoggingService {
 public:
  // GOODPUT_CLOUD_READS_PER_MINUTE sets another pace of reads. An error: a variable is invalid.
  static absl::StatusOr<LoggingService> Connect(const CloudWorld& world);

  // The body of the response. Repeats the call while the service is unavailable or a quota is used up. Errors
  // say what to do: InvalidArgument (400), Unauthenticated (401), PermissionDenied (403), NotFound (404),
  // Unavailable, ResourceExhausted (429), OutOfRange: the response is too long.
  absl::StatusOr<std::string> List(const std::string& body);
  // If some entries were refused, the error has the response in the payload kRefusedEntries.
  absl::StatusOr<std::string> Write(const std::string& body);
  AccessToken& token() { return token_; }

  static constexpr std::string_view kRefusedEntries = "slurm-goodput/refused-entries";

 private:
  LoggingService(const CloudWorld& world, std::string endpoint, absl::Duration apart);
  absl::StatusOr<std::string> Call(std::string_view method, const std::string& body, Pace* pace);
  absl::StatusOr<HttpAnswer> Send(std::string_view method, const std::string& body, Pace* pace);

  const CloudWorld* world_;
  std::string endpoint_;
  AccessToken token_;
  Pace reads_;
  bool answered_ = false;  // at least once
};

}  // namespace goodput
