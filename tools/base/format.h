// Formats durations, times, numbers and tables for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/base/time.h"

namespace goodput {

std::string FormatDuration(Ns ns);                          // 0.4s  12.3s  4m05s  3h12m  2d04h
std::string FormatDuration(const std::optional<Ns>& ns);    // "-" if absent
std::string FormatTime(Ns ns);                              // 2026-01-31T12:34:56, local time
std::string FormatTime(const std::optional<Ns>& ns);        // "Unknown" if absent, as in sacct
std::string Counted(std::int64_t n, std::string_view one);  // 1 GPU  2 GPUs
std::string FormatJobId(std::int64_t job_id);               // "-" for an import, which has no job id
std::string FormatPercent(const std::optional<double>& x);  // 71.3%  or  -
// A fraction that may be a range: 71.3%, or (20-70%, 71.2-71.5%) if the range is wider than 0.05 points. "-"
// if `x` is absent and the range begins at 0, since nothing is known.
std::string FormatPercent(const std::optional<double>& x,
                          const std::optional<std::pair<double, double>>& range);

// A table with columns as wide as their content; numbers are right-aligned.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    std::size_t max_width = 0;  // 0: as wide as needed; a longer cell ends in '+', as in sacct
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // With a header and a rule below it, as in sacct.
  std::string Render(bool header, std::string_view indent = "") const;
  // Columns of a terminal that its lines take, without an indent.
  std::size_t LineWidth(bool header) const;

 private:
  std::vector<std::size_t> Widths(bool header) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Sorts rows by columns: "-Lost,User" is by Lost, largest first, then by User. Numbers, percentages and
// durations compare by value, after unknown values and before text. Stable.
absl::Status SortRows(const std::string& by, const std::vector<std::string>& titles,
                      std::vector<std::vector<std::string>>& rows);

// A line of comma-separated values (RFC 4180), with its line end. A text that a spreadsheet would take for a
// formula (=, +, -, @) begins with an apostrophe.
std::string CsvLine(const std::vector<std::string>& cells);

// A line of values separated by |, with its line end, as of sacct -P. A | in a value, which would shift the
// values after it, and what is not printable become '?'.
std::string ParsableLine(const std::vector<std::string>& cells);

// Text that is safe to print on a terminal or to log: control characters, newlines, marks that change the
// direction of text, and invalid UTF-8 become '?'; what exceeds `most` bytes becomes "...".
inline constexpr std::size_t kMostPrintable = std::size_t{16} << 10U;
std::string Printable(std::string_view text, std::size_t most = kMostPrintable);

// Wraps text at blanks into lines of at most 80 bytes, each with the indent.
std::string Wrap(std::string_view text, const std::string& indent);

// Whether to use colour. `mode` is auto, always or never; auto depends on the terminal and NO_COLOR.
bool UseColor(const std::string& mode);

}  // namespace goodput
