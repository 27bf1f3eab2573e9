// What to do after a server answered, by the rules of OTLP over HTTP. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tools/base/http_client.h"
#include "tools/sources/telemetry/otlp_request.h"

namespace goodput {

struct Delivery {
  enum class What : std::uint8_t {
    kDelivered,
    kRetry,    // no answer, or 429, 502, 503, 504
    kRefused,  // any other answer: the same request would be refused again
  };
  What what = What::kDelivered;
  std::optional<absl::Duration> retry_after;  // that the server asked for
  std::int64_t rejected = 0;                  // spans or points of a delivered request
  std::string problem;                        // in words; empty: none
  std::string reason;                         // for the problem, as the server gave it
};

Delivery JudgeAnswer(const HttpAnswer& answer, OtlpProtocol protocol, absl::Time now);

// The wait before the next try, after so many: 1 s, doubled each time up to half a minute, of which
// `chance` (0..1) is left out by up to a half, so that many senders do not come at once.
absl::Duration Backoff(int tries, double chance);

}  // namespace goodput
