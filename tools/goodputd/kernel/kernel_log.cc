#include "tools/goodputd/kernel/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sql/text.h"

namespace goodput {
namespace {

// Of /dev/kmsg (Documentation/admin-guide/devices.txt).
constexpr unsigned kMemoryDevices = 1;
constexpr unsigned kKmsg = 11;
// A record, with the lines that name its device, is at most CONSOLE_EXT_LOG_MAX: 8192.
constexpr std::size_t kMostRecord = std::size_t{8} << 10U;

}  // namespace

int PassedKernelLog(const std::vector<int>& passed) {
  for (const int fd : passed) {
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(kMemoryDevices, kKmsg))
      return fd;
  }
  return -1;
}

KernelLog::~KernelLog() {
  if (owned_ && fd_ >= 0) close(fd_);
}

absl::Status KernelLog::Open(int passed, const std::string& path) {
  fd_ = passed;
  if (passed >= 0) {
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  } else {
    fd_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    owned_ = true;
  }
  if (fd_ < 0) {
    const std::string why = Cat(path, ": ", std::strerror(errno));
    return errno == ENOENT || errno == ENXIO ? absl::NotFoundError(why) : absl::PermissionDeniedError(why);
  }
  struct stat info {};
  is_file_ = fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
  return absl::OkStatus();
}

bool KernelLog::Read(const TakeKernelLine& take) {
  std::array<char, kMostRecord> buffer{};
  for (std::size_t sum = 0; sum < kMostBytes;) {
    const ssize_t got = read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EPIPE) {
      ++overwritten_;
      continue;
    }
    if (got <= 0) {
      live_ = true;
      return false;
    }
    sum += static_cast<std::size_t>(got);
    begun_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = begun_.find('\n'); end != std::string::npos; end = begun_.find('\n', begin)) {
      if (!skips_) take(std::string_view(begun_).substr(begin, end - begin), live_);
      skips_ = false;
      begin = end + 1;
    }
    begun_.erase(0, begin);
    if (begun_.size() > kMostRecord) {
      begun_.clear();
      skips_ = true;
    }
  }
  return true;
}

}  // namespace goodput
