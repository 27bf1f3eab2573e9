#include "tools/goodputd/job_owners.h"

#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "spank/event.h"

namespace goodput {
namespace {

// Jobs remembered; beyond it the lowest ids go, which are the oldest but after a wrap.
constexpr std::size_t kMaxJobs = 100'000;

}  // namespace

const JobOwners::Job* JobOwners::Find(std::int64_t job, uid_t asking) {
  const auto theirs = [&](auto at) { return at != jobs_.end() && at->second.uid == asking; };
  auto found = jobs_.find(job);
  // Of another user by what was read so far: perhaps the id was used again.
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
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::directory_entry& node : fs::directory_iterator(spool_root_, ignored)) {
    const std::string name = node.path().filename();
    if (name.empty() || name.front() == '@' || !node.is_directory(ignored)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(node.path(), ignored)) {
      if (file.path().extension() != ".jsonl" || !file.is_regular_file(ignored)) continue;
      ReadFile(name, file.path(), offsets_[file.path()]);
    }
  }
  while (jobs_.size() > kMaxJobs) jobs_.erase(jobs_.begin());
}

void JobOwners::ReadFile(const std::string& node, const std::string& path, std::int64_t& offset) {
  std::error_code ignored;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  if (ignored || size <= offset) return;
  std::ifstream in(path, std::ios::binary);
  in.seekg(offset);
  std::string text(static_cast<std::size_t>(size - offset), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return;
  std::string_view rest(text.data(), last + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    TakeLine(node, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  offset += static_cast<std::int64_t>(last) + 1;
}

void JobOwners::TakeLine(const std::string& node, std::string_view line) {
  // Most lines of a training job are marks, which own nothing.
  if (line.empty() || line.size() > kMaxRecordBytes ||
      line.find("\"kind\":\"mark\"") != std::string_view::npos)
    return;
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
