// A file, and how far it was read.
#pragma once

#include <cstdint>

namespace goodput {

struct FileMark {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t offset = 0;
  std::uint64_t before = 0;  // a checksum of what is right before it (follower.cc); 0: unknown
};

inline bool SameFile(const FileMark& a, const FileMark& b) {
  return a.device == b.device && a.inode == b.inode;
}

}  // namespace goodput
