// Writes one line of COPY's text format, field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/civil_time.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"

namespace goodput {

class CopyLine {
 public:
  CopyLine& Text(std::string_view text) { return Escaped(FleetText(text)); }
  // Without another look at its characters: an array.
  CopyLine& Escaped(std::string_view text) {
    Separate();
    for (const char c : text) {
      switch (c) {
        case '\\':
          line_ += "\\\\";
          break;
        case '\t':
          line_ += "\\t";
          break;
        case '\n':
          line_ += "\\n";
          break;
        case '\r':
          line_ += "\\r";
          break;
        default:
          line_.push_back(c);
      }
    }
    return *this;
  }
  CopyLine& Int(std::int64_t number) {
    Separate();
    line_ += std::to_string(number);
    return *this;
  }
  // No time in a bucket takes no space in the database.
  CopyLine& IntOrNull(std::int64_t number) { return number == 0 ? Null() : Int(number); }
  CopyLine& Maybe(const std::optional<std::int64_t>& number) { return number ? Int(*number) : Null(); }
  CopyLine& Maybe(const std::optional<std::string>& written) { return written ? Escaped(*written) : Null(); }
  CopyLine& Bool(bool value) { return Escaped(value ? "t" : "f"); }
  CopyLine& Date(std::int64_t day) {
    return Escaped(absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + day));
  }
  std::string Take() && { return std::move(line_); }

 private:
  CopyLine& Null() { return Separate(), line_ += "\\N", *this; }
  void Separate() {
    if (any_) line_.push_back('\t');
    any_ = true;
  }
  std::string line_;
  bool any_ = false;
};

}  // namespace goodput
