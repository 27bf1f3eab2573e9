// Waits for changes in directories, using inotify.
#pragma once

#include <cstddef>
#include <set>

namespace goodput {

class FolderWatch {
 public:
  FolderWatch() = default;
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Watches an open directory from now on, until it is removed. Returns false if that is not possible:
  // changes may be made on another machine, or the user has no watches left.
  bool Add(int folder_fd);
  // Waits up to this long for a file to be created, closed after writing, renamed or removed in one of them.
  // Returns false if nothing happened since the last call.
  bool Wait(int milliseconds);

  // Maximum number of directories; they count against the user's limit of watches.
  static constexpr std::size_t kMostFolders = 256;

 private:
  int inotify_ = -1;
  std::set<int> watches_;
};

}  // namespace goodput
