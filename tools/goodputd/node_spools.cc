#include "tools/goodputd/node_spools.h"

namespace goodput {

bool NodeSpools::Write(const std::string& node, std::string_view record) {
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
    if (!spool->Open(config).empty()) return false;
  }
  return spool->Write(record) == Append::kWritten;
}

}  // namespace goodput
