#include "tools/reader/metrics_cache.h"

#include <algorithm>

#include "tools/accounting/metrics/exposition.h"

namespace goodput {
namespace {

constexpr std::int64_t kFreshNs = 10'000'000'000;
// Computing them takes at most this fraction of the time.
constexpr std::int64_t kShare = 20;
constexpr std::size_t kMostEntries = 32;

}  // namespace

absl::StatusOr<std::string> MetricsCache::Get(const std::string& viewer, const Compute& compute) {
  const std::int64_t began = clock_.mono_ns();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostEntries && entries_.count(viewer) == 0) {
      const auto idle = std::find_if(entries_.begin(), entries_.end(),
                                     [](const auto& entry) { return !entry.second.computing; });
      if (idle == entries_.end())
        return absl::ResourceExhaustedError("too many concurrent requests for metrics");
      entries_.erase(idle);
    }
    Entry& entry = entries_[viewer];
    if (entry.have && (began < entry.good_until_ns || entry.computing)) return entry.text;
    entry.computing = true;
  }
  absl::StatusOr<std::string> text = compute();
  const std::int64_t ended = clock_.mono_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[viewer];
  entry.computing = false;
  if (!text.ok()) return text;
  entry.text = entry.have ? NeverLower(entry.text, *text) : *text;
  entry.have = true;
  entry.good_until_ns = ended + std::max(kFreshNs, kShare * (ended - began));
  return entry.text;
}

}  // namespace goodput
