#include "spank/event.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace goodput {
namespace {

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Cuts between characters, so that the result remains valid UTF-8.
std::string_view CutAtCharacter(std::string_view text, std::size_t length) {
  if (text.size() <= length) return text;
  while (length > 0 && IsContinuation(text[length])) --length;
  return text.substr(0, length);
}

}  // namespace

std::size_t Utf8SequenceLength(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;  // range of the second byte: Unicode's table 3-7
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  return length;
}

RecordBuilder::RecordBuilder(std::string_view kind, const Stamp& stamp) noexcept {
  Put("\n{");
  Int(key::kVersion, kFormatVersion);
  Int(key::kTime, stamp.real_ns);
  Int(key::kMonotonic, stamp.mono_ns);
  Text(key::kNode, stamp.node);
  Int(key::kStepd, stamp.pid);
  Text(key::kKind, kind);
}

void RecordBuilder::Put(char c) noexcept {
  if (size_ >= limit_) {
    overflow_ = true;
    return;
  }
  bytes_[size_++] = c;
}

void RecordBuilder::Put(std::string_view text) noexcept {
  if (text.size() > limit_ || size_ > limit_ - text.size()) {
    overflow_ = true;
    return;
  }
  std::memcpy(bytes_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

void RecordBuilder::PutQuoted(std::string_view value) noexcept {
  QuoteJson(value, [this](std::string_view piece) {
    Put(piece);
    return !overflow_;
  });
}

void RecordBuilder::Begin(std::string_view key, Worth worth) noexcept {
  overflow_ = false;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (open_[i].worth != Worth::kIdentity) worth = open_[i].worth;
  }
  limit_ = worth == Worth::kIdentity ? kScratchBytes : kDroppableBytes;
  spans_[span_count_] = Span{size_, 0, worth};
  const char before = bytes_[size_ - 1];
  if (before != '{' && before != '[') Put(',');
  if (!key.empty()) {
    PutQuoted(key);
    Put(':');
  }
}

// Closes the member that Begin() opened: removes it if it did not fit, and records its position if it may be
// dropped later.
void RecordBuilder::End(Worth worth) noexcept {
  Span& span = spans_[span_count_];
  if (overflow_) {
    size_ = span.begin;
    truncated_ = true;
    overflow_ = false;
  } else if (worth != Worth::kIdentity) {
    span.end = size_;
    span.worth = worth;
    // The last place is Begin()'s. A droppable value whose position cannot be recorded is not kept.
    if (span_count_ + 1 < kMaxSpans) {
      ++span_count_;
    } else {
      size_ = span.begin;
      truncated_ = true;
    }
  }
}

void RecordBuilder::Int(std::string_view key, int64_t value) noexcept {
  if (skipped_depth_ > 0) return;
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  Begin(key, Worth::kIdentity);
  Put(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  End(Worth::kIdentity);
}

void RecordBuilder::Uint(std::string_view key, uint64_t value) noexcept {
  if (skipped_depth_ > 0) return;
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  Begin(key, Worth::kIdentity);
  Put(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  End(Worth::kIdentity);
}

void RecordBuilder::Ints(std::string_view key, const int64_t* values, std::size_t count) noexcept {
  if (skipped_depth_ > 0) return;
  Begin(key, Worth::kIdentity);
  Put('[');
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), values[i]).ptr;
    if (i > 0) Put(',');
    Put(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  Put(']');
  End(Worth::kIdentity);
}

void RecordBuilder::Number(std::string_view key, double value) noexcept {
  if (skipped_depth_ > 0 || !std::isfinite(value)) return;
  // The shorter of the two that reads back as the same number. printf uses the locale's decimal point.
  std::array<char, 40> digits;
  double read_back = 0;
  for (const int precision : {15, 17}) {
    std::snprintf(digits.data(), digits.size(), "%.*g", precision, value);
    if (std::sscanf(digits.data(), "%lf", &read_back) == 1 && read_back == value) break;
  }
  for (char& c : digits) {
    if (c == '\0') break;
    if (c == ',') c = '.';
  }
  Begin(key, Worth::kIdentity);
  Put(std::string_view(digits.data()));
  End(Worth::kIdentity);
}

void RecordBuilder::Text(std::string_view key, std::string_view value, Worth worth) noexcept {
  if (skipped_depth_ > 0) return;
  if (worth == Worth::kIdentity && value.size() > kMaxIdentityBytes) {
    bool inside_droppable = false;
    for (std::size_t i = 0; i < depth_; ++i) inside_droppable |= open_[i].worth != Worth::kIdentity;
    if (!inside_droppable) {
      value = CutAtCharacter(value, kMaxIdentityBytes);
      truncated_ = true;
    }
  }
  Begin(key, worth);
  PutQuoted(value);
  End(worth);
}

void RecordBuilder::Push(Worth worth) noexcept {
  if (skipped_depth_ > 0 || depth_ == kMaxDepth || overflow_) {
    if (skipped_depth_ == 0) {
      overflow_ = true;
      End(Worth::kIdentity);  // removes the key
    }
    ++skipped_depth_;
    return;
  }
  open_[depth_++] = Open{spans_[span_count_].begin, worth};
}

void RecordBuilder::Pop(char closing) noexcept {
  if (skipped_depth_ > 0) {
    --skipped_depth_;
    return;
  }
  if (depth_ == 0) return;
  const Open open = open_[--depth_];
  overflow_ = false;
  limit_ = kScratchBytes;
  Put(closing);
  // A member inside an object that may be dropped needs no position of its own.
  if (open.worth != Worth::kIdentity) {
    while (span_count_ > 0 && spans_[span_count_ - 1].begin >= open.begin) --span_count_;
  }
  spans_[span_count_] = Span{open.begin, 0, open.worth};
  End(open.worth);
}

void RecordBuilder::OpenObject(std::string_view key, Worth worth) noexcept {
  if (skipped_depth_ == 0) {
    Begin(key, worth);
    Put('{');
  }
  Push(worth);
}

void RecordBuilder::CloseObject() noexcept {
  Pop('}');
}

void RecordBuilder::OpenArray(std::string_view key, Worth worth) noexcept {
  if (skipped_depth_ == 0) {
    Begin(key, worth);
    Put('[');
  }
  Push(worth);
}

void RecordBuilder::Element(std::string_view value) noexcept {
  Text({}, value);
}

void RecordBuilder::CloseArray() noexcept {
  Pop(']');
}

void RecordBuilder::Erase(std::size_t begin, std::size_t end) noexcept {
  // A member includes the comma before it; removing an object's first member leaves the comma of the next
  // one.
  const char before = bytes_[begin - 1];
  if ((before == '{' || before == '[') && end < size_ && bytes_[end] == ',') ++end;
  std::memmove(bytes_.data() + begin, bytes_.data() + end, size_ - end);
  size_ -= end - begin;
}

void RecordBuilder::Drop(Worth worth) noexcept {
  // From the back, so that earlier positions remain valid.
  for (std::size_t i = span_count_; i-- > 0;) {
    Span& span = spans_[i];
    if (span.worth != worth || span.end == 0) continue;
    const std::size_t before = size_;
    Erase(span.begin, span.end);
    const std::size_t gone = before - size_;
    for (std::size_t later = i + 1; later < span_count_; ++later) {
      // The next member may have lost its comma to Erase: it then begins where the dropped one did.
      spans_[later].begin = std::max(spans_[later].begin - gone, span.begin);
      if (spans_[later].end != 0) spans_[later].end -= gone;
    }
    span.end = 0;
    truncated_ = true;
  }
}

std::string_view RecordBuilder::Finish() noexcept {
  constexpr std::string_view kTruncMember = ",\"trunc\":true";
  // For the closing } and the newline.
  constexpr std::size_t kRoom = kMaxRecordBytes - 2 - kTruncMember.size();
  while (depth_ > 0) Pop('}');
  // Space for the flag is only used if something is dropped; a record that just fits needs none.
  const std::size_t most = truncated_ ? kRoom : kMaxRecordBytes - 2;
  if (size_ > most) Drop(Worth::kTags);
  if (size_ > (truncated_ ? kRoom : most)) Drop(Worth::kFreeText);
  limit_ = kScratchBytes;
  if (truncated_) Put(kTruncMember);
  Put("}\n");
  return {bytes_.data(), size_};
}

}  // namespace goodput
