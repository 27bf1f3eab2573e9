#include "tools/goodputd/counts_file.h"

#include <cstdio>
#include <fstream>

#include "absl/strings/numbers.h"
#include "sql/text.h"

namespace goodput {

void CountsFile::Read(const Names& counts) const {
  std::ifstream in(path_);
  std::string word;
  while (in >> word) {
    const std::size_t equals = word.find('=');
    std::uint64_t value = 0;
    if (equals == std::string::npos || !absl::SimpleAtoi(word.substr(equals + 1), &value)) continue;
    for (const auto& [name, count] : counts) {
      if (name == word.substr(0, equals)) *count = value;
    }
  }
}

bool CountsFile::Write(const Names& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += Cat(text.empty() ? "" : " ", name, "=", *count);
  if (text == written_) return true;
  // The plugin creates the folder at the first job; until then there is nothing to keep.
  std::ofstream out(path_ + ".new", std::ios::trunc);
  out << text << "\n";
  out.close();
  if (!out || std::rename((path_ + ".new").c_str(), path_.c_str()) != 0) return false;
  written_ = text;
  return true;
}

}  // namespace goodput
