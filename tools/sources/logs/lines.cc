#include "tools/sources/logs/lines.h"

#include <algorithm>
#include <array>

#include "re2/re2.h"

namespace goodput {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

bool IsControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
}

// The end of the sequence that begins at `at` (an escape character).
std::size_t EndOfSequence(const std::string& line, std::size_t at) {
  if (at + 1 >= line.size()) return line.size();
  const char kind = line[at + 1];
  std::size_t end = at + 2;
  if (kind == '[') {
    // Parameters, and one final byte from @ to ~.
    while (end < line.size() && (line[end] < '@' || line[end] > '~')) ++end;
    return std::min(end + 1, line.size());
  }
  if (kind == ']') {
    // A title or a link, up to a bell or ESC backslash.
    while (end < line.size() && line[end] != kBell && line[end] != kEscape) ++end;
    if (end < line.size() && line[end] == kEscape) ++end;
    return std::min(end + 1, line.size());
  }
  return end;
}

}  // namespace

void StripControls(std::string& line) {
  if (std::none_of(line.begin(), line.end(), IsControl)) return;
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == kEscape) {
      i = EndOfSequence(line, i);
      continue;
    }
    if (!IsControl(line[i])) plain += line[i];
    ++i;
  }
  line = std::move(plain);
}

std::string_view WithoutLabel(std::string_view line) {
  constexpr std::string_view kTorchrun = "[default";
  constexpr std::size_t kMaxBlanks = 8;
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < line.size() && line[at] >= '0' && line[at] <= '9') ++at;
    return at > begin;
  };
  const auto skip = [&](std::string_view text) {
    if (line.substr(at, text.size()) != text) return false;
    at += text.size();
    return true;
  };
  if (skip(kTorchrun)) return digits() && skip("]:") ? line.substr(at) : line;
  while (at < kMaxBlanks && at < line.size() && line[at] == ' ') ++at;
  return digits() && skip(": ") ? line.substr(at) : line;
}

std::optional<std::int64_t> TaskInLabel(std::string_view line) {
  constexpr std::size_t kMostDigits = 7;
  const std::string_view rest = WithoutLabel(line);
  if (rest.size() == line.size() || line.front() == '[') return std::nullopt;
  std::int64_t task = 0;
  std::size_t digits = 0;
  for (const char c : line.substr(0, line.size() - rest.size())) {
    if (c < '0' || c > '9') continue;
    task = task * 10 + (c - '0');
    if (++digits > kMostDigits) return std::nullopt;
  }
  return task;
}

std::optional<RankLabel> FindRankLabel(std::string_view line) {
  constexpr std::size_t kWithin = 160;
  static const auto* const begin = new RE2(
      R"(^ {0,8}(?:(\d{1,7}): |\[default(\d+)\]:|[Rr]ank ?(\d+): |\[1,(\d+)\]<std|[A-Za-z][\w.-]*-(\d+) *\| )"
      R"(|\(\w+ pid=(\d+)))");
  static const auto* const bracket = new RE2(R"(\[(?i:rank)[ =:]?(\d+)\])");
  const re2::StringPiece text(line.data(), std::min(line.size(), kWithin));
  const auto view = [](const re2::StringPiece& piece) {
    return std::string_view(piece.data(), piece.size());
  };
  std::array<re2::StringPiece, 6> found;
  // Most lines have no label; this is several times faster than the expressions.
  const std::string_view head = line.substr(0, kWithin);
  const std::size_t first = std::min(head.find_first_not_of(' '), head.size());
  const bool may_begin = first < head.size() &&
                         (std::string_view("0123456789[(rR").find(head[first]) != std::string_view::npos ||
                          head.find(" |") != std::string_view::npos);
  if (may_begin &&
      RE2::PartialMatch(text, *begin, &found[0], &found[1], &found[2], &found[3], &found[4], &found[5])) {
    for (const re2::StringPiece& rank : found) {
      if (!rank.empty()) return RankLabel{view(rank), rank.data() != found.back().data()};
    }
  }
  const bool may_be_inside =
      head.find("ank") != std::string_view::npos || head.find("ANK") != std::string_view::npos;
  re2::StringPiece rank;
  if (may_be_inside && RE2::PartialMatch(text, *bracket, &rank)) return RankLabel{view(rank), true};
  return std::nullopt;
}

void LogLines::Add(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.empty()) begin_ = offset_;
    line_.append(piece.substr(0, kMaxLine - std::min(kMaxLine, line_.size())));
    offset_ += static_cast<std::int64_t>(piece.size());
    if (end == std::string_view::npos) return;
    ++offset_;
    End(take);
    bytes.remove_prefix(end + 1);
  }
}

void LogLines::Finish(const Take& take) {
  End(take);
}

void LogLines::FinishBar(const Take& take) {
  if (!line_.empty() && line_.back() == ']') End(take);
}

void LogLines::Seek(std::int64_t offset) {
  line_.clear();
  begin_ = offset_ = offset;
}

void LogLines::End(const Take& take) {
  if (!line_.empty()) StripControls(line_);
  if (!line_.empty()) take(line_, begin_);
  line_.clear();
}

}  // namespace goodput
