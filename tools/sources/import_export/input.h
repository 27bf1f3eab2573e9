// A file to import: random access to the contents as of when it was opened. A pipe or stdin, which cannot be
// read twice, is copied to an unnamed file first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace goodput {

// Distinguishes contents: 64 bits, not secure against deliberate collisions.
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
  // `path`: "-" is stdin. Returns NotFound, PermissionDenied and so on according to errno, with the path.
  // InvalidArgument: neither a file nor a pipe, or a pipe that does not end. DeadlineExceeded: a pipe without
  // data for so long.
  static absl::StatusOr<Input> Open(const std::string& path, absl::Duration patience = absl::Minutes(10));

  // Several files as one, each on lines of its own; those compressed with gzip are unpacked, and one that was
  // cut off gives what it has. The name is that of the first. InvalidArgument also: compressed in another
  // way, damaged, or more than 16 GiB in total.
  static absl::StatusOr<Input> OpenAll(const std::vector<std::string>& paths);
  // Whether OpenAll would unpack it.
  absl::StatusOr<bool> IsPacked() const;

  // An empty, unnamed file in $TMPDIR that stands for another input: with its name and time.
  static absl::StatusOr<Input> Unnamed(const Input& like);
  // Only to an unnamed file.
  absl::Status Append(std::string_view bytes);

  // A copy of what `name` identifies, for another process to write to WritableFd: in the file `path`, which
  // is made if it is missing, or empty and unnamed. CopyIsWritten tells that the process has ended.
  static absl::StatusOr<Input> CopyOf(const std::string& name, const std::string& path);
  int WritableFd() const { return *fd_; }
  absl::Status CopyIsWritten();

  // At most `size` bytes from `at`; fewer only at the end.
  absl::StatusOr<std::size_t> Read(std::int64_t at, char* into, std::size_t size) const;
  std::int64_t size() const { return size_; }
  // The absolute path, or "-".
  const std::string& name() const { return name_; }
  // When it was last written, in nanoseconds since the epoch; now if it is not a file.
  std::int64_t written_ns() const { return written_ns_; }
  bool is_file() const { return is_file_; }  // false: only its content identifies it
  absl::StatusOr<std::string> FingerprintOfAll() const;

 private:
  struct CloseFile {
    void operator()(const int* fd) const;
  };
  Input() = default;
  absl::Status CopyToUnnamed(int from, absl::Duration patience);
  absl::Status Append(const Input& other);

  std::unique_ptr<int, CloseFile> fd_;
  std::int64_t size_ = 0;
  std::int64_t written_ns_ = 0;
  std::string name_;
  bool is_file_ = true;
};

}  // namespace goodput
