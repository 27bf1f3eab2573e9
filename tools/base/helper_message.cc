#include "tools/base/helper_message.h"

#include <cstring>

#include "sql/text.h"

namespace goodput {
namespace {

void PutLittleEndian(std::uint64_t value, std::size_t bytes, std::string& into) {
  for (std::size_t i = 0; i < bytes; ++i) into.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kNumberBytes = 8;

}  // namespace

MessageWriter& MessageWriter::Text(std::string_view text) {
  PutLittleEndian(text.size(), kLengthBytes, message_);
  message_ += text;
  return *this;
}

MessageWriter& MessageWriter::Number(std::int64_t value) {
  PutLittleEndian(kNumberBytes, kLengthBytes, message_);
  PutLittleEndian(static_cast<std::uint64_t>(value), kNumberBytes, message_);
  return *this;
}

MessageWriter& MessageWriter::OptionalNumber(const std::optional<std::int64_t>& value) {
  return value ? Number(*value) : Text("");
}

MessageWriter& MessageWriter::Status(const absl::Status& status) {
  return Number(status.raw_code()).Text(Message(status));
}

std::string_view MessageReader::Text() {
  if (!ok_ || rest_.size() < kLengthBytes) {
    ok_ = false;
    return {};
  }
  const std::uint64_t length = LittleEndian(rest_.substr(0, kLengthBytes));
  if (length > rest_.size() - kLengthBytes) {
    ok_ = false;
    return {};
  }
  const std::string_view text = rest_.substr(kLengthBytes, length);
  rest_.remove_prefix(kLengthBytes + text.size());
  return text;
}

std::optional<std::int64_t> MessageReader::OptionalNumber() {
  const std::string_view text = Text();
  if (text.size() == kNumberBytes) return static_cast<std::int64_t>(LittleEndian(text));
  if (!text.empty()) ok_ = false;
  return std::nullopt;
}

std::int64_t MessageReader::Number() {
  const std::optional<std::int64_t> number = OptionalNumber();
  if (!number) ok_ = false;
  return number.value_or(0);
}

bool MessageReader::Flag() {
  const std::int64_t number = Number();
  if (number != 0 && number != 1) ok_ = false;
  return ok_ && number == 1;
}

absl::Status MessageReader::Status() {
  const std::int64_t code = Number();
  const std::string text(Text());
  if (!ok_) return absl::InternalError("malformed reply from a helper");
  return code == 0 ? absl::OkStatus() : absl::Status(static_cast<absl::StatusCode>(code), text);
}

}  // namespace goodput
