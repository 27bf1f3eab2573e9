// Fuzzes the reader of container output from Cloud Logging: it ends, and each line begins with a time.
#include "tools/sources/import_export/cloud_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"

FUZZ_TARGET(cloud_log) {
  using namespace goodput;
  const int fd = memfd_create("fuzz", 0);
  REQUIRE(write(fd, data, size) == static_cast<ssize_t>(size));
  const auto input = Input::Open("/proc/self/fd/" + std::to_string(fd));
  REQUIRE(input.ok());
  REQUIRE(IsCloudLog(*input).ok());
  const auto log = ReadCloudLog(*input);
  close(fd);
  if (!log.ok()) return 0;
  REQUIRE(log->entries > 0);
  std::string text(static_cast<std::size_t>(log->lines.size()), '\0');
  REQUIRE(log->lines.Read(0, text.data(), text.size()).ok());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    REQUIRE(end != std::string::npos && text.substr(at, end - at).find("Z ") != std::string::npos);
    at = end + 1;
  }
  return 0;
}
