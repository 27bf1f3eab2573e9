// Reads the JSON values of a file one after the other: one value per line, the elements of an array over any
// number of lines (as `gcloud logging read --format=json` prints them), or both. Only a window of the file is
// in memory. An object over several lines that was cut off ends where a line is a bracket that opens the
// next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/sources/import_export/input.h"
#include "tools/sources/logs/google_entry.h"

namespace goodput {

struct EntryText {
  std::string_view text;  // until the next Next; GoogleEntryParser::kPadding bytes after it are readable
  std::int64_t offset = 0;
  std::string_view problem;  // why it cannot be an entry, if it was not even read; `text` is its beginning
};

// Finds the end of a JSON value in pieces.
class ValueEnd {
 public:
  // How many of the bytes belong to it; `ended` tells whether it is complete. A value that is neither object
  // nor array ends before a comma, a bracket or a newline.
  std::size_t Scan(std::string_view bytes);
  bool ended() const { return ended_; }

 private:
  int depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  bool ended_ = false;
};

class EntryStream {
 public:
  // `longest`: a longer value has a problem. The window grows to twice that, if there are such values.
  explicit EntryStream(const Input& input, std::size_t longest = kMaxEntryBytes);
  // False: end of file. An error: the file could not be read.
  absl::StatusOr<bool> Next(EntryText& into);
  // Of the part that was read; of the whole file once Next has returned false.
  const Fingerprint& fingerprint() const { return fingerprint_; }
  std::int64_t position() const { return base_ + static_cast<std::int64_t>(at_); }

 private:
  absl::Status Fill();
  std::size_t window() const { return buffer_.size() - GoogleEntryParser::kPadding; }
  bool Empty() const { return at_ == end_; }
  std::string_view Rest() const { return std::string_view(buffer_).substr(at_, end_ - at_); }
  absl::Status SkipBlanks(std::string_view blanks);
  absl::StatusOr<bool> NextLine(EntryText& into);
  absl::StatusOr<bool> NextValue(EntryText& into);
  bool Hand(std::size_t length, std::size_t skip, EntryText& into);
  absl::Status SkipRest();

  const Input& input_;
  std::size_t longest_;
  std::string buffer_;
  std::int64_t base_ = 0;  // offset of buffer_ in the file
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool all_read_ = false;
  bool in_array_ = false;
  bool begun_ = false;
  // While skipping a value that is too long.
  bool skipping_line_ = false;
  bool skipping_value_ = false;
  ValueEnd skipped_;
  Fingerprint fingerprint_;
};

}  // namespace goodput
