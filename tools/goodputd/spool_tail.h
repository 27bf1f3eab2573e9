// Follows the spool's node folders: the plugin's records of jobs, steps and tasks, which only root can write.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace goodput {

class SpoolTail {
 public:
  // A line of the file without its newline; never empty, at most kMaxRecordBytes.
  using Take = std::function<void(const std::string& node, std::string_view line)>;
  // `boot_id`: of the files to follow; empty: all.
  explicit SpoolTail(std::string spool_root, std::string boot_id = {})
      : spool_root_(std::move(spool_root)), boot_id_(std::move(boot_id)) {}

  // Passes the complete lines since the last call, except marks. A file that cannot be read is tried again
  // next time.
  void Read(const Take& take);

 private:
  void ReadFile(const std::string& node, const std::string& path, std::int64_t& offset, const Take& take);

  std::string spool_root_;
  std::string boot_id_;
  std::map<std::string, std::int64_t> offsets_;  // by path
};

// The kernel's id of this boot, with which file names of the spool begin; kUnknownBoot if it cannot be read.
std::string BootId(const std::string& path = "/proc/sys/kernel/random/boot_id");

}  // namespace goodput
