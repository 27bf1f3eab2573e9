#include "tools/sources/fleet_database/question_sql.h"

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/attempt_days.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostWindows = 100'000;

// A key of --by: its value in rows of attempt_day (d), and in rows of interruption (i) with their unit (u).
struct Key {
  std::string_view name;
  const char* of_day;
  const char* of_interruption;
};
constexpr std::array<Key, 13> kKeys{{
    {"all", "'all'", "'all'"},
    {"cluster", "d.cluster", "i.cluster"},
    {"user", "d.user_name", "i.user_name"},
    {"account", "d.account", "i.account"},
    {"partition", "d.partition", "i.partition"},
    {"reservation", "d.provision", "i.provision"},
    {"consumption", "split_part(d.provision, ':', 1)", "split_part(i.provision, ':', 1)"},
    {"run", "d.run", "CASE WHEN u.run = '' THEN u.job_id_text ELSE u.run END"},
    {"gpu_type", "d.gpu_type", "u.gpu_type"},
    {"month", "to_char(d.month, 'YYYY-MM')", "to_char(i.day, 'YYYY-MM')"},
    {"day", "to_char(d.day, 'YYYY-MM-DD')", "to_char(i.day, 'YYYY-MM-DD')"},
    {"cause", "d.cause", "i.cause"},
    {"stockout", "d.stockout", "i.stockout"},
}};

absl::Status CheckMidnight(const std::optional<Ns>& t, const char* option) {
  if (!t || *t % kUtcDay == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat(option, ": the fleet database counts whole days in UTC, so with -T or --window the ",
          "time must be midnight UTC (set TZ=UTC to write dates in UTC)"));
}

void SelectValues(const std::string& column, const std::vector<std::string>& values, FleetSql& sql) {
  if (!values.empty()) sql.Where(Cat(column, " = ", sql.Values(values)));
}

// Conditions on columns that unit, attempt_day and interruption have.
void SelectOwners(const FleetSelection& select, const std::string& table, FleetSql& sql) {
  SelectValues(table + ".cluster", select.clusters, sql);
  SelectValues(table + ".user_name", select.users, sql);
  SelectValues(table + ".account", select.accounts, sql);
  SelectValues(table + ".partition", select.partitions, sql);
}

}  // namespace

std::string DateOf(Ns t) {
  return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + UtcDay(t));
}

std::string FleetSql::Value(const std::string& value) {
  values_.emplace_back(value);
  return Cat("$", values_.size());
}

std::string FleetSql::Values(const std::vector<std::string>& values) {
  return Cat("ANY(", Value(FleetArray(values)), "::text[])");
}

std::string FleetSql::conditions() const {
  return conditions_.empty() ? "" : Cat(" WHERE ", absl::StrJoin(conditions_, " AND "));
}

absl::StatusOr<KeyExpressions> ExpressionsOf(const std::vector<std::string>& by, FleetSql& days,
                                             FleetSql& interruptions) {
  constexpr std::string_view kTag = "tag:";
  KeyExpressions expressions;
  for (const std::string& name : by) {
    if (name.rfind(kTag, 0) == 0 && name.size() > kTag.size()) {
      const std::string prefix = Cat(name.substr(kTag.size()), "=");
      const auto tag = [&](FleetSql& sql) {
        const std::string value = sql.Value(prefix);
        return Cat("(SELECT substr(t, length(", value,
                   "::text) + 1) FROM unnest(u.tags) t WHERE starts_with(t, ", value,
                   "::text) ORDER BY t LIMIT 1)");
      };
      expressions.of_day.push_back(tag(days));
      expressions.of_interruption.push_back(tag(interruptions));
      continue;
    }
    const auto* const key =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& known) { return known.name == name; });
    if (name == "recovery") {
      return absl::InvalidArgumentError(
          "--by recovery: the fleet database does not have how runs went on after an interruption; ask each "
          "cluster: sgoodput report --by recovery, with its --url");
    }
    if (key == kKeys.end()) {
      return absl::InvalidArgumentError(Cat("--by: the fleet database has no group '", Printable(name),
                                            "'; use cluster, user, account, partition, reservation, "
                                            "consumption, stockout, run, gpu_type, month, day, cause, node, "
                                            "all, tag:KEY, or two of them: cluster,month"));
    }
    expressions.of_day.emplace_back(key->of_day);
    expressions.of_interruption.emplace_back(key->of_interruption);
  }
  return expressions;
}

void SelectUnits(const FleetSelection& select, FleetSql& sql) {
  SelectOwners(select, "u", sql);
  SelectValues("u.job_name", select.names, sql);
  SelectValues("u.run", select.runs, sql);
  if (!select.nodes.empty()) {
    sql.Where(
        Cat("EXISTS (SELECT 1 FROM attempt_nodes s WHERE s.cluster = u.cluster AND s.unit = u.unit"
            " AND s.shard = u.shard AND s.nodes && ",
            sql.Value(FleetArray(select.nodes)), "::text[])"));
  }
  if (!select.states.empty())
    sql.Where(Cat("u.states && ", sql.Value(FleetArray(select.states)), "::text[]"));
  if (!select.jobs.empty()) {
    std::vector<std::string> ids;
    for (const std::string& job : select.jobs) {
      std::int64_t id = 0;
      if (absl::SimpleAtoi(job, &id)) ids.push_back(std::to_string(id));
    }
    sql.Where(Cat("(u.job_id_text = ", sql.Values(select.jobs), " OR u.job_ids && ",
                  sql.Value(Cat("{", absl::StrJoin(ids, ","), "}")), "::bigint[])"));
  }
  if (select.start) sql.Where(Cat("u.end_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
  if (select.end) sql.Where(Cat("u.begin_ns <= ", sql.Value(std::to_string(*select.end)), "::bigint"));
}

bool NeedsUnit(const FleetQuestion& question) {
  const FleetSelection& select = question.select;
  const bool by_tag = std::any_of(question.by.begin(), question.by.end(),
                                  [](const std::string& name) { return name.rfind("tag:", 0) == 0; });
  return by_tag || !select.states.empty() || !select.names.empty() || !select.jobs.empty() ||
         !select.runs.empty() || !select.nodes.empty();
}

void SelectDays(const FleetQuestion& question, bool usage, FleetSql& sql) {
  const FleetSelection& select = question.select;
  if (usage) sql.Where("d.n > 0");
  if (NeedsUnit(question)) {
    SelectUnits(select, sql);
  } else {
    SelectOwners(select, "d", sql);
    if (select.start && !usage)
      sql.Where(Cat("d.end_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
    if (select.end && !usage)
      sql.Where(Cat("d.begin_ns <= ", sql.Value(std::to_string(*select.end)), "::bigint"));
  }
  if (!select.truncate && question.window_days == 0) return;
  // The month selects partitions.
  if (select.start) {
    const std::string day = Cat(sql.Value(DateOf(*select.start)), "::date");
    sql.Where(Cat("d.day >= ", day, " AND d.month >= date_trunc('month', ", day, "::timestamp)::date"));
  }
  if (select.end) {
    const std::string day = Cat(sql.Value(DateOf(*select.end)), "::date");
    sql.Where(Cat("d.day < ", day, " AND d.month <= ", day));
  }
}

void SelectInterruptions(const FleetQuestion& question, bool with_unit, FleetSql& sql) {
  const FleetSelection& select = question.select;
  if (with_unit) {
    SelectUnits(select, sql);
  } else {
    SelectOwners(select, "i", sql);
  }
  if (!select.truncate && question.window_days == 0) return;
  if (select.start) sql.Where(Cat("i.time_ns >= ", sql.Value(std::to_string(*select.start)), "::bigint"));
  if (select.end) sql.Where(Cat("i.time_ns < ", sql.Value(std::to_string(*select.end)), "::bigint"));
  if (select.truncate) sql.Where("i.inside");
}

std::string WindowOf(const FleetQuestion& question, const char* day, FleetSql& sql) {
  if (question.window_days == 0) return "0";
  return Cat("(", day, " - ", sql.Value(DateOf(*question.select.start)), "::date) / ", question.window_days);
}

bool HasKey(const FleetQuestion& question, std::string_view key) {
  return std::find(question.by.begin(), question.by.end(), key) != question.by.end();
}

absl::Status CheckTimes(const FleetQuestion& question) {
  const FleetSelection& select = question.select;
  if (!select.truncate && question.window_days == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckMidnight(select.start, "-S"));
  RETURN_IF_ERROR(CheckMidnight(select.end, "-E"));
  if (question.window_days == 0) return absl::OkStatus();
  if (!select.start || !select.end) return absl::InvalidArgumentError("--window requires -S and -E");
  if ((*select.end - *select.start) / kUtcDay / question.window_days >= kMostWindows)
    return absl::InvalidArgumentError("--window: too many windows between -S and -E; use a longer one");
  if (*select.end <= *select.start) return absl::InvalidArgumentError("--window: -S must be before -E");
  return absl::OkStatus();
}

void SetWindow(const FleetQuestion& question, std::int64_t window, RollupRow& row) {
  if (question.window_days == 0) return;
  row.begin = *question.select.start + window * question.window_days * kUtcDay;
  row.end = std::min(*question.select.end, row.begin + question.window_days * kUtcDay);
}

}  // namespace goodput
