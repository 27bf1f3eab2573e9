#include "tools/goodputd/job_owners.h"

#include <iterator>

namespace goodput {
namespace {

// Maximum number of jobs; beyond it, the lowest ids are dropped, which are the oldest except after a wrap.
constexpr std::size_t kMaxJobs = 100'000;

}  // namespace

void JobOwners::Add(std::int64_t job, uid_t uid, const std::string& node, const std::string& cluster) {
  std::shared_ptr<const Job>& known = jobs_[job];
  Job next = known != nullptr && known->uid == uid ? *known : Job{uid, "", "", {}};
  if (next.first_node.empty()) next.first_node = node;
  if (!cluster.empty()) next.cluster = cluster;
  next.nodes.insert(node);
  known = std::make_shared<const Job>(std::move(next));
  if (jobs_.size() > kMaxJobs) jobs_.erase(jobs_.begin());
}

std::shared_ptr<const JobOwners::Job> JobOwners::Find(std::int64_t job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : found->second;
}

bool JobOwners::MayRead(std::int64_t job, uid_t asking) {
  const auto user = unknown_.find(asking);
  if (user == unknown_.end()) return true;
  const std::int64_t now = clock_.mono_ns();
  for (auto entry = user->second.begin(); entry != user->second.end();) {
    entry = entry->second <= now ? user->second.erase(entry) : std::next(entry);
  }
  const bool may = user->second.count(job) == 0 && user->second.size() < kMaxUnknown;
  if (user->second.empty()) unknown_.erase(user);
  return may;
}

void JobOwners::NoteUnknown(std::int64_t job, uid_t asking) {
  unknown_[asking][job] = clock_.mono_ns() + kUnknownForNs;
}

}  // namespace goodput
