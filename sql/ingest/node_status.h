// What nodes say beside their records, in files of their own that are overwritten: which jobs live there
// (heartbeats.h), and what they lost (losses.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sql/database.h"
#include "sql/ingest/ingest.h"
#include "sql/ingest/spool_memory.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/losses.h"

namespace goodput {

class NodeStatus {
 public:
  NodeStatus(Database& db, const IngestOptions& options) : db_(db), options_(options) {}

  // What is new of one node. `root`, `folder`: open on the spool and on the node's folder in it; `problem` is
  // told of what is no such word.
  void Read(const std::string& node, int root, int folder, SpoolMemory::Folder& known,
            const std::function<void(const std::string& what)>& problem);
  // Nothing is written where nothing is new.
  absl::Status Store();

 private:
  std::optional<std::string> ReadIfChanged(int at, const std::string& name, FileStamp& known) const;

  Database& db_;
  const IngestOptions& options_;
  std::vector<NodeHeartbeat> heartbeats_;
  std::vector<NodeLosses> losses_;
};

}  // namespace goodput
