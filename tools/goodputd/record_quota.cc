#include "tools/goodputd/record_quota.h"

#include <algorithm>

namespace goodput {
namespace {

constexpr double kNsPerMinute = 60e9;
constexpr std::int64_t kNsPerHour = 3600LL * 1'000'000'000;
constexpr std::int64_t kRoomEveryNs = 10LL * 1'000'000'000;
// More jobs than a node runs at a time: those with a full budget are forgotten.
constexpr std::size_t kManyJobs = 4096;

}  // namespace

bool RecordQuota::Allow(const NodeJob& job, std::uint64_t bytes, absl::FunctionRef<std::uint64_t()> held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Hour& hour = ThisHour(job.node, held);
  if (HasShare(hour, job.uid, bytes) && HasBudget(job, bytes)) {
    hour.used += bytes;
    hour.used_by[job.uid] += bytes;
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

RecordQuota::Hour& RecordQuota::ThisHour(const std::string& node, absl::FunctionRef<std::uint64_t()> held) {
  Hour& hour = hours_[node];
  const std::int64_t number = clock_.real_ns() / kNsPerHour;
  const std::int64_t now = clock_.mono_ns();
  const bool begins = number != hour.number;
  if (!begins && now - hour.looked_ns < kRoomEveryNs) return hour;
  if (begins) {
    hour = Hour{};
    hour.number = number;
  }
  hour.looked_ns = now;
  const std::uint64_t left = limits_.spool_bytes - std::min(limits_.spool_bytes, held());
  hour.room = std::min(limits_.spool_bytes, hour.used + left);
  return hour;
}

bool RecordQuota::HasShare(const Hour& hour, uid_t uid, std::uint64_t bytes) {
  const std::uint64_t half = hour.room / 2;
  if (hour.used + bytes <= half) return true;
  const auto found = hour.used_by.find(uid);
  const bool is_new = found == hour.used_by.end();
  const std::uint64_t users = hour.used_by.size() + (is_new ? 1 : 0);
  return (is_new ? 0 : found->second) + bytes <= half / users;
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
