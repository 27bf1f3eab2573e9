#include "tools/sources/telemetry/delivery.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "sql/text.h"
#include "tools/base/retry_after.h"

namespace goodput {
namespace {

constexpr absl::Duration kFirstWait = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Seconds(30);
constexpr std::size_t kMostSaid = 200;

std::string ReasonOf(const HttpAnswer& answer) {
  const auto header = answer.headers.find("content-type");
  const std::string type = header == answer.headers.end() ? "" : header->second;
  std::string reason;
  if (absl::StartsWith(type, "application/json"))
    reason = ReadStatusMessage(answer.body, OtlpProtocol::kJson);
  if (absl::StartsWith(type, "application/x-protobuf"))
    reason = ReadStatusMessage(answer.body, OtlpProtocol::kProtobuf);
  if (absl::StartsWith(type, "text/plain")) reason = answer.body.substr(0, answer.body.find_first_of("\r\n"));
  return reason.substr(0, kMostSaid);
}

bool MayBeRetried(int code) {
  return code == 429 || code == 502 || code == 503 || code == 504;
}

}  // namespace

Delivery JudgeAnswer(const HttpAnswer& answer, OtlpProtocol protocol, absl::Time now) {
  Delivery delivery;
  if (!answer.status.ok()) {
    delivery.what = Delivery::What::kRetry;
    delivery.problem = "no answer";
    delivery.reason = Message(answer.status);
    return delivery;
  }
  if (answer.code >= 200 && answer.code < 300) {
    PartialSuccess partial = ReadPartialSuccess(answer.body, protocol);
    delivery.rejected = std::max<std::int64_t>(0, partial.rejected);
    delivery.reason = partial.message.substr(0, kMostSaid);
    if (delivery.rejected > 0) {
      delivery.problem = "not everything was accepted";
    } else if (!delivery.reason.empty()) {
      delivery.problem = "accepted with a warning";
    }
    return delivery;
  }
  delivery.what = MayBeRetried(answer.code) ? Delivery::What::kRetry : Delivery::What::kRefused;
  delivery.problem = Cat("HTTP status ", answer.code);
  delivery.reason = ReasonOf(answer);
  if (delivery.what == Delivery::What::kRetry) delivery.retry_after = RetryAfter(answer, now);
  return delivery;
}

absl::Duration Backoff(int tries, double chance) {
  absl::Duration wait = kFirstWait;
  for (int i = 1; i < tries && wait < kLongestWait; ++i) wait *= 2;
  return std::min(wait, kLongestWait) * (1 - chance / 2);
}

}  // namespace goodput
