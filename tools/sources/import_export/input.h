// A file to import: read at any place, as it was when it was opened. What cannot be read twice (a pipe,
// stdin) is copied to a file without a name first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace goodput {

// Tells contents apart: 64 bits, for files nobody made in order to deceive.
class Fingerprint {
 public:
  void Add(std::string_view bytes);
  std::string Text() const;  // sixteen hexadecimal digits and the length

 private:
  void AddBlock(const char* bytes);
  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
  std::int64_t length_ = 0;
  std::string rest_;  // less than a block
};

class Input {
 public:
  // `path`: "-" is stdin. NotFound, PermissionDenied and so on as errno says, with the path.
  static absl::StatusOr<Input> Open(const std::string& path);

  // At most `size` bytes from `at`; less only at the end.
  absl::StatusOr<std::size_t> Read(std::int64_t at, char* into, std::size_t size) const;
  std::int64_t size() const { return size_; }
  // What people call it: the path made absolute, or "-".
  const std::string& name() const { return name_; }
  // When it was last written to, nanoseconds since the epoch; of what is no file, now.
  std::int64_t written_ns() const { return written_ns_; }
  bool is_file() const { return is_file_; }  // false: only its content tells it from others
  absl::StatusOr<std::string> FingerprintOfAll() const;

 private:
  struct CloseFile {
    void operator()(const int* fd) const;
  };
  Input() = default;
  absl::Status CopyToUnnamed(int from);

  std::unique_ptr<int, CloseFile> fd_;
  std::int64_t size_ = 0;
  std::int64_t written_ns_ = 0;
  std::string name_;
  bool is_file_ = true;
};

}  // namespace goodput
