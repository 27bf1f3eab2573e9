// Counts that `sgoodput doctor` shows, in a file of the spool: one line of name=value words, replaced whole,
// over restarts of the daemon.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace goodput {

class CountsFile {
 public:
  using Names = std::vector<std::pair<const char*, std::uint64_t*>>;
  explicit CountsFile(std::string path) : path_(std::move(path)) {}

  // Sets those that are in the file.
  void Read(const Names& counts) const;
  // Writes them, if they changed since the last time; whether they are in the file.
  bool Write(const Names& counts);

 private:
  std::string path_;
  std::string written_;
};

}  // namespace goodput
