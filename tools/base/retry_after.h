// How long a server asks to wait before it is asked again.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "tools/base/http_client.h"

namespace goodput {

// The header Retry-After (RFC 9110, 10.2.3): seconds, or a date, which is compared with `now`. At least 0, at
// most an hour. Absent: there is none, or it is neither.
std::optional<absl::Duration> RetryAfter(const HttpAnswer& answer, absl::Time now);

}  // namespace goodput
