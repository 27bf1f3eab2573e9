#include "tools/goodputd/node_spools.h"

#include <array>
#include <numeric>
#include <optional>

#include "absl/strings/numbers.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/goodputd/job_record.h"

namespace goodput {
namespace {

// How many lost records have been recorded.
constexpr const char* kLostNote = "lost";

std::uint64_t LostBy(const Spool& spool) {
  const DropCounts counts = spool.Drops();
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::optional<std::uint64_t> RecordedBy(const Spool& spool) {
  std::array<char, Spool::kMaxNoteBytes + 1> buffer{};
  std::uint64_t recorded = 0;
  const std::string_view note = spool.GetNote(kLostNote, buffer.data(), buffer.size());
  if (!absl::SimpleAtoi(ToAbsl(note), &recorded)) return std::nullopt;
  return recorded;
}

}  // namespace

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
    config.takes_reserve = false;  // it is for the plugin
    if (!spool->Open(config).empty()) return nullptr;
  }
  return spool.get();
}

bool NodeSpools::Write(const std::string& node, std::string_view record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Spool* const spool = OfLocked(node);
  return spool != nullptr && spool->Write(record) == goodput::Append::kWritten;
}

bool NodeSpools::Write(const NodeJob& job, std::string_view record) {
  if (!quota_.Allow(job, record.size(), [&] { return BytesHeld(job.node); })) return false;
  if (Write(job.node, record)) return true;
  quota_.NotStored(job);
  return false;
}

std::uint64_t NodeSpools::BytesHeld(const std::string& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Spool* const spool = OfLocked(node);
  return spool == nullptr ? 0 : spool->BytesHeld();
}

void NodeSpools::RecordRefused() {
  for (const RecordQuota::Refused& refused : quota_.TakeRefused()) {
    JobRecord record(kind::kRefused, refused.job, StampAtReal(clock_, refused.job.node, clock_.real_ns()));
    record.Uint(key::kCount, refused.records);
    if (!Write(refused.job.node, record.Finish())) quota_.PutBack(refused);
  }
}

bool NodeSpools::RecordLost(const std::string& node, std::int64_t looked_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Spool* const spool = OfLocked(node);
  if (spool == nullptr) return false;
  const auto [found, first] = lost_.try_emplace(node);
  Lost& lost = found->second;
  const std::uint64_t counted = LostBy(*spool);
  if (first) {
    lost.looked_ns = looked_ns;
    const std::optional<std::uint64_t> recorded = RecordedBy(*spool);
    lost.recorded = lost.counted = recorded.value_or(counted);
    // When those were lost that were counted before anybody looked is not known.
    if (!recorded) spool->PutNote(kLostNote, std::to_string(counted));
  }
  // The operator removes the count when the disk has been cleaned up.
  if (counted < lost.counted) lost.recorded = lost.counted = 0;
  if (counted > lost.counted && lost.counted == lost.recorded) lost.since_ns = lost.looked_ns;
  lost.counted = counted;
  lost.looked_ns = clock_.real_ns();
  return lost.counted > lost.recorded && !RecordLostLocked(*spool, node, lost);
}

bool NodeSpools::RecordLostLocked(Spool& spool, const std::string& node, Lost& lost) {
  RecordBuilder record(kind::kLost, StampAtReal(clock_, node, lost.looked_ns));
  record.Uint(key::kCount, lost.counted - lost.recorded);
  record.Int(key::kSinceNs, lost.since_ns);
  if (spool.Write(record.Finish()) != goodput::Append::kWritten) {
    lost.counted = LostBy(spool);  // with this one
    return false;
  }
  lost.recorded = lost.counted;
  spool.PutNote(kLostNote, std::to_string(lost.recorded));
  return true;
}

void NodeSpools::KeepReserve(const std::string& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Spool* const spool = OfLocked(node);
  if (spool != nullptr) spool->KeepReserve();
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
