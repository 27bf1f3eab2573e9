// `sgoodput report`: sums over the selected runs, by group and by time window.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/late_ranks.h"
#include "tools/accounting/report/rollup_report.h"
#include "tools/accounting/report/rollup_table.h"
#include "tools/accounting/report/suspects.h"
#include "tools/base/format.h"
#include "tools/base/parse_duration.h"
#include "tools/base/viewer.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/report_fleet.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/selection.h"

namespace goodput {
namespace {

// More rows than can be read; guards against --window=1s over a year.
constexpr std::int64_t kMostWindows = 100'000;
constexpr std::int64_t kMostWindowsOfOthers = 2000;

struct Question {
  std::vector<RollupKey> keys;
  std::vector<Ns> edges;

  bool Asks(RollupBy by) const {
    return std::any_of(keys.begin(), keys.end(), [&](const RollupKey& key) { return key.by == by; });
  }
  bool AsksAboutMachines() const { return Asks(RollupBy::kReservation) || Asks(RollupBy::kConsumption); }
};

absl::StatusOr<RollupKey> ReadKey(absl::string_view word, const std::string& all) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
  const std::optional<RollupBy> known = RollupByName(parts.first);
  if (!known || (*known == RollupBy::kTag) == parts.second.empty()) {
    return absl::InvalidArgumentError(
        Cat("--by: unknown group '", all,
            "'; use user, account, partition, reservation, consumption, stockout, "
            "run, node, day, cause, recovery, all, tag:KEY, or two of them: user,account"));
  }
  return RollupKey{*known, parts.second};
}

std::string ByOf(const RollupOptions& options) {
  if (!options.by.empty()) return options.by;
  return options.window.empty() ? "user" : "all";
}

absl::StatusOr<Question> Read(const RollupOptions& options, absl::Time now) {
  Question question;
  const std::vector<std::string> words = absl::StrSplit(ByOf(options), absl::MaxSplits(',', 1));
  for (const std::string& word : words) {
    absl::StatusOr<RollupKey> key = ReadKey(word, options.by);
    if (!key.ok()) return key.status();
    question.keys.push_back(*std::move(key));
  }
  if (words.size() > 1 && (question.Asks(RollupBy::kNode) || question.Asks(RollupBy::kAll)))
    return absl::InvalidArgumentError("--by: node and all cannot be combined with another group");
  if (options.price && (!std::isfinite(*options.price) || *options.price < 0))
    return absl::InvalidArgumentError("--gpu-hour: the price must be 0 or more");
  if (options.window.empty()) return question;
  const absl::StatusOr<double> seconds = ParseDurationOption(options.window);
  if (!seconds.ok()) return Annotate(seconds.status(), "--window");
  ASSIGN_OR_RETURN(const SelectedTime time, TimeOfSelection(options.select, now));
  if (!time.start) return absl::InvalidArgumentError("--window requires -S");
  // Queries of others share the machine with the controller.
  const std::int64_t most_windows =
      std::getenv(kViewerVariable) != nullptr ? kMostWindowsOfOthers : kMostWindows;
  const Ns end = time.end.value_or(absl::ToUnixNanos(now));
  const auto step = static_cast<Ns>(std::llround(*seconds * 1e9));
  if (step <= 0 || (end - *time.start) / step >= most_windows) {
    return absl::InvalidArgumentError(Cat("--window: ", options.window, " gives more than ", most_windows,
                                          " windows between -S and -E; use a longer one"));
  }
  question.edges = WindowEdges(*time.start, end, step);
  // The last window ends with the selected time.
  question.edges.back() = end;
  if (question.edges.size() < 2) return absl::InvalidArgumentError("--window: -S must be before -E");
  return question;
}

}  // namespace

int RunRollup(const RollupOptions& options) {
  if (options.csv && options.parsable2)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with -P"));
  if (!options.sort.empty() && (options.common.json || options.fleet))
    return Fail(absl::InvalidArgumentError("--sort cannot be used with --json or --fleet"));
  if (options.suspects && (options.by != "node" || options.fleet || !options.window.empty()))
    return Fail(absl::InvalidArgumentError("--suspects requires --by node, without --window and --fleet"));
  if (options.fleet) return RunFleet(options);
  const absl::StatusOr<Question> question = Read(options, absl::Now());
  if (!question.ok()) return Fail(question.status());
  Rollup rollup(question->keys, question->edges);
  RollupReport report;
  std::int64_t runs = 0;
  NodeFeatures features;
  const absl::Status status = ForEachSelected(
      options.common, options.select, {options.stall_factor}, [&](Session& session, const Report& run) {
        ++runs;
        report.busbw = session.config.busbw;
        ASSIGN_OR_RETURN(RollupSubject subject,
                         SubjectOf(run, question->AsksAboutMachines(), session.db, features));
        if (question->Asks(RollupBy::kNode)) subject.late_nodes = NodesOfLateRanks(run);
        rollup.Add(subject, run.timeline);
        return absl::OkStatus();
      });
  if (!status.ok()) return Fail(status);
  const std::vector<std::string> words = absl::StrSplit(ByOf(options), ',');
  for (std::size_t i = 0; i < question->keys.size(); ++i) {
    const RollupKey& key = question->keys[i];
    report.keys.push_back(key.by == RollupBy::kTag ? key.tag : words[i]);
  }
  report.by = absl::StrJoin(report.keys, ",");
  report.windows = !question->edges.empty();
  report.gpu_hour = options.price;
  report.consumption = question->Asks(RollupBy::kConsumption);
  report.waits = report.consumption || question->Asks(RollupBy::kStockout);
  report.rows = rollup.Rows();
  report.total = rollup.Total();
  if (options.suspects) KeepSuspects(report);
  if (options.common.json) {
    std::fputs(RollupAsJson(report).c_str(), stdout);
    return runs == 0 ? kNothingMatched : kAnswered;
  }
  const bool for_scripts = options.parsable2 || options.csv;
  if (options.suspects && !for_scripts) PrintSuspects(report);
  if (for_scripts || !options.suspects || !report.rows.empty()) {
    const absl::Status printed =
        PrintRollup(report, {options.parsable2, options.csv, options.no_header, options.sort});
    if (!printed.ok()) return Fail(printed);
  }
  return runs == 0 ? kNothingMatched : kAnswered;
}

}  // namespace goodput
