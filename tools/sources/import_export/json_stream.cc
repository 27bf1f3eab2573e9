#include "tools/sources/import_export/json_stream.h"

#include <algorithm>
#include <cstring>

#include "sql/status_macros.h"

namespace goodput {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20U;
static_assert(kWindow > 2 * kMaxEntryBytes);

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Within an object over several lines, brackets are indented.
constexpr std::string_view kNextObject = "\n{\n";
constexpr std::string_view kTooLong = "longer than an entry may be";

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

std::size_t ValueEnd::Scan(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (escaped_) {
      escaped_ = false;
    } else if (in_text_) {
      if (c == '\\') escaped_ = true;
      if (c == '"') in_text_ = false;
    } else if (c == '"') {
      in_text_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (depth_ == 0 && (c == ',' || c == ']' || c == '}' || c == '\n')) {
      ended_ = true;
      return i;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      ended_ = true;
      return i + 1;
    }
  }
  return bytes.size();
}

EntryStream::EntryStream(const Input& input, std::size_t longest)
    : input_(input), longest_(longest), buffer_(kWindow + GoogleEntryParser::kPadding, '\0') {}

// Moves the rest of the window to the front and reads more after it.
absl::Status EntryStream::Fill() {
  if (all_read_) return absl::OkStatus();
  if (Rest().size() == window()) buffer_.resize(2 * window() + GoogleEntryParser::kPadding);
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  base_ += static_cast<std::int64_t>(at_);
  end_ -= at_;
  at_ = 0;
  ASSIGN_OR_RETURN(const std::size_t got, input_.Read(base_ + static_cast<std::int64_t>(end_),
                                                      buffer_.data() + end_, window() - end_));
  fingerprint_.Add(std::string_view(buffer_.data() + end_, got));
  all_read_ = got < window() - end_;
  end_ += got;
  return absl::OkStatus();
}

absl::Status EntryStream::SkipBlanks(std::string_view blanks) {
  while (true) {
    const std::size_t next = Rest().find_first_not_of(blanks);
    if (next != std::string_view::npos) {
      at_ += next;
      return absl::OkStatus();
    }
    at_ = end_;
    if (all_read_) return absl::OkStatus();
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
}

bool EntryStream::Hand(std::size_t length, std::size_t skip, EntryText& into) {
  into.text = Rest().substr(0, length);
  into.offset = position();
  into.problem = {};
  at_ += skip;
  return true;
}

absl::StatusOr<bool> EntryStream::NextLine(EntryText& into) {
  std::size_t newline = Rest().find('\n');
  while (newline == std::string_view::npos && !all_read_ && Rest().size() <= longest_) {
    const std::size_t searched = Rest().size();
    RETURN_IF_ERROR(Fill());
    newline = Rest().find('\n', searched);
  }
  if (newline != std::string_view::npos || all_read_) {
    const std::size_t length = newline == std::string_view::npos ? end_ - at_ : newline;
    // An object over several lines.
    if (Trimmed(Rest().substr(0, length)) == "{" && newline != std::string_view::npos) return NextValue(into);
    return Hand(length, newline == std::string_view::npos ? length : length + 1, into);
  }
  Hand(std::min(longest_, kMaxEntryBytes), 0, into);
  into.problem = kTooLong;
  // The window must not change while the caller reads `into`: the rest is skipped at the next call.
  skipping_line_ = true;
  return true;
}

absl::StatusOr<bool> EntryStream::NextValue(EntryText& into) {
  ValueEnd end;
  std::size_t length = 0;
  while (true) {
    const std::size_t searched = length - std::min(length, kNextObject.size());
    length += end.Scan(Rest().substr(length));
    const std::size_t next =
        in_array_ ? std::string_view::npos : Rest().substr(0, length).find(kNextObject, searched);
    if (next != std::string_view::npos) {
      Hand(next, next, into);
      into.problem = "truncated";
      return true;
    }
    if (end.ended()) {
      // An extra bracket means nothing, but must be skipped explicitly.
      Hand(std::max<std::size_t>(length, 1), std::max<std::size_t>(length, 1), into);
      return true;
    }
    if (length > longest_) break;
    if (all_read_) {
      Hand(length, length, into);
      into.problem = "truncated";
      in_array_ = false;
      return true;
    }
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
  Hand(length, length, into);
  into.problem = kTooLong;
  skipped_ = end;
  skipping_value_ = true;
  return true;
}

absl::Status EntryStream::SkipRest() {
  while (skipping_line_ || skipping_value_) {
    if (skipping_line_) {
      const std::size_t newline = Rest().find('\n');
      at_ = newline == std::string_view::npos ? end_ : at_ + newline + 1;
      skipping_line_ = newline == std::string_view::npos;
    } else {
      at_ += skipped_.Scan(Rest());
      skipping_value_ = !skipped_.ended();
    }
    if (!skipping_line_ && !skipping_value_) break;
    if (all_read_) return absl::OkStatus();
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> EntryStream::Next(EntryText& into) {
  if (!begun_) {
    begun_ = true;
    RETURN_IF_ERROR(Fill());
    if (Rest().substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ += kByteOrderMark.size();
  }
  RETURN_IF_ERROR(SkipRest());
  while (true) {
    RETURN_IF_ERROR(SkipBlanks(in_array_ ? " \t\r\n," : kBlanks));
    if (Empty()) {
      if (!in_array_) return false;
      in_array_ = false;
      Hand(0, 0, into);
      into.problem = "the array is not closed";
      return true;
    }
    const char next = Rest().front();
    if (in_array_ && next == ']') {
      in_array_ = false;
      ++at_;
    } else if (!in_array_ && next == '[') {
      in_array_ = true;
      ++at_;
    } else {
      break;
    }
  }
  return in_array_ ? NextValue(into) : NextLine(into);
}

}  // namespace goodput
