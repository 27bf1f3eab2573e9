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

  // Watches an open directory from now on, until it is removed. False: not possible, as on a file system
  // whose changes may be made elsewhere, or where the user has no watches left.
  bool Add(int folder_fd);
  // Waits so long for a file to be made, closed after writing, renamed or removed in one of them since the
  // last time. False: nothing.
  bool Wait(int milliseconds);

  // So many directories, of the user's own allowance.
  static constexpr std::size_t kMostFolders = 256;

 private:
  int inotify_ = -1;
  std::set<int> watches_;
};

}  // namespace goodput
