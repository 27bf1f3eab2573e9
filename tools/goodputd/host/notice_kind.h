// A notice of the cloud about this host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace goodput {

struct NoticeKind {
  std::string value;                         // as the host reports it
  std::optional<std::int64_t> window_s;      // when it begins, in seconds since the epoch
  std::optional<std::int64_t> window_end_s;  // when it ends
  bool operator==(const NoticeKind& other) const {
    return value == other.value && window_s == other.window_s && window_end_s == other.window_end_s;
  }
  bool operator!=(const NoticeKind& other) const { return !(*this == other); }
};

}  // namespace goodput
