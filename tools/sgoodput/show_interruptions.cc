// `sgoodput show`: the attempts of a run, and the cost of each interruption.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sgoodput/show_sections.h"

namespace goodput {
namespace {

// Further rows of a kind are printed with --all.
constexpr std::size_t kMostRows = 10;
// Shorter times are shown as 0.0s.
constexpr Ns kNoTime = kSecond / 20;

// The positions of the `most` largest, in their original order.
std::vector<std::size_t> Worst(const std::vector<Ns>& costs, std::size_t most) {
  std::vector<std::size_t> places(costs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  if (places.size() > most) places.resize(most);
  std::sort(places.begin(), places.end());
  return places;
}

// Follows a section's title; empty if all are shown.
std::string HowMany(std::size_t all, std::size_t shown, const char* which) {
  return shown == all ? "" : Cat("  the ", shown, " of ", all, " that ", which, " (--all shows all)");
}

// Time of each attempt that did not become progress.
std::vector<Ns> LostInAttempts(const Report& report) {
  std::vector<Ns> lost(report.timeline.attempts.size(), 0);
  for (const Interval& interval : report.timeline.intervals) {
    const Side side = BucketSide(interval.bucket);
    if (interval.attempt < 0 || side == Side::kExcluded || side == Side::kProductive) continue;
    lost[static_cast<std::size_t>(interval.attempt)] += interval.end - interval.begin;
  }
  return lost;
}

Ns CostOf(const Interruption& interruption) {
  return interruption.t_ch.value_or(0) + interruption.t_detect.value_or(0) + interruption.t_re.value_or(0) +
         interruption.t_rm.value_or(0);
}

// "2.5s after the last checkpoint; detected at once, nodes back after 10.4s, first step 1.6s later"; unknown
// parts are omitted.
std::string CostInWords(const Interruption& interruption) {
  std::string before;
  if (interruption.t_ch) {
    before = *interruption.t_ch < kNoTime
                 ? "right at the last checkpoint"
                 : Cat(FormatDuration(*interruption.t_ch), " after the last checkpoint");
  }
  std::vector<std::string> after;
  if (interruption.t_detect) {
    after.push_back(*interruption.t_detect < kNoTime
                        ? "detected at once"
                        : Cat("detected after ", FormatDuration(*interruption.t_detect)));
  }
  if (interruption.t_re) {
    after.push_back(*interruption.t_re < kNoTime
                        ? "nodes back at once"
                        : Cat("nodes back after ", FormatDuration(*interruption.t_re)));
  }
  if (interruption.t_rm) after.push_back(Cat("first step ", FormatDuration(*interruption.t_rm), " later"));
  const std::string rest = absl::StrJoin(after, ", ");
  return Cat(before, before.empty() || rest.empty() ? "" : "; ", rest);
}

void PrintInterruption(const Interruption& interruption, const Style& style) {
  std::printf("  %s  %s%s%s, attempt %d\n", FormatTime(interruption.time).substr(11).c_str(),
              style.Bold(interruption.cause).c_str(), interruption.planned ? ", planned" : "",
              interruption.node.empty() ? "" : Cat(", node ", Printable(interruption.node)).c_str(),
              interruption.attempt + 1);
  for (const std::string& text : {CostInWords(interruption), absl::StrJoin(interruption.evidence, "; ")}) {
    if (!text.empty()) std::fputs(Wrap(Printable(text), "    ").c_str(), stdout);
  }
}

}  // namespace

void PrintAttempts(const Report& report, const Style& style, bool all) {
  const std::vector<AttemptSummary>& attempts = report.timeline.attempts;
  // If all attempts are of one job, its id is in the head, and a line has 80 columns.
  const bool several = std::any_of(attempts.begin(), attempts.end(), [&](const AttemptSummary& attempt) {
    return attempt.facts->job_id != attempts.front().facts->job_id;
  });
  std::vector<Table::Column> columns = {{"#", Table::Align::kRight}};
  if (several) columns.push_back({"JobID", Table::Align::kRight});
  for (const Table::Column& column : std::vector<Table::Column>{{"Submit"},
                                                                {"Start"},
                                                                {"End"},
                                                                {"State"},
                                                                {"Nodes", Table::Align::kRight},
                                                                {"GPUs", Table::Align::kRight},
                                                                {"Steps", Table::Align::kRight},
                                                                {"Kept", Table::Align::kRight}}) {
    columns.push_back(column);
  }
  Table table(std::move(columns));
  const auto clock = [](const std::optional<Ns>& t) {
    return t ? FormatTime(*t).substr(11) : std::string("-");
  };
  const std::vector<std::size_t> shown = Worst(LostInAttempts(report), all ? attempts.size() : kMostRows);
  for (const std::size_t i : shown) {
    const AttemptSummary& attempt = attempts[i];
    const AttemptFacts& facts = *attempt.facts;
    std::string steps = "-";
    if (attempt.first_step && attempt.last_step) steps = Cat(*attempt.first_step, "-", *attempt.last_step);
    std::vector<std::string> cells = {Cat(i + 1)};
    if (several) cells.push_back(FormatJobId(facts.job_id));
    for (const std::string& cell :
         {FormatTime(facts.submit).substr(5, 11), clock(facts.start), clock(facts.end), facts.state,
          Cat(facts.nodes), Cat(facts.gpus), steps, attempt.kept_step ? Cat(*attempt.kept_step) : "-"}) {
      cells.push_back(cell);
    }
    table.Add(std::move(cells));
  }
  std::printf("%s%s\n%s\n", style.Bold("Attempts").c_str(),
              HowMany(attempts.size(), shown.size(), "lost the most time").c_str(),
              table.Render(true, "  ").c_str());
}

void PrintInterruptions(const Report& report, const Style& style, bool all) {
  const std::vector<Interruption>& interruptions = report.timeline.interruptions;
  if (interruptions.empty()) return;
  std::vector<Ns> costs;
  costs.reserve(interruptions.size());
  for (const Interruption& interruption : interruptions) costs.push_back(CostOf(interruption));
  const std::vector<std::size_t> shown = Worst(costs, all ? costs.size() : kMostRows);
  std::printf("%s%s\n", style.Bold("Interruptions").c_str(),
              HowMany(costs.size(), shown.size(), "cost the most time").c_str());
  for (const std::size_t i : shown) PrintInterruption(interruptions[i], style);
  std::printf("\n");
}

}  // namespace goodput
