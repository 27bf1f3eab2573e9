#include "tools/goodputd/hang/job_progress.h"

#include <algorithm>

namespace goodput {

void JobProgress::Note(const Job& job, bool is_step, std::int64_t mono_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, is_new] = jobs_.try_emplace(job);
  Signs& signs = at->second;
  signs.steps = signs.steps || is_step;
  // Ranks and threads report out of order.
  if (!is_new && mono_ns <= signs.last_mono_ns) return;
  if (!is_new) signs.gaps_ns[signs.next++ % kSigns] = mono_ns - signs.last_mono_ns;
  signs.last_mono_ns = mono_ns;
}

std::optional<JobProgress::Quiet> JobProgress::Of(const Job& job) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.steps) return std::nullopt;
  const Signs& signs = found->second;
  return Quiet{signs.last_mono_ns, *std::max_element(signs.gaps_ns.begin(), signs.gaps_ns.end())};
}

void JobProgress::KeepOnly(const std::set<Job>& jobs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = jobs_.begin(); at != jobs_.end();)
    at = jobs.count(at->first) != 0 ? std::next(at) : jobs_.erase(at);
}

}  // namespace goodput
