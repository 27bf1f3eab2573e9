// `sgoodput statement` as text, CSV and a page to mail.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/accounting/rollup/statement.h"

namespace goodput {

struct StatementMonth {
  std::string name;  // "2026-10"
  Ns before = 0;     // begin of the month before
  Ns begin = 0;
  Ns end = 0;  // of the month, which may be after now
};

// `text`: "2026-10"; empty: the last month. InvalidArgument: it is no month, or has not begun.
absl::StatusOr<StatementMonth> ReadStatementMonth(const std::string& text, absl::Time now,
                                                  absl::TimeZone zone);

struct StatementReport {
  std::string month;
  std::string by;  // what the rows are
  std::string as;  // another consumption model, of which the price is shown, too; empty: none
  std::string currency;
  bool has_prices = false;  // goodput.conf has any
  CostStatement statement;
  CostStatement before;  // of the month before
};

enum class StatementFormat : std::uint8_t { kText, kCsv, kHtml };

// To stdout. The page has no scripts and nothing that must be loaded, as mail needs it.
void PrintStatement(const StatementReport& report, StatementFormat format);

}  // namespace goodput
