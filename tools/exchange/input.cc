#include "tools/exchange/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"
#include "spank/files.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} << 10U;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

absl::Status Errno(std::string_view path, int error) {
  return absl::ErrnoToStatus(error, Cat(path, ": cannot read it"));
}

}  // namespace

void Fingerprint::AddWord(std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(state_ ^ word) * 0xd6e8feb86659fd93U;
  state_ = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U) ^
           (word << 32U | word >> 32U);
}

void Fingerprint::Add(std::string_view bytes) {
  length_ += static_cast<std::int64_t>(bytes.size());
  if (!rest_.empty()) {
    const std::size_t wanted = std::min(bytes.size(), kWordBytes - rest_.size());
    rest_.append(bytes.substr(0, wanted));
    bytes.remove_prefix(wanted);
    if (rest_.size() < kWordBytes) return;
    std::uint64_t word = 0;
    std::memcpy(&word, rest_.data(), kWordBytes);
    AddWord(word);
    rest_.clear();
  }
  while (bytes.size() >= kWordBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), kWordBytes);
    AddWord(word);
    bytes.remove_prefix(kWordBytes);
  }
  rest_ = bytes;
}

std::string Fingerprint::Text() const {
  Fingerprint whole = *this;
  std::uint64_t word = 0;
  if (!rest_.empty()) std::memcpy(&word, rest_.data(), rest_.size());
  whole.AddWord(word);
  whole.AddWord(static_cast<std::uint64_t>(length_));
  return absl::StrFormat("%016x-%d", whole.state_, length_);
}

void Input::CloseFile::operator()(const int* fd) const {
  close(*fd);
  delete fd;
}

absl::StatusOr<Input> Input::Open(const std::string& path) {
  Input input;
  const bool standard_input = path == "-";
  std::error_code ignored;
  input.name_ = standard_input ? path : std::filesystem::absolute(path, ignored).lexically_normal().string();
  const int fd = standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Errno(path, errno);
  input.fd_.reset(new int(fd));
  struct stat info {};
  if (fstat(fd, &info) != 0) return Errno(path, errno);
  if (S_ISDIR(info.st_mode)) return Errno(path, EISDIR);
  input.is_file_ = S_ISREG(info.st_mode) && !standard_input;
  if (input.is_file_) {
    input.size_ = info.st_size;
    return input;
  }
  if (absl::Status status = input.CopyToUnnamed(fd); !status.ok()) return Annotate(status, path);
  return input;
}

absl::Status Input::CopyToUnnamed(int from) {
  const char* const tmp = std::getenv("TMPDIR");
  std::string path = Cat(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp", "/sgoodput-XXXXXX");
  std::unique_ptr<int, CloseFile> copy(new int(mkostemp(path.data(), O_CLOEXEC)));
  if (*copy < 0) return absl::ErrnoToStatus(errno, Cat("cannot make ", path));
  unlink(path.c_str());
  std::string buffer(kCopyBytes, '\0');
  while (true) {
    const ssize_t got = Uninterrupted([&] { return read(from, buffer.data(), buffer.size()); });
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read it");
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = Uninterrupted(
          [&] { return write(*copy, buffer.data() + done, static_cast<std::size_t>(got - done)); });
      if (put <= 0) return absl::ErrnoToStatus(errno, Cat("cannot keep a copy in ", path));
      done += put;
    }
    size_ += got;
  }
  fd_ = std::move(copy);
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> Input::Read(std::int64_t at, char* into, std::size_t size) const {
  size = static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - at, 0, static_cast<std::int64_t>(size)));
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = Uninterrupted(
        [&] { return pread(*fd_, into + done, size - done, at + static_cast<std::int64_t>(done)); });
    if (got < 0) return Errno(name_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

absl::StatusOr<std::string> Input::FingerprintOfAll() const {
  Fingerprint fingerprint;
  std::string buffer(kCopyBytes, '\0');
  for (std::int64_t at = 0;;) {
    const absl::StatusOr<std::size_t> got = Read(at, buffer.data(), buffer.size());
    if (!got.ok()) return got.status();
    if (*got == 0) return fingerprint.Text();
    fingerprint.Add(std::string_view(buffer.data(), *got));
    at += static_cast<std::int64_t>(*got);
  }
}

}  // namespace goodput
