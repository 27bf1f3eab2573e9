#include "sql/ingest/node_status.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "spank/files.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr off_t kMaxWords = off_t{1} << 20U;

}  // namespace

// The whole of a small file that is not what it was; its absence is no change.
std::optional<std::string> NodeStatus::ReadIfChanged(int at, const std::string& name,
                                                     FileStamp& known) const {
  Files& files = *options_.files;
  struct stat info {};
  if (files.FStatAt(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size > kMaxWords || FileStamp::Of(info) == known) {
    return std::nullopt;
  }
  const Fd fd(files, files.OpenAt(at, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
  if (fd.get() < 0 || files.FStat(fd.get(), &info) != 0 || info.st_size > kMaxWords) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = Uninterrupted([&] { return files.PRead(fd.get(), text.data(), text.size(), 0); });
  if (got != static_cast<ssize_t>(text.size())) return std::nullopt;
  known = FileStamp::Of(info);
  return text;
}

void NodeStatus::Read(const std::string& node, int root, int folder, SpoolMemory::Folder& known,
                      const std::function<void(const std::string& what)>& problem) {
  const std::optional<std::string> text = options_.shared
                                              ? ReadIfChanged(root, Cat("@heartbeat/", node), known.heartbeat)
                                              : ReadIfChanged(folder, "heartbeat", known.heartbeat);
  if (text) {
    absl::StatusOr<NodeHeartbeat> heartbeat = ParseHeartbeat(*text);
    if (heartbeat.ok() && heartbeat->node != node) {
      heartbeat = absl::InvalidArgumentError(Cat("it is node ", heartbeat->node, "'s"));
    }
    if (heartbeat.ok()) {
      heartbeats_.push_back(*std::move(heartbeat));
    } else {
      problem(Cat(node, ": heartbeat: ", Message(heartbeat.status())));
    }
  }
  if (!options_.shared) return;
  if (const std::optional<std::string> words = ReadIfChanged(folder, "counts", known.counts))
    losses_.push_back(ParseLosses(node, *words));
}

absl::Status NodeStatus::Store() {
  heartbeats_.erase(std::remove_if(heartbeats_.begin(), heartbeats_.end(),
                                   [&](const NodeHeartbeat& word) { return IsStored(db_, word); }),
                    heartbeats_.end());
  losses_.erase(std::remove_if(losses_.begin(), losses_.end(),
                               [&](const NodeLosses& word) { return IsStored(db_, word); }),
                losses_.end());
  if (heartbeats_.empty() && losses_.empty()) return absl::OkStatus();
  Transaction transaction(db_);
  if (!transaction.status().ok()) return transaction.status();
  for (const NodeHeartbeat& heartbeat : heartbeats_) {
    if (absl::Status status = StoreHeartbeat(db_, heartbeat, options_.cluster); !status.ok()) return status;
  }
  for (const NodeLosses& losses : losses_) {
    if (absl::Status status = StoreLosses(db_, losses); !status.ok()) return status;
  }
  return transaction.Commit();
}

}  // namespace goodput
