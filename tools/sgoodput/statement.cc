// `sgoodput statement`: what a month cost, what became progress, and the largest avoidable losses.
#include "tools/accounting/rollup/statement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/statement_report.h"
#include "tools/base/config.h"
#include "tools/base/format.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// The statement of [begin, end).
absl::StatusOr<CostStatement> StatementOf(const StatementOptions& options, RollupBy by, Ns begin, Ns end,
                                          const std::vector<GpuPrice>& prices) {
  std::map<std::string, Rollup> by_type;
  NodeFeatures features;
  SelectionOptions select = options.select;
  select.start = FormatTime(begin);
  select.end = FormatTime(end);
  select.truncate = true;
  const std::vector<RollupKey> keys{{by, ""}, {RollupBy::kReservation, ""}};
  const std::vector<Ns> edges = PriceWindows(begin, end, prices);
  RETURN_IF_ERROR(ForEachSelected(
      options.common, select, {options.stall_factor}, [&](Session& session, const Report& run) {
        ASSIGN_OR_RETURN(const RollupSubject subject, SubjectOf(run, true, session.db, features));
        by_type.try_emplace(run.run.info.gpu_type, keys, edges).first->second.Add(subject, run.timeline);
        return absl::OkStatus();
      }));
  std::map<std::string, std::vector<RollupRow>> rows;
  for (const auto& [type, rollup] : by_type) rows.emplace(type, rollup.Rows());
  return MakeStatement(rows, prices, options.as);
}

}  // namespace

int RunStatement(const StatementOptions& options) {
  if (options.csv && options.html)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with --html"));
  const std::optional<RollupBy> by = RollupByName(options.by);
  if (!by || (*by != RollupBy::kAccount && *by != RollupBy::kUser && *by != RollupBy::kPartition &&
              *by != RollupBy::kReservation && *by != RollupBy::kConsumption && *by != RollupBy::kRun))
    return Fail(absl::InvalidArgumentError(
        Cat("--by: '", options.by, "' is not account, user, partition, reservation, consumption or run")));
  if (!options.as.empty() && !IsConsumption(options.as))
    return Fail(absl::InvalidArgumentError(Cat(
        "--as: '", options.as, "' is not reserved, reserved:NAME, calendar, spot, flex-start or on-demand")));
  const absl::Time now = absl::Now();
  const absl::StatusOr<StatementMonth> month = ReadStatementMonth(options.month, now, absl::LocalTimeZone());
  if (!month.ok()) return Fail(month.status());
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) return Fail(config.status());
  StatementReport report;
  report.month = month->name;
  report.by = options.by;
  report.as = options.as;
  report.currency = config->currency;
  report.has_prices = !config->prices.empty();
  absl::StatusOr<CostStatement> statement =
      StatementOf(options, *by, month->begin, std::min(month->end, absl::ToUnixNanos(now)), config->prices);
  if (!statement.ok()) return Fail(statement.status());
  report.statement = *std::move(statement);
  absl::StatusOr<CostStatement> before =
      StatementOf(options, *by, month->before, month->begin, config->prices);
  if (!before.ok()) return Fail(before.status());
  report.before = *std::move(before);
  PrintStatement(report, options.csv    ? StatementFormat::kCsv
                         : options.html ? StatementFormat::kHtml
                                        : StatementFormat::kText);
  return report.statement.rows.empty() ? kNothingMatched : kAnswered;
}

}  // namespace goodput
