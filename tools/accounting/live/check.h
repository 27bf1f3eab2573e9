// Compares a run with limits, for monitoring (Nagios' plugin interface) and CI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/live/run_now.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// Absent: not checked.
struct CheckLimits {
  // At least this much, as fractions 0 to 1.
  std::optional<double> scheduling;
  std::optional<double> runtime;
  std::optional<double> sg_rg;
  std::optional<double> mpg;
  // At most this long, while it runs.
  std::optional<Ns> no_progress;
  std::optional<Ns> idle;
  std::optional<Ns> at_risk;  // training that no checkpoint covers

  bool any() const;
};

// Exit statuses of Nagios' plugins.
enum class CheckState : std::uint8_t { kOk = 0, kCritical = 2, kUnknown = 3 };

struct Check {
  CheckState state = CheckState::kOk;
  std::string text;  // "runtime goodput 95.2% (at least 90%)"
  std::string perf;  // performance data: "runtime=0.9520;;0.9;0;1"
};

// One for each limit, in their order. A goodput that is only known as a range is kUnknown unless the whole
// range is on one side of the limit. Limits of time are met by a run that has ended. `account` may be of a
// part of the run; `whole` is of all of it.
std::vector<Check> CheckRun(const Timeline& whole, const Account& whole_account, const Account& account,
                            const CheckLimits& limits);

// The worst: critical, then unknown.
CheckState WorstOf(const std::vector<Check>& checks);

// "CRITICAL - run r: runtime goodput 71.2% (at least 90%); progress 3s ago | runtime=0.7120;;0.9;0;1", what
// is wrong first.
std::string CheckLine(const std::string& what, const std::vector<Check>& checks);

}  // namespace goodput
