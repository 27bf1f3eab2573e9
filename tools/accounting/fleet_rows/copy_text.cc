#include "tools/accounting/fleet_rows/copy_text.h"

namespace goodput {

std::optional<std::string> ReadCopyField(std::string_view field) {
  if (field == "\\N") return std::nullopt;
  std::string value;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\' || i + 1 == field.size()) {
      value.push_back(field[i]);
      continue;
    }
    ++i;
    value.push_back(field[i] == 't' ? '\t' : field[i] == 'n' ? '\n' : field[i] == 'r' ? '\r' : field[i]);
  }
  return value;
}

}  // namespace goodput
