// `sgoodput --fleet-db URL statement`: what a month cost, over all clusters. Months and the days on which
// prices begin are in UTC.
#include "tools/accounting/rollup/statement.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/statement_report.h"
#include "tools/base/format.h"
#include "tools/fleet_database/fleet_session.h"
#include "tools/fleet_database/options.h"
#include "tools/fleet_database/selection.h"
#include "tools/sources/fleet_database/questions.h"

namespace goodput {
namespace {

constexpr std::array<const char*, 7> kGroups{"cluster",     "account",     "user", "partition",
                                             "reservation", "consumption", "run"};

// The statement of [begin, end), UTC midnights.
absl::StatusOr<CostStatement> StatementOf(FleetConnection& connection, const FleetQuestion& whole, Ns begin,
                                          Ns end, const std::vector<GpuPrice>& prices,
                                          const std::string& as) {
  std::map<std::string, std::vector<RollupRow>> rows;  // by GPU type
  const std::vector<Ns> edges = PriceWindows(begin, end, prices, absl::UTCTimeZone());
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    FleetQuestion part = whole;
    part.select.start = edges[i];
    part.select.end = edges[i + 1];
    part.select.truncate = true;
    ASSIGN_OR_RETURN(RollupReport answer, AskFleet(connection, part));
    for (RollupRow& row : answer.rows) {
      const std::vector<std::string> parts = GroupParts(row.group);
      row.begin = edges[i];
      rows[parts.back() == "-" ? "" : parts.back()].push_back(std::move(row));
    }
  }
  return MakeStatement(rows, prices, as, absl::UTCTimeZone());
}

absl::StatusOr<StatementReport> MakeReport(const FleetStatementOptions& options) {
  if (!absl::c_linear_search(kGroups, options.by))
    return absl::InvalidArgumentError(
        Cat("--by: '", Printable(options.by), "' is not ", absl::StrJoin(kGroups, ", ")));
  if (!options.as.empty() && !IsConsumption(options.as)) {
    return absl::InvalidArgumentError(
        Cat("--as: '", Printable(options.as),
            "' is not reserved, reserved:NAME, calendar, spot, flex-start or on-demand"));
  }
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(const StatementMonth month, ReadStatementMonth(options.month, now, absl::UTCTimeZone()));
  ASSIGN_OR_RETURN(const Config config, FleetConfig(options.common));
  FleetQuestion question;
  ASSIGN_OR_RETURN(question.select, ReadFleetSelection(options.select, now));
  // Its last keys are those of MakeStatement.
  question.by = {options.by, "reservation", "gpu_type"};
  ASSIGN_OR_RETURN(FleetConnection connection, OpenFleet(options.common));
  StatementReport report;
  report.month = month.name;
  report.by = options.by;
  report.as = options.as;
  report.currency = config.currency;
  report.has_prices = !config.prices.empty();
  ASSIGN_OR_RETURN(report.statement,
                   StatementOf(connection, question, month.begin, month.end, config.prices, options.as));
  ASSIGN_OR_RETURN(report.before,
                   StatementOf(connection, question, month.before, month.begin, config.prices, options.as));
  return report;
}

}  // namespace

int RunFleetStatement(const FleetStatementOptions& options) {
  if (options.csv && options.html)
    return FailFleet(absl::InvalidArgumentError("--csv cannot be used with --html"));
  const absl::StatusOr<StatementReport> report = MakeReport(options);
  if (!report.ok()) return FailFleet(report.status());
  PrintStatement(*report, options.csv    ? StatementFormat::kCsv
                          : options.html ? StatementFormat::kHtml
                                         : StatementFormat::kText);
  return report->statement.rows.empty() ? kFleetNothingMatched : kFleetAnswered;
}

}  // namespace goodput
