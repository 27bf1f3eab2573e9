// The worked example of a document in docs/formats, so that a test can compare it with the code.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace goodput {

// The bytes of the document's block ```hex. On each line two hexadecimal digits a byte, one space between
// bytes, and behind two spaces a remark.
inline std::string ExampleOf(const std::string& document) {
  std::ifstream file(std::string(FORMAT_DOCUMENTS) + "/" + document);
  std::string bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```hex" || line == "```") {
      inside = line == "```hex";
      continue;
    }
    const std::size_t begin = line.find_first_not_of(' ');
    if (!inside || begin == std::string::npos) continue;
    std::istringstream words(line.substr(begin, line.find("  ", begin) - begin));
    for (std::string word; words >> word;) bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

}  // namespace goodput
