// `sgoodput check`: compares a run with limits, as a plugin of Nagios or a step of CI.
#include "tools/accounting/live/check.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/parse_duration.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/run_report.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// "0.9" or "90%"; empty: absent.
absl::StatusOr<std::optional<double>> Fraction(const char* name, const std::string& text) {
  if (text.empty()) return std::optional<double>();
  absl::string_view number = text;
  const bool percent = absl::ConsumeSuffix(&number, "%");
  double value = 0;
  if (!absl::SimpleAtod(number, &value) || !std::isfinite(value) || value < 0 || value > (percent ? 100 : 1))
    return absl::InvalidArgumentError(Cat(name, ": '", text, "' is not a fraction: 0.9 or 90%"));
  return std::optional(percent ? value / 100 : value);
}

absl::StatusOr<std::optional<Ns>> Duration(const char* name, const std::string& text) {
  if (text.empty()) return std::optional<Ns>();
  const absl::StatusOr<double> seconds = ParseDurationOption(text);
  if (!seconds.ok()) return Annotate(seconds.status(), name);
  return std::optional(static_cast<Ns>(*seconds * 1e9));
}

absl::StatusOr<CheckLimits> ReadLimits(const CheckOptions& options) {
  CheckLimits limits;
  ASSIGN_OR_RETURN(limits.scheduling, Fraction("--sg", options.scheduling));
  ASSIGN_OR_RETURN(limits.runtime, Fraction("--rg", options.runtime));
  ASSIGN_OR_RETURN(limits.sg_rg, Fraction("--goodput", options.goodput));
  ASSIGN_OR_RETURN(limits.mpg, Fraction("--mpg", options.mpg));
  ASSIGN_OR_RETURN(limits.no_progress, Duration("--no-progress", options.no_progress));
  ASSIGN_OR_RETURN(limits.idle, Duration("--idle", options.idle));
  ASSIGN_OR_RETURN(limits.at_risk, Duration("--at-risk", options.at_risk));
  if (!limits.any())
    return absl::InvalidArgumentError("no limit: give at least one, such as --rg 0.9 or --no-progress 10m");
  return limits;
}

// Every failure is UNKNOWN, which is not a verdict about the run.
int CannotTell(const absl::Status& status) {
  std::printf("UNKNOWN - %s\n", Printable(Message(status)).c_str());
  return static_cast<int>(CheckState::kUnknown);
}

}  // namespace

int RunCheck(const CheckOptions& options) {
  const absl::StatusOr<CheckLimits> limits = ReadLimits(options);
  if (!limits.ok()) return CannotTell(limits.status());
  const absl::StatusOr<std::optional<Ns>> window = Duration("--window", options.window);
  if (!window.ok()) return CannotTell(window.status());
  absl::StatusOr<Target> target = OpenTarget(options.common, options.target);
  if (!target.ok()) return CannotTell(target.status());
  absl::StatusOr<Report> report = MakeReport(*target, {options.stall_factor});
  if (!report.ok()) return CannotTell(report.status());
  const RunInfo& info = report->run.info;
  const std::string what = Cat(info.run.empty() ? Cat("job ", info.job_id_text) : Cat("run ", info.run));
  const Timeline whole = report->timeline;
  const Account whole_account = report->account;
  if (*window) {
    const Ns now = target->session.now;
    if (whole.end <= now - **window)
      return CannotTell(absl::NotFoundError(Cat(what, " ended before the last ", FormatDuration(**window))));
    ClipReport(*report, now - **window, now);
  }
  const std::vector<Check> checks = CheckRun(whole, whole_account, report->account, *limits);
  std::printf("%s\n", Printable(CheckLine(what, checks)).c_str());
  return static_cast<int>(WorstOf(checks));
}

}  // namespace goodput
