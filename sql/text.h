// Converts between std::string_view and absl::string_view: distributions build Abseil with either, and this
// code compiles with both.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace goodput {

inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

namespace internal_text {
inline absl::string_view Piece(std::string_view text) {
  return {text.data(), text.size()};
}
inline absl::string_view Piece(const std::string& text) {
  return text;
}
inline absl::string_view Piece(const char* text) {
  return text;
}
template <typename Number>
inline const Number& Piece(const Number& number) {
  return number;
}
}  // namespace internal_text

// absl::StrCat that also accepts std::string_view.
template <typename... Pieces>
std::string Cat(const Pieces&... pieces) {
  return absl::StrCat(internal_text::Piece(pieces)...);
}

inline std::string Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// The same error with `where` in front of its message.
inline absl::Status Annotate(const absl::Status& status, std::string_view where) {
  return absl::Status(status.code(), Cat(where, ": ", Message(status)));
}

}  // namespace goodput
