#include "tools/goodputd/node_spools.h"

#include <array>

namespace goodput {

// Null if it cannot be opened.
Spool* NodeSpools::Of(const std::string& node) {
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

bool NodeSpools::Write(const std::string& node, std::string_view record) {
  Spool* const spool = Of(node);
  return spool != nullptr && spool->Write(record) == Append::kWritten;
}

bool NodeSpools::PutNote(const std::string& node, const std::string& name, std::string_view text) {
  const Spool* const spool = Of(node);
  return spool != nullptr && spool->PutNote(name.c_str(), text);
}

std::string NodeSpools::GetNote(const std::string& node, const std::string& name) {
  const Spool* const spool = Of(node);
  std::array<char, Spool::kMaxNoteBytes + 1> buffer{};
  return spool == nullptr ? "" : std::string(spool->GetNote(name.c_str(), buffer.data(), buffer.size()));
}

void NodeSpools::DropNote(const std::string& node, const std::string& name) {
  const Spool* const spool = Of(node);
  if (spool != nullptr) spool->DropNote(name.c_str());
}

}  // namespace goodput
