#include "tools/base/format.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Characters, not bytes: a name may be in any script.
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

std::vector<std::size_t> Table::Widths(bool header) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = header ? Width(columns_[c].title) : 0;
    for (const auto& row : rows_) width = std::max(width, Width(Shorten(row[c], columns_[c].max_width)));
    widths.push_back(width);
  }
  return widths;
}

std::size_t Table::LineWidth(bool header) const {
  std::size_t all = 0;
  for (const std::size_t width : Widths(header)) all += width + (all > 0 ? 2 : 0);
  return all;
}

std::string Table::Render(bool header, std::string_view indent) const {
  const std::vector<std::size_t> widths = Widths(header);
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

namespace {

// The value of a cell: "1234", "12.5%", "12-20%" (its lower end), "1h02m"; "-" is less than any; absent:
// text.
std::optional<double> Worth(const std::string& cell) {
  if (cell.empty() || cell == "-") return -HUGE_VAL;
  std::string text = cell;
  if (text.back() == '%') text.resize(text.size() - 1);
  double value = 0;
  if (absl::SimpleAtod(text.substr(0, text.find('-', 1)), &value)) return value;
  const std::size_t first = text.find_first_not_of("0123456789.dhms");
  if (first != std::string::npos) return std::nullopt;
  double seconds = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t unit = text.find_first_of("dhms", at);
    if (unit == std::string::npos || !absl::SimpleAtod(text.substr(at, unit - at), &value))
      return std::nullopt;
    seconds += value * (text[unit] == 'd' ? 86400 : text[unit] == 'h' ? 3600 : text[unit] == 'm' ? 60 : 1);
    at = unit + 1;
  }
  return seconds;
}

// Negative, positive or 0 for equal.
int Compare(const std::string& a, const std::string& b) {
  const std::optional<double> x = Worth(a);
  const std::optional<double> y = Worth(b);
  if (x && y) return *x < *y ? -1 : *y < *x ? 1 : 0;
  if (x || y) return x ? -1 : 1;
  return a.compare(b);
}

}  // namespace

absl::Status SortRows(const std::string& by, const std::vector<std::string>& titles,
                      std::vector<std::vector<std::string>>& rows) {
  std::vector<std::pair<std::size_t, bool>> keys;
  for (absl::string_view word : absl::StrSplit(by, ',', absl::SkipEmpty())) {
    const bool largest_first = absl::ConsumePrefix(&word, "-");
    const auto found = std::find_if(titles.begin(), titles.end(), [&](const std::string& title) {
      return absl::EqualsIgnoreCase(title, word);
    });
    if (found == titles.end()) {
      return absl::InvalidArgumentError(
          Cat("--sort: unknown column '", std::string(word), "'; columns: ", absl::StrJoin(titles, ",")));
    }
    keys.emplace_back(static_cast<std::size_t>(found - titles.begin()), largest_first);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    for (const auto& [column, largest_first] : keys) {
      const int order = Compare(a[column], b[column]);
      if (order != 0) return largest_first ? order > 0 : order < 0;
    }
    return false;
  });
  return absl::OkStatus();
}

namespace {

// Numbers, durations and percentages, such as -1.5, +2:30, -3.2% and -.
bool IsNumber(const std::string& text) {
  return text.find_first_not_of("0123456789.,:%+- smhd") == std::string::npos;
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // A spreadsheet would run a text that begins so; a number is none.
    const bool runs = !cells[i].empty() &&
                      std::string_view("=+-@\t\r").find(cells[i].front()) != std::string_view::npos &&
                      !IsNumber(cells[i]);
    const std::string cell = runs ? "'" + cells[i] : cells[i];
    const bool quoted = cell.find_first_of(",\"\r\n") != std::string::npos;
    line +=
        Cat(i == 0 ? "" : ",", quoted ? Cat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"") : cell);
  }
  return line + "\n";
}

std::string ParsableLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += '|';
    std::string text = Printable(cell, std::string::npos);
    std::replace(text.begin(), text.end(), '|', '?');
    line += text;
  }
  return line + "\n";
}

namespace {

// C0, DEL and C1 controls could move the cursor or set colours; marks of direction (U+200E, U+200F, U+202A to
// U+202E, U+2066 to U+2069) show text in another order than it has; U+2028 and U+2029 begin lines.
bool IsControl(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (sequence.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

}  // namespace

std::string Printable(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (out.size() + sequence.size() > most) return out + "...";
    out += length == 0 || IsControl(sequence) ? "?" : std::string(sequence);
    text.remove_prefix(sequence.size());
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
