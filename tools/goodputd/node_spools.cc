#include "tools/goodputd/node_spools.h"

#include <array>

#include "tools/goodputd/job_record.h"

namespace goodput {

// Null where it cannot be opened.
Spool* NodeSpools::OfLocked(const std::string& node) {
  std::unique_ptr<Spool>& spool = spools_[node];
  if (spool == nullptr) spool = std::make_unique<Spool>();
  if (!spool->is_open()) {
    Spool::Config config;
    config.root = root_;
    config.node = node;
    config.max_bytes = max_bytes_;
    config.owner = owner_;
    config.clock = clock_;
    config.label = label_;
    if (!spool->Open(config).empty()) return nullptr;
  }
  return spool.get();
}

bool NodeSpools::Append(const std::string& node, std::string_view record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Spool* const spool = OfLocked(node);
  return spool != nullptr && spool->Write(record) == goodput::Append::kWritten;
}

bool NodeSpools::Write(const NodeJob& job, std::string_view record) {
  if (!quota_.Allow(job, record.size())) return false;
  if (Append(job.node, record)) return true;
  quota_.NotStored(job);
  return false;
}

void NodeSpools::RecordRefused() {
  for (const RecordQuota::Refused& refused : quota_.TakeRefused()) {
    JobRecord record(kind::kRefused, refused.job, StampAtReal(clock_, refused.job.node, clock_.real_ns()));
    record.Uint(key::kCount, refused.records);
    if (!Append(refused.job.node, record.Finish())) quota_.PutBack(refused);
  }
}

bool NodeSpools::PutNote(const std::string& node, const std::string& name, std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Spool* const spool = OfLocked(node);
  return spool != nullptr && spool->PutNote(name.c_str(), text);
}

std::string NodeSpools::GetNote(const std::string& node, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Spool* const spool = OfLocked(node);
  std::array<char, Spool::kMaxNoteBytes + 1> buffer{};
  return spool == nullptr ? "" : std::string(spool->GetNote(name.c_str(), buffer.data(), buffer.size()));
}

void NodeSpools::DropNote(const std::string& node, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Spool* const spool = OfLocked(node);
  if (spool != nullptr) spool->DropNote(name.c_str());
}

}  // namespace goodput
