// What a helper process and its parent tell each other: a sequence of fields, read in the order in which they
// were written.
//
//   field   := length bytes          length: 4 bytes, little-endian
//   number  := a field of 8 bytes, little-endian
//   absent  := a field without bytes where a number may be
//
// The reader of a helper's answer trusts nothing in it: the helper runs as a job's user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace goodput {

class MessageWriter {
 public:
  MessageWriter& Text(std::string_view text);
  MessageWriter& Number(std::int64_t value);
  MessageWriter& OptionalNumber(const std::optional<std::int64_t>& value);
  MessageWriter& Flag(bool value) { return Number(value ? 1 : 0); }
  // The code and the message; an OK status, too.
  MessageWriter& Status(const absl::Status& status);
  std::size_t size() const { return message_.size(); }
  std::string Take() { return std::move(message_); }

 private:
  std::string message_;
};

// After a field that is not there or not of its kind, every other is empty, and ok() is false.
class MessageReader {
 public:
  // `message` must outlive this.
  explicit MessageReader(std::string_view message) : rest_(message) {}

  std::string_view Text();
  std::int64_t Number();
  std::optional<std::int64_t> OptionalNumber();
  bool Flag();
  // Of MessageWriter::Status. An error if there is none.
  absl::Status Status();

  bool AtEnd() const { return rest_.empty(); }
  bool ok() const { return ok_; }
  // For a value that its reader rejects.
  void Reject() { ok_ = false; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace goodput
