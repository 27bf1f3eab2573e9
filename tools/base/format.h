// How numbers look to people.
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
std::string FormatDuration(const std::optional<Ns>& ns);    // "-" when absent
std::string FormatTime(Ns ns);                              // 2026-01-31T12:34:56, local time
std::string FormatTime(const std::optional<Ns>& ns);        // "Unknown" when absent, as sacct says
std::string Counted(std::int64_t n, std::string_view one);  // 1 GPU  2 GPUs
std::string FormatJobId(std::int64_t job_id);               // "-" of what was imported: it has none
std::string FormatPercent(const std::optional<double>& x);  // 71.3%  or  -
// A fraction that may be open: 71.3%, or the range (20-70%, 71.2-71.5%) where that is wider than 0.05 points.
// "-" where `x` is absent and the range begins at 0: nothing is known of it.
std::string FormatPercent(const std::optional<double>& x,
                          const std::optional<std::pair<double, double>>& range);

// A table that fits its content: columns of text, numbers right-aligned.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    std::size_t max_width = 0;  // 0: as wide as needed; a longer cell ends in '+', as sacct has it
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // With a header and a rule below it, as sacct prints.
  std::string Render(bool header, std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Rows by columns: "-Lost,User" is the largest of Lost first, then by User. Numbers, percentages and lengths
// of time go by what they are worth, before them what is not known, behind them words; rows that are alike
// stay in their order.
absl::Status SortRows(const std::string& by, const std::vector<std::string>& titles,
                      std::vector<std::vector<std::string>>& rows);

// A line of comma-separated values after RFC 4180, with its end.
std::string CsvLine(const std::vector<std::string>& cells);

// What can be printed on a terminal: control characters and broken UTF-8 become '?'.
std::string Printable(std::string_view text);

// Broken at blanks into lines of at most 80 bytes, each behind the indent.
std::string Wrap(std::string_view text, const std::string& indent);

// Whether to colour: `mode` is auto, always or never; auto asks the terminal and NO_COLOR.
bool UseColor(const std::string& mode);

}  // namespace goodput
