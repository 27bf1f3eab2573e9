#include "tools/goodputd/record_quota.h"

#include <algorithm>

namespace goodput {
namespace {

constexpr double kNsPerMinute = 60e9;
constexpr std::int64_t kNsPerHour = 3600LL * 1'000'000'000;
// More jobs than a node runs at a time: those with a full budget are forgotten.
constexpr std::size_t kManyJobs = 4096;

}  // namespace

bool RecordQuota::Allow(const NodeJob& job, std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (HasShare(job.uid, bytes) && HasBudget(job, bytes)) {
    hour_used_ += bytes;
    used_by_[job.uid] += bytes;
    return true;
  }
  Refused& refused = refused_[{job.node, job.job}];
  if (refused.records++ == 0) refused.job = job;
  return false;
}

bool RecordQuota::HasBudget(const NodeJob& job, std::uint64_t bytes) {
  const std::int64_t now = clock_.mono_ns();
  const auto most = static_cast<double>(limits_.job_burst_bytes);
  const auto [at, is_new] = budgets_.try_emplace({job.node, job.job}, Budget{most, now});
  Budget& budget = at->second;
  const double per_ns = static_cast<double>(limits_.job_bytes_per_minute) / kNsPerMinute;
  budget.left = std::min(most, budget.left + static_cast<double>(now - budget.at_ns) * per_ns);
  budget.at_ns = now;
  if (budget.left < static_cast<double>(bytes)) return false;
  budget.left -= static_cast<double>(bytes);
  if (is_new && budgets_.size() > kManyJobs) ForgetIdle(now);
  return true;
}

void RecordQuota::ForgetIdle(std::int64_t now_ns) {
  const double per_ns = static_cast<double>(limits_.job_bytes_per_minute) / kNsPerMinute;
  for (auto at = budgets_.begin(); at != budgets_.end();) {
    const double left = at->second.left + static_cast<double>(now_ns - at->second.at_ns) * per_ns;
    at = left >= static_cast<double>(limits_.job_burst_bytes) ? budgets_.erase(at) : std::next(at);
  }
}

bool RecordQuota::HasShare(uid_t uid, std::uint64_t bytes) {
  const std::int64_t hour = clock_.real_ns() / kNsPerHour;
  if (hour != hour_) {
    hour_ = hour;
    hour_used_ = 0;
    used_by_.clear();
  }
  const std::uint64_t half = limits_.hour_bytes / 2;
  if (hour_used_ + bytes <= half) return true;
  const std::uint64_t users = used_by_.size() + (used_by_.count(uid) == 0 ? 1 : 0);
  return used_by_[uid] + bytes <= half / users;
}

void RecordQuota::NotStored(const NodeJob& job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Refused& refused = refused_[{job.node, job.job}];
  if (refused.records++ == 0) refused.job = job;
}

void RecordQuota::PutBack(const Refused& refused) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Refused& all = refused_[{refused.job.node, refused.job.job}];
  all.job = refused.job;
  all.records += refused.records;
}

std::vector<RecordQuota::Refused> RecordQuota::TakeRefused() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Refused> taken;
  for (auto& [key, refused] : refused_) taken.push_back(std::move(refused));
  refused_.clear();
  return taken;
}

}  // namespace goodput
