// What passes over a spool saw of it, so that the next looks only where something may have changed: a cluster
// has thousands of folders with hundreds of files each, of which one a folder grows. All of it can be found
// out again; it says only what need not be looked at.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace goodput {

// A file may have changed when this did.
struct FileStamp {
  std::int64_t inode = 0;
  std::int64_t size = -1;
  std::int64_t mtime_ns = 0;

  static FileStamp Of(const struct stat& info) {
    return {static_cast<std::int64_t>(info.st_ino), info.st_size,
            info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
  }
  friend bool operator==(const FileStamp& a, const FileStamp& b) {
    return a.inode == b.inode && a.size == b.size && a.mtime_ns == b.mtime_ns;
  }
};

struct SpoolMemory {
  struct File {
    std::int64_t size = -1;
    std::int64_t mtime_s = 0;
    std::int64_t taken = -1;  // bytes in the database; not known
    std::string cluster;      // that the file names
  };
  struct Folder {
    FileStamp stamp;
    std::int64_t changed_ns = 0;  // when that stamp was first seen, CLOCK_MONOTONIC
    std::int64_t listed_ns = -1;  // when its files were last looked at, every one
    std::map<std::string, File> files;
    FileStamp heartbeat;
    FileStamp counts;
  };
  std::map<std::string, Folder> folders;
  std::string cluster;  // of the spool, as the first file to name one names it
  // Of a job of a cluster: marks of saves that became rows since the last were packed.
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> rows_of_saves;
  std::string resume;  // the folder at which the last pass ran out of time
};

}  // namespace goodput
