// Brings an event to the administrator's program, or to a URL.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tools/base/config.h"
#include "tools/sgoodput/events_state.h"

namespace goodput {

// The program itself, and each folder above it, belong to root, and nobody else may write to them: so nobody
// else decides what is executed. FailedPrecondition: says which, and what to do.
absl::Status CheckEventProgram(const std::string& path);

struct Delivered {
  // An error says in one line why it was not taken, without the URL's path, which may be a secret.
  absl::Status status;
  std::optional<Ns> retry_after;  // how long the server asks to wait (HTTP's Retry-After)
};

// Within a minute for a program (killed then), 10 s for a URL. Thread-safe.
Delivered Deliver(const WaitingEvent& event, const Config& config);

}  // namespace goodput
