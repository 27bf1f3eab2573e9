#include "tools/goodputd/spool_tail.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// Read size: a spool of hundreds of megabytes must not be in memory.
constexpr std::int64_t kTailPieceBytes = 1 << 20;

// Most lines of a training job are marks, which say nothing about the job itself.
bool IsMark(std::string_view line) {
  constexpr std::string_view kMark = "\"kind\":\"mark\"";
  return line.find(kMark) != std::string_view::npos;
}

}  // namespace

void SpoolTail::Read(const Take& take) {
  std::error_code ignored;
  for (const fs::directory_entry& node : fs::directory_iterator(spool_root_, ignored)) {
    const std::string name = node.path().filename();
    if (name.empty() || name.front() == '@' || !node.is_directory(ignored)) continue;
    // By name, which within a boot is by time: a step's start is read before its end.
    std::vector<std::string> paths;
    for (const fs::directory_entry& file : fs::directory_iterator(node.path(), ignored)) {
      if (file.path().extension() != ".jsonl" || !file.is_regular_file(ignored)) continue;
      const std::string name_of_file = file.path().filename();
      if (name_of_file.compare(0, boot_id_.size(), boot_id_) != 0) continue;
      // It contains only marks.
      if (absl::EndsWith(name_of_file, ToAbsl(kLogFileEnding))) continue;
      paths.push_back(file.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) ReadFile(name, path, offsets_[path], take);
  }
}

void SpoolTail::ReadFile(const std::string& node, const std::string& path, std::int64_t& offset,
                         const Take& take) {
  std::error_code ignored;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, ignored));
  if (ignored || size <= offset) return;
  std::ifstream in(path, std::ios::binary);
  in.seekg(offset);
  std::string text;
  while (in && offset < size) {
    text.resize(static_cast<std::size_t>(std::min(size - offset, kTailPieceBytes)));
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    const std::size_t last = text.rfind('\n');
    // A piece without a newline is not a record, however long it is.
    if (last == std::string::npos && text.size() < static_cast<std::size_t>(kTailPieceBytes)) return;
    const std::size_t whole = last == std::string::npos ? text.size() : last + 1;
    std::string_view rest(text.data(), last == std::string::npos ? 0 : whole);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      if (!line.empty() && line.size() <= kMaxRecordBytes && !IsMark(line)) take(node, line);
      rest.remove_prefix(end + 1);
    }
    offset += static_cast<std::int64_t>(whole);
    in.seekg(offset);
  }
}

std::string BootId(const std::string& path) {
  std::ifstream in(path);
  std::string id;
  in >> id;
  return id.empty() ? std::string(kUnknownBoot) : id;
}

}  // namespace goodput
