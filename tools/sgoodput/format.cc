#include "tools/sgoodput/format.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Characters, not bytes: a name may be written in any script.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string Shorten(const std::string& text, std::size_t width) {
  if (width == 0 || Width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) continue;
    if (seen++ == width - 1) break;
  }
  return text.substr(0, end) + "+";
}

}  // namespace

std::string FormatDuration(Ns ns) {
  const double seconds = static_cast<double>(ns) / static_cast<double>(kSecond);
  if (seconds < 59.95) return absl::StrFormat("%.1fs", seconds);
  const std::int64_t whole = ns / kSecond + (ns % kSecond >= kSecond / 2 ? 1 : 0);
  if (whole < 3600) return absl::StrFormat("%dm%02ds", whole / 60, whole % 60);
  if (whole < 86400) return absl::StrFormat("%dh%02dm", whole / 3600, whole % 3600 / 60);
  return absl::StrFormat("%dd%02dh", whole / 86400, whole % 86400 / 3600);
}

std::string FormatDuration(const std::optional<Ns>& ns) {
  return ns ? FormatDuration(*ns) : "-";
}

std::string FormatTime(Ns ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(ns), absl::LocalTimeZone());
}

std::string FormatTime(const std::optional<Ns>& ns) {
  return ns ? FormatTime(*ns) : "Unknown";
}

std::string Counted(std::int64_t n, std::string_view one) {
  return Cat(n, " ", one, n == 1 ? "" : "s");
}

std::string FormatJobId(std::int64_t job_id) {
  return job_id < 0 ? "-" : std::to_string(job_id);
}

std::string FormatPercent(const std::optional<double>& x) {
  return x ? absl::StrFormat("%.1f%%", *x * 100) : "-";
}

std::string FormatPercent(const std::optional<double>& x,
                          const std::optional<std::pair<double, double>>& range) {
  if (!range) return FormatPercent(x);
  const auto [low, high] = *range;
  if (high - low < 0.0005) return FormatPercent(low);
  if (!x && low <= 0) return "-";
  return absl::StrFormat("%.*f-%.*f%%", high - low < 0.01 ? 1 : 0, low * 100, high - low < 0.01 ? 1 : 0,
                         high * 100);
}

std::string Table::Render(bool header, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = header ? Width(columns_[c].title) : 0;
    for (const auto& row : rows_) width = std::max(width, Width(Shorten(row[c], columns_[c].max_width)));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string cell = Shorten(cells[c], columns_[c].max_width);
      const std::string padding(widths[c] - std::min(widths[c], Width(cell)), ' ');
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  if (header) {
    std::vector<std::string> titles;
    std::vector<std::string> rules;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      titles.push_back(columns_[c].title);
      rules.emplace_back(widths[c], '-');
    }
    line(titles);
    line(rules);
  }
  for (const auto& row : rows_) line(row);
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    const auto first = static_cast<unsigned char>(text.front());
    // C0, DEL and C1 controls could move the cursor or set colours.
    const bool control = length == 0 || first < 0x20 || first == 0x7f ||
                         (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xA0);
    out += control ? "?" : std::string(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string Wrap(std::string_view text, const std::string& indent) {
  constexpr std::size_t kWidth = 80;
  std::string out;
  std::string line = indent;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ')) {
    if (line.size() + 1 + word.size() > kWidth && line.size() > indent.size()) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += " ";
    line += std::string(word);
  }
  return out + line + "\n";
}

bool UseColor(const std::string& mode) {
  if (mode == "always") return true;
  if (mode == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) == 1;
}

}  // namespace goodput
