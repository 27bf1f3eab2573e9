// The parts of SQL that a question to the fleet database consists of: what selects runs, days and
// interruptions, and what groups them. Values are parameters, never part of the text.
//
// In the text, d is attempt_day or usage_day, i is interruption, and u is unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/fleet_database/connection.h"
#include "tools/sources/fleet_database/questions.h"

namespace goodput {

inline constexpr const char* kNoGroup = "-";
// Between the keys of a group's name.
inline constexpr char kBetweenKeys = '\x1f';

// The day in UTC, as YYYY-MM-DD.
std::string DateOf(Ns t);

// Conditions, and the values of $1, $2 ... in them.
class FleetSql {
 public:
  std::string Value(const std::string& value);
  // "ANY(...)"
  std::string Values(const std::vector<std::string>& values);
  void Where(std::string condition) { conditions_.push_back(std::move(condition)); }
  // " WHERE ..."; empty without conditions.
  std::string conditions() const;
  const std::vector<FleetValue>& values() const { return values_; }

 private:
  std::vector<FleetValue> values_;
  std::vector<std::string> conditions_;
};

// The keys of --by as SQL.
struct KeyExpressions {
  std::vector<std::string> of_day;
  std::vector<std::string> of_interruption;
};
// InvalidArgument: there is no such key.
absl::StatusOr<KeyExpressions> ExpressionsOf(const std::vector<std::string>& by, FleetSql& days,
                                             FleetSql& interruptions);

// Conditions on u.
void SelectUnits(const FleetSelection& select, FleetSql& sql);
// Whether rows of attempt_day alone do not tell which of them are selected.
bool NeedsUnit(const FleetQuestion& question);
// Conditions on d, or on u if that is needed. `usage`: d is usage_day, which has all runs.
void SelectDays(const FleetQuestion& question, bool usage, FleetSql& sql);
// As ClipTimeline and Rollup do. `with_unit`: the rows of u are joined; otherwise,
// only cluster, user, account and partition select.
void SelectInterruptions(const FleetQuestion& question, bool with_unit, FleetSql& sql);
// The number of the window that contains `day`, a date; 0 without windows.
std::string WindowOf(const FleetQuestion& question, const char* day, FleetSql& sql);

bool HasKey(const FleetQuestion& question, std::string_view key);
// InvalidArgument: borders that are not midnight UTC, or too many windows.
absl::Status CheckTimes(const FleetQuestion& question);
// Sets begin and end of the row's window.
void SetWindow(const FleetQuestion& question, std::int64_t window, RollupRow& row);

}  // namespace goodput
