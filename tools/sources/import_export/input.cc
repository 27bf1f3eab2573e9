#include "tools/sources/import_export/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_format.h"
#include "spank/clock.h"
#include "spank/files.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/unpacker.h"

namespace goodput {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} << 10U;
constexpr std::size_t kBlockBytes = 16;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
// Of a pipe, which may never end.
constexpr std::int64_t kMostCopied = std::int64_t{16} << 30U;

absl::Status Errno(std::string_view path, int error) {
  return absl::ErrnoToStatus(error, Cat(path, ": cannot read the file"));
}

}  // namespace

// All bits of a 128-bit product depend on both words; adding them again prevents a factor of 0 from hiding
// the other.
void Fingerprint::AddBlock(const char* bytes) {
  __extension__ using Wide = unsigned __int128;
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), bytes, kBlockBytes);
  const Wide product = static_cast<Wide>(state_ ^ words[0]) * (words[1] ^ 0xd6e8feb86659fd93U);
  state_ = (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U)) + words[0] +
           (words[1] << 32U | words[1] >> 32U);
}

void Fingerprint::Add(std::string_view bytes) {
  length_ += static_cast<std::int64_t>(bytes.size());
  if (!rest_.empty()) {
    const std::size_t wanted = std::min(bytes.size(), kBlockBytes - rest_.size());
    rest_.append(bytes.substr(0, wanted));
    bytes.remove_prefix(wanted);
    if (rest_.size() < kBlockBytes) return;
    AddBlock(rest_.data());
    rest_.clear();
  }
  while (bytes.size() >= kBlockBytes) {
    AddBlock(bytes.data());
    bytes.remove_prefix(kBlockBytes);
  }
  rest_ = bytes;
}

std::string Fingerprint::Text() const {
  Fingerprint whole = *this;
  // The length distinguishes trailing zeros from padding.
  std::array<char, kBlockBytes> last{};
  std::copy(rest_.begin(), rest_.end(), last.begin());
  whole.AddBlock(last.data());
  last.fill(0);
  std::memcpy(last.data(), &length_, sizeof length_);
  whole.AddBlock(last.data());
  return absl::StrFormat("%016x-%d", whole.state_, length_);
}

void Input::CloseFile::operator()(const int* fd) const {
  close(*fd);
  delete fd;
}

absl::StatusOr<Input> Input::Open(const std::string& path, absl::Duration patience) {
  Input input;
  const bool standard_input = path == "-";
  std::error_code ignored;
  input.name_ = standard_input ? path : std::filesystem::absolute(path, ignored).lexically_normal().string();
  // A pipe that nobody writes to must not hold up the open.
  const int fd = standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return Errno(path, errno);
  input.fd_.reset(new int(fd));
  struct stat info {};
  if (fstat(fd, &info) != 0) return Errno(path, errno);
  if (S_ISDIR(info.st_mode)) return Errno(path, EISDIR);
  if (!standard_input && !S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
    return absl::InvalidArgumentError(Cat(path, ": not a file or pipe"));
  input.is_file_ = S_ISREG(info.st_mode) && !standard_input;
  input.written_ns_ = S_ISREG(info.st_mode) ? info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec
                                            : kSystemClock.real_ns();
  if (input.is_file_) {
    input.size_ = info.st_size;
    return input;
  }
  if (absl::Status status = input.CopyToUnnamed(fd, patience); !status.ok()) return Annotate(status, path);
  return input;
}

absl::StatusOr<Input> Input::Unnamed(const Input& like) {
  Input input;
  input.name_ = like.name_;
  input.written_ns_ = like.written_ns_;
  input.is_file_ = false;
  const char* const tmp = std::getenv("TMPDIR");
  std::string path = Cat(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp", "/sgoodput-XXXXXX");
  input.fd_.reset(new int(mkostemp(path.data(), O_CLOEXEC)));
  if (*input.fd_ < 0) return absl::ErrnoToStatus(errno, Cat("cannot make ", path));
  unlink(path.c_str());
  return input;
}

absl::StatusOr<Input> Input::CopyOf(const std::string& name, const std::string& path) {
  Input input;
  input.name_ = name;
  if (path.empty()) {
    ASSIGN_OR_RETURN(Input unnamed, Unnamed(input));
    input.fd_ = std::move(unnamed.fd_);
  } else {
    constexpr mode_t kOwnerOnly = 0600;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
    if (fd < 0) return Errno(path, errno);
    input.fd_.reset(new int(fd));
  }
  if (absl::Status status = input.CopyIsWritten(); !status.ok()) return status;
  return input;
}

absl::Status Input::CopyIsWritten() {
  struct stat info {};
  if (fstat(*fd_, &info) != 0) return Errno(name_, errno);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("not a file to keep entries in");
  size_ = info.st_size;
  written_ns_ = kSystemClock.real_ns();
  return absl::OkStatus();
}

absl::Status Input::Append(std::string_view bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  if (size_ > kMostCopied) {
    return absl::InvalidArgumentError(
        "more than 16 GiB (unpacked, if it was compressed); write it to files, and import them in parts");
  }
  while (!bytes.empty()) {
    const ssize_t put = Uninterrupted([&] { return write(*fd_, bytes.data(), bytes.size()); });
    if (put <= 0) return absl::ErrnoToStatus(errno, "cannot keep a copy in $TMPDIR or /tmp");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status Input::CopyToUnnamed(int from, absl::Duration patience) {
  ASSIGN_OR_RETURN(Input copy, Unnamed(*this));
  std::string buffer(kCopyBytes, '\0');
  while (true) {
    pollfd polled{from, POLLIN, 0};
    const auto ms = static_cast<int>(absl::ToInt64Milliseconds(patience));
    if (Uninterrupted([&] { return poll(&polled, 1, ms); }) == 0)
      return absl::DeadlineExceededError(Cat("no data for ", absl::FormatDuration(patience)));
    const ssize_t got = Uninterrupted([&] { return read(from, buffer.data(), buffer.size()); });
    if (got < 0 && errno == EAGAIN) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read it");
    if (got == 0) break;
    RETURN_IF_ERROR(copy.Append(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
  }
  size_ = copy.size_;
  fd_ = std::move(copy.fd_);
  return absl::OkStatus();
}

absl::StatusOr<bool> Input::IsPacked() const {
  std::array<char, kZstdMagic.size()> magic{};
  ASSIGN_OR_RETURN(const std::size_t got, Read(0, magic.data(), magic.size()));
  const std::string_view begin(magic.data(), got);
  return begin.substr(0, kGzipMagic.size()) == kGzipMagic || begin == kZstdMagic;
}

absl::Status Input::Append(const Input& other) {
  std::string buffer(kCopyBytes, '\0');
  ASSIGN_OR_RETURN(const bool packed, other.IsPacked());
  Unpacker unpacker;
  for (std::int64_t at = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, other.Read(at, buffer.data(), buffer.size()));
    if (got == 0) return Append("\n");
    const std::string_view piece = std::string_view(buffer).substr(0, got);
    if (at == 0 && packed && piece.substr(0, kZstdMagic.size()) == kZstdMagic) {
      return absl::InvalidArgumentError(
          "compressed with zstd, which sgoodput does not read; unpack it with zstd -d");
    }
    at += static_cast<std::int64_t>(got);
    RETURN_IF_ERROR(packed ? unpacker.Unpack(piece, [&](std::string_view bytes) { return Append(bytes); })
                           : Append(piece));
  }
}

absl::StatusOr<Input> Input::OpenAll(const std::vector<std::string>& paths) {
  std::optional<Input> all;
  for (const std::string& path : paths) {
    absl::StatusOr<Input> one = Open(path);
    if (!one.ok()) return one.status();
    ASSIGN_OR_RETURN(const bool packed, one->IsPacked());
    if (paths.size() == 1 && !packed) return *std::move(one);
    if (!all) {
      ASSIGN_OR_RETURN(Input first, Unnamed(*one));
      first.is_file_ = one->is_file_;
      all.emplace(std::move(first));
    }
    all->written_ns_ = std::max(all->written_ns_, one->written_ns_);
    if (absl::Status status = all->Append(*one); !status.ok()) return Annotate(status, path);
  }
  return *std::move(all);
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
    ASSIGN_OR_RETURN(const std::size_t got, Read(at, buffer.data(), buffer.size()));
    if (got == 0) return fingerprint.Text();
    fingerprint.Add(std::string_view(buffer.data(), got));
    at += static_cast<std::int64_t>(got);
  }
}

}  // namespace goodput
