#include "tools/goodputd/job_owners.h"

#include <simdjson.h>

#include <iterator>

#include "spank/event.h"

namespace goodput {
namespace {

// Maximum number of jobs; beyond it, the lowest ids are dropped, which are the oldest except after a wrap.
constexpr std::size_t kMaxJobs = 100'000;

}  // namespace

const JobOwners::Job* JobOwners::Find(std::int64_t job, uid_t asking) {
  const auto theirs = [&](auto at) { return at != jobs_.end() && at->second.uid == asking; };
  auto found = jobs_.find(job);
  // Owned by another user so far: the id may have been reused.
  if (!theirs(found) && MayLook(job, asking)) {
    Refresh();
    found = jobs_.find(job);
    if (!theirs(found)) unknown_[asking][job] = clock_.mono_ns() + kUnknownForNs;
  }
  return found == jobs_.end() ? nullptr : &found->second;
}

bool JobOwners::MayLook(std::int64_t job, uid_t asking) {
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

void JobOwners::Refresh() {
  tail_.Read([this](const std::string& node, std::string_view line) { TakeLine(node, line); });
  while (jobs_.size() > kMaxJobs) jobs_.erase(jobs_.begin());
}

void JobOwners::TakeLine(const std::string& node, std::string_view line) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(line.data(), line.size());
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) return;
  std::int64_t job = 0;
  std::int64_t uid = 0;
  std::string_view kind;
  if (object[key::kJob].get(job) != simdjson::SUCCESS || object[key::kUid].get(uid) != simdjson::SUCCESS ||
      object[key::kKind].get(kind) != simdjson::SUCCESS) {
    return;
  }
  if (kind != kind::kJobProlog && kind != kind::kStepStart) return;
  Job& owner = jobs_[job];
  if (owner.uid != static_cast<uid_t>(uid)) owner = Job{};  // the id was reused
  owner.uid = static_cast<uid_t>(uid);
  if (owner.first_node.empty()) owner.first_node = node;
  owner.nodes[node] = true;
  std::string_view cluster;
  if (object[key::kCluster].get(cluster) == simdjson::SUCCESS) owner.cluster = std::string(cluster);
}

}  // namespace goodput
