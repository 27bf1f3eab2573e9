#include "tools/base/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return absl::FailedPreconditionError(Cat("cannot write ", path, ": ", std::strerror(errno)));
}

absl::Status WriteDurably(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return CannotWrite(path);
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  const bool good = text.empty() && fsync(fd) == 0;
  absl::Status status = good ? absl::OkStatus() : CannotWrite(path);
  close(fd);
  return status;
}

}  // namespace

absl::Status ReplaceFile(const std::string& path, std::string_view text) {
  const std::string beside = path + ".new";
  RETURN_IF_ERROR(WriteDurably(beside, text));
  if (std::rename(beside.c_str(), path.c_str()) != 0) return CannotWrite(path);
  const std::string folder = std::filesystem::path(path).parent_path();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path);
  const bool good = fsync(fd) == 0;
  close(fd);
  return good ? absl::OkStatus() : CannotWrite(path);
}

absl::StatusOr<std::optional<std::string>> ReadFileIfAny(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    if (errno == ENOENT) return std::optional<std::string>();
    return absl::FailedPreconditionError(Cat("cannot read ", path, ": ", std::strerror(errno)));
  }
  return std::optional<std::string>({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
}

}  // namespace goodput
