// A file of counters in the spool for `sgoodput doctor`: one line of name=value words, replaced atomically,
// kept across restarts of the daemon.
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

  // Sets the counters that are in the file.
  void Read(const Names& counts) const;
  // Writes the counters if they changed. Returns whether the file has them.
  bool Write(const Names& counts);

 private:
  std::string path_;
  std::string written_;
};

}  // namespace goodput
