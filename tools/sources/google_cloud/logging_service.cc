#include "tools/sources/google_cloud/logging_service.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/sources/google_cloud/error_details.h"
#include "tools/sources/google_cloud/google_service.h"

namespace goodput {
namespace {

constexpr const char* kEndpoint = "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING";
constexpr const char* kPace = "GOODPUT_CLOUD_READS_PER_MINUTE";
constexpr int kMostReadsPerMinute = 60'000;
constexpr std::string_view kList = "entries:list";
constexpr std::string_view kWrite = "entries:write";

constexpr absl::Duration kMostWait = absl::Minutes(1);
constexpr absl::Duration kGiveUpAfter = absl::Minutes(10);
// If nothing answers, an address is wrong.
constexpr absl::Duration kGiveUpUnreachable = absl::Seconds(30);
constexpr double kGrowth = 1.3;

constexpr absl::Duration kCallTimeout = absl::Minutes(2);
// A page of 1000 entries, of which few are as long as they may be.
constexpr std::size_t kMostAnswer = std::size_t{64} << 20U;

enum Http : int { kOk = 200, kUnauthorized = 401 };

const GoogleService kLogging{"Cloud Logging", "logging.googleapis.com", "retried for 10 minutes",
                             "the quota of the project was used up for 10 minutes"};
const ServiceAccess kReading{"logging.read", "roles/logging.viewer"};
const ServiceAccess kWriting{"logging.write", "roles/logging.logWriter"};

// Whether it tells which of the entries were refused.
bool NamesEntries(const std::string& body) {
  simdjson::dom::parser parser;
  for (const simdjson::dom::element& detail : ErrorDetails(parser, body)) {
    if (detail["logEntryErrors"].is_object()) return true;
  }
  return false;
}

bool IsWorthRetrying(int code) {
  return code == 429 || code == 500 || code == 503 || code == 504;
}

absl::Status Explain(std::string_view method, const HttpAnswer& answer, const std::string& who) {
  absl::Status status = ExplainRefusal(kLogging, method == kList ? kReading : kWriting, method, answer, who);
  if (NamesEntries(answer.body))
    status.SetPayload(ToAbsl(LoggingService::kRefusedEntries), absl::Cord(answer.body));
  return status;
}

absl::StatusOr<absl::Duration> ApartOf(const CloudWorld& world) {
  int reads = kReadsPerMinute;
  const std::optional<std::string> text = world.variable(kPace);
  if (text && (!absl::SimpleAtoi(*text, &reads) || reads < 1 || reads > kMostReadsPerMinute))
    return absl::InvalidArgumentError(Cat(kPace, ": not a number from 1 to ", kMostReadsPerMinute));
  return absl::Minutes(1) / reads;
}

}  // namespace

std::string ServiceTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E9SZ", time, absl::UTCTimeZone());
}

absl::Duration Pace::Next(absl::Time now) {
  const absl::Time at = std::max(now, next_);
  next_ = at + apart_;
  return at - now;
}

absl::Duration Retries::Next(absl::Time now, double random, absl::Duration for_at_most) {
  first_ = std::min(first_, now);
  if (now - first_ >= for_at_most) return absl::InfiniteDuration();
  const absl::Duration wait = most_ * random;
  most_ = std::min(most_ * kGrowth, kMostWait);
  return wait;
}

LoggingService::LoggingService(const CloudWorld& world, std::string endpoint, absl::Duration apart)
    : world_(&world), endpoint_(std::move(endpoint)), token_(world, AudienceOf(kLogging)), reads_(apart) {}

absl::StatusOr<LoggingService> LoggingService::Connect(const CloudWorld& world) {
  ASSIGN_OR_RETURN(const std::string endpoint, EndpointOf(world, kLogging, kEndpoint));
  ASSIGN_OR_RETURN(const absl::Duration apart, ApartOf(world));
  return LoggingService(world, endpoint, apart);
}

absl::StatusOr<HttpAnswer> LoggingService::Send(std::string_view method, const std::string& body,
                                                Pace* pace) {
  if (pace != nullptr) world_->sleep(pace->Next(world_->now()));
  ASSIGN_OR_RETURN(const std::string token, token_.Get());
  HttpRequest request;
  request.url = Cat(endpoint_, "/v2/", method);
  request.body = body;
  request.headers = {"Content-Type: application/json", Cat("Authorization: Bearer ", token)};
  request.connect_timeout = absl::Seconds(10);
  request.timeout = request.answer_timeout = kCallTimeout;
  request.max_bytes = kMostAnswer;
  return world_->send(request);
}

absl::StatusOr<std::string> LoggingService::Call(std::string_view method, const std::string& body,
                                                 Pace* pace) {
  Retries retries;
  bool renewed = false;
  while (true) {
    ASSIGN_OR_RETURN(HttpAnswer answer, Send(method, body, pace));
    if (absl::IsOutOfRange(answer.status)) return answer.status;
    if (answer.status.ok()) answered_ = true;
    if (answer.status.ok() && answer.code == kOk) return std::move(answer.body);
    if (answer.status.ok() && answer.code == kUnauthorized && !renewed) {
      renewed = true;
      token_.Forget();
      continue;
    }
    if (answer.status.ok() && !IsWorthRetrying(answer.code))
      return Explain(method, answer, token_.WhoseName());
    const absl::Duration wait =
        retries.Next(world_->now(), world_->random(), answered_ ? kGiveUpAfter : kGiveUpUnreachable);
    if (wait == absl::InfiniteDuration()) {
      if (answer.status.ok()) return Explain(method, answer, token_.WhoseName());
      return absl::UnavailableError(Cat(endpoint_, " cannot be reached: ", Message(answer.status)));
    }
    world_->sleep(wait);
  }
}

absl::StatusOr<std::string> LoggingService::List(const std::string& body) {
  return Call(kList, body, &reads_);
}

absl::StatusOr<std::string> LoggingService::Write(const std::string& body) {
  return Call(kWrite, body, nullptr);
}

}  // namespace goodput
