#include "tools/goodputd/hang/last_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

constexpr std::int64_t kPiece = 8192;

std::string PathOf(const std::string& link) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  return length <= 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(length));
}

// By the modes: an access control list can only take rights away from others that these bits give.
bool EveryoneMayRead(const std::string& path, const struct stat& file) {
  if ((file.st_mode & S_IROTH) == 0 || path.empty() || path.front() != '/') return false;
  struct stat there {};
  // The process may have seen it by another name.
  if (stat(path.c_str(), &there) != 0 || there.st_dev != file.st_dev || there.st_ino != file.st_ino)
    return false;
  for (std::size_t end = path.rfind('/'); end != std::string::npos;
       end = end == 0 ? std::string::npos : path.rfind('/', end - 1)) {
    const std::string folder = end == 0 ? "/" : path.substr(0, end);
    if (stat(folder.c_str(), &there) != 0 || (there.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

std::string LastPiece(int fd, std::int64_t size) {
  std::string piece(static_cast<std::size_t>(std::min(size, kPiece)), '\0');
  const ssize_t got = pread(fd, piece.data(), piece.size(), size - static_cast<std::int64_t>(piece.size()));
  piece.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return piece;
}

}  // namespace

std::string LastLines(const std::string& piece) {
  std::vector<std::string_view> lines;
  std::string_view rest = piece;
  while (lines.size() < kMostLines && !rest.empty()) {
    const std::size_t end = rest.find_last_of("\r\n");
    std::string_view line = end == std::string_view::npos ? rest : rest.substr(end + 1);
    const bool bar = end != std::string_view::npos && rest[end] == '\r' && !line.empty();
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    // The earlier states of a progress bar are on the same line.
    if (bar) rest = rest.substr(0, std::min(rest.size(), rest.rfind('\n') + 1));
    lines.push_back(line.substr(0, kMostLineBytes));
  }
  std::reverse(lines.begin(), lines.end());
  std::string text;
  for (const std::string_view line : lines) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

std::vector<LastOutput> LastOutputs(const std::vector<std::string>& links, std::size_t most) {
  std::vector<LastOutput> outputs;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& link : links) {
    struct stat file {};
    // A pipe or a terminal would lose what was read from it.
    if (outputs.size() == most || stat(link.c_str(), &file) != 0 || !S_ISREG(file.st_mode) ||
        !seen.insert({file.st_dev, file.st_ino}).second)
      continue;
    if (!EveryoneMayRead(PathOf(link), file)) {
      outputs.push_back({"", false});
      continue;
    }
    const int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) continue;
    struct stat opened {};
    const bool same = fstat(fd, &opened) == 0 && opened.st_dev == file.st_dev && opened.st_ino == file.st_ino;
    const std::string text = same ? LastLines(LastPiece(fd, opened.st_size)) : std::string();
    close(fd);
    if (!text.empty()) outputs.push_back({text, true});
  }
  return outputs;
}

}  // namespace goodput
