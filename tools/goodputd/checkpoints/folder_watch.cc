#include "tools/goodputd/checkpoints/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "spank/spool.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Without IN_MODIFY: a file being written is one event, when it is closed.
constexpr std::uint32_t kChanges =
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

FolderWatch::~FolderWatch() {
  if (inotify_ >= 0) close(inotify_);
}

bool FolderWatch::Add(int folder_fd) {
  struct statfs info {};
  if (fstatfs(folder_fd, &info) != 0 || IsRemoteFileSystem(static_cast<std::int64_t>(info.f_type)))
    return false;
  if (inotify_ < 0) inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ < 0) return false;
  // Through the descriptor, since the path may lead elsewhere by now.
  const std::string path = Cat("/proc/self/fd/", folder_fd);
  const int watch = inotify_add_watch(inotify_, path.c_str(), kChanges | IN_ONLYDIR);
  if (watch < 0) return false;
  if (watches_.size() >= kMostFolders && watches_.count(watch) == 0) {
    inotify_rm_watch(inotify_, watch);
    return false;
  }
  watches_.insert(watch);
  return true;
}

bool FolderWatch::Wait(int milliseconds) {
  pollfd ready{inotify_, POLLIN, 0};
  poll(&ready, 1, milliseconds);
  bool changed = false;
  alignas(inotify_event) std::array<char, 4096> buffer;
  ssize_t got = 0;
  while (inotify_ >= 0 && (got = read(inotify_, buffer.data(), buffer.size())) > 0) {
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      at += sizeof(event) + event.len;
      // The last event of a directory that was removed or is no longer watched.
      if ((event.mask & IN_IGNORED) != 0) {
        watches_.erase(event.wd);
      } else {
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace goodput
