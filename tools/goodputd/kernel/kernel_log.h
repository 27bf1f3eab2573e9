// Reads the kernel's log as it grows: /dev/kmsg, which systemd passes (goodputd-kernel.socket) or which
// goodputd opens, or a file of the same format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace goodput {

inline constexpr const char* kKernelLogPath = "/dev/kmsg";

// Of descriptors that were passed at the start, the one of /dev/kmsg; -1: none.
int PassedKernelLog(const std::vector<int>& passed);

class KernelLog {
 public:
  KernelLog() = default;
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // `passed`: an open descriptor of /dev/kmsg, which stays the caller's; -1: opens `path`.
  absl::Status Open(int passed, const std::string& path);

  // Passes each line since the last call, at most kMostBytes of them. `live`: it was written since the last
  // call, and not before the first one. True: there may be more.
  using TakeKernelLine = std::function<void(std::string_view line, bool live)>;
  bool Read(const TakeKernelLine& take);
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10U;

  // To poll for more; -1: a file, which is always readable.
  int poll_fd() const { return is_file_ ? -1 : fd_; }
  // How often the kernel had overwritten lines before they were read.
  std::uint64_t overwritten() const { return overwritten_; }

 private:
  int fd_ = -1;
  bool owned_ = false;
  bool is_file_ = false;
  bool live_ = false;
  bool skips_ = false;  // the rest of a line that is too long
  std::string begun_;   // a line without its end
  std::uint64_t overwritten_ = 0;
};

}  // namespace goodput
