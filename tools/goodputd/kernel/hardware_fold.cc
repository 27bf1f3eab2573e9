#include "tools/goodputd/kernel/hardware_fold.h"

#include <algorithm>
#include <utility>

namespace goodput {

std::optional<HardwareEvent> HardwareFold::Add(HardwareLine line, std::uint64_t seq, std::int64_t mono_ns) {
  const std::tuple key{line.kind, line.device, line.code.value_or(-1)};
  const auto known = windows_.find(key);
  if (known == windows_.end() && windows_.size() >= kMostKinds) {
    ++dropped_;
    return std::nullopt;
  }
  HardwareEvent event{std::move(line), seq, mono_ns, mono_ns, 1};
  if (known == windows_.end()) {
    windows_[key].begin_ns = mono_ns;
    return event;
  }
  std::optional<HardwareEvent>& more = known->second.more;
  if (!more) {
    more = std::move(event);
    return std::nullopt;
  }
  ++more->count;
  more->seq = seq;
  more->last_mono_ns = mono_ns;
  return std::nullopt;
}

std::vector<HardwareEvent> HardwareFold::TakeDue(std::int64_t mono_ns, bool all) {
  std::vector<HardwareEvent> due;
  for (auto window = windows_.begin(); window != windows_.end();) {
    if (!all && mono_ns - window->second.begin_ns < window->second.length_ns) {
      ++window;
      continue;
    }
    if (!window->second.more) {
      window = windows_.erase(window);
      continue;
    }
    due.push_back(*std::move(window->second.more));
    window->second = {mono_ns, std::min(2 * window->second.length_ns, kLongestWindowNs), std::nullopt};
    ++window;
  }
  return due;
}

}  // namespace goodput
