// Terminal colours by meaning.
#pragma once

#include <string>

#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"

namespace goodput {

class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  std::string Bold(const std::string& text) const { return Wrap("1", text); }
  std::string Side(goodput::Side side, const std::string& text) const {
    switch (side) {
      case goodput::Side::kProductive:
        return Wrap("32", text);
      case goodput::Side::kRuntime:
        return Wrap("33", text);
      case goodput::Side::kScheduling:
        return Wrap("34", text);
      case goodput::Side::kUnknown:
        return Wrap("31", text);
      default:
        return Wrap("2", text);
    }
  }
  // Something that is wrong.
  std::string Bad(const std::string& text) const { return Wrap("31", text); }

 private:
  std::string Wrap(const char* code, const std::string& text) const {
    if (!color_ || text.empty()) return text;
    return Cat("\033[", code, "m", text, "\033[0m");
  }
  bool color_;
};

}  // namespace goodput
