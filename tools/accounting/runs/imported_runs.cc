#include "tools/accounting/runs/imported_runs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "tools/accounting/timeline/allocation.h"

namespace goodput {
namespace {

constexpr std::string_view kQueued = "queued";
constexpr std::string_view kProvisioning = "provisioning";
constexpr std::string_view kLaunch = "launch";
constexpr std::string_view kTeardown = "teardown";
constexpr std::string_view kDrain = "drain";
constexpr std::string_view kSuspended = "suspended";

bool IsOfScheduling(const Mark& mark) {
  return mark.kind == Mark::Kind::kPhase &&
         (mark.name == kProvisioning || mark.name == kLaunch || mark.name == kTeardown ||
          mark.name == kDrain || mark.name == kSuspended || mark.name == kQueued);
}

using SpansByName = std::map<std::string, std::vector<TimeSpan>, std::less<>>;

// A phase without an end lasted until the attempt's end.
SpansByName SpansOf(std::vector<Mark> marks, Ns until) {
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return std::tie(a.t, a.ref.offset, b.begin) < std::tie(b.t, b.ref.offset, a.begin);
  });
  SpansByName spans;
  std::map<std::string, Ns> open;
  for (const Mark& mark : marks) {
    const auto begun = open.find(mark.name);
    if (mark.begin) {
      open.emplace(mark.name, mark.t);
    } else if (begun != open.end()) {
      spans[mark.name].push_back({begun->second, mark.t});
      open.erase(begun);
    }
  }
  for (const auto& [name, begin] : open) spans[name].push_back({begin, std::max(begin, until)});
  return spans;
}

std::vector<TimeSpan> Merged(const SpansByName& spans, std::initializer_list<std::string_view> names) {
  std::vector<TimeSpan> all;
  for (const std::string_view name : names) {
    const auto found = spans.find(name);
    if (found != spans.end()) all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return MergeSpans(std::move(all));
}

NodeEvent Event(Ns t, NodeEvent::Kind kind, std::int32_t slurm_step, std::int32_t task) {
  NodeEvent event;
  event.t = t;
  event.kind = kind;
  event.slurm_step = slurm_step;
  event.task = task;
  return event;
}

// Tasks lived while the program was neither being launched nor torn down.
void AddLives(const std::vector<TimeSpan>& away, Ns begin, Ns end, AttemptFacts& attempt) {
  std::int32_t task = 0;
  const auto live = [&](Ns from, Ns to) {
    if (from >= to) return;
    attempt.node_events.push_back(Event(from, NodeEvent::Kind::kTaskStart, 0, task));
    if (to < end || attempt.end)
      attempt.node_events.push_back(Event(to, NodeEvent::Kind::kTaskExit, 0, task));
    ++task;
  };
  Ns at = begin;
  for (const TimeSpan& span : away) {
    live(at, std::min(span.begin, end));
    at = std::max(at, span.end);
  }
  live(at, end);
}

}  // namespace

absl::StatusOr<ImportedRun> LoadImportedRun(Database& db, const JobKey& job) {
  ASSIGN_OR_RETURN(const ImportRow row, LoadImport(db, job));
  ASSIGN_OR_RETURN(const std::vector<ImportedAttempt> attempts, LoadImportedAttempts(db, row.source_id));
  ImportedRun imported;
  Run& run = imported.run;
  run.info.job_id = job.job_id;
  run.info.job_id_text = "-";
  run.info.run = row.run;
  run.info.name = row.name;
  run.info.user = row.user;
  for (const ImportedAttempt& attempt : attempts) {
    AttemptFacts facts;
    facts.submit = attempt.begin_ns;
    facts.start = attempt.begin_ns;
    if (attempt.ended) facts.end = attempt.end_ns;
    facts.heard_until = attempt.end_ns;
    facts.state = attempt.state;
    facts.preempt_time = attempt.stop_ns;
    facts.evidence = Evidence::kLog;
    run.info.state = attempt.ended ? attempt.state : "UNKNOWN";
    run.facts.attempts.push_back(std::move(facts));
    imported.is_life.push_back(attempt.is_life);
  }
  return imported;
}

void ReadSchedulingPhases(AttemptFacts& attempt, bool is_life,
                          const std::function<bool(const Mark&)>& imported) {
  const auto phases =
      std::stable_partition(attempt.marks.begin(), attempt.marks.end(),
                            [&](const Mark& mark) { return !IsOfScheduling(mark) || !imported(mark); });
  if ((phases == attempt.marks.end() && !is_life) || !attempt.start) return;
  Ns begin = *attempt.start;
  const Ns end = std::max(begin, attempt.end.value_or(attempt.heard_until.value_or(begin)));
  const SpansByName spans =
      SpansOf({std::make_move_iterator(phases), std::make_move_iterator(attempt.marks.end())}, end);
  attempt.marks.erase(phases, attempt.marks.end());

  if (const auto queued = spans.find(kQueued); queued != spans.end()) {
    attempt.submit = std::min(attempt.submit, queued->second.front().begin);
    begin = std::min(end, queued->second.front().end);
    attempt.start = begin;
    // Kubernetes' FailedScheduling: no node has room for it.
    attempt.pending.push_back({attempt.submit, "Resources", {}, false});
  }
  const auto has = [&](NodeEvent::Kind kind) {
    return std::any_of(attempt.node_events.begin(), attempt.node_events.end(),
                       [&](const NodeEvent& event) { return event.kind == kind; });
  };
  const auto provisioning = spans.find(kProvisioning);
  Ns ready = begin;
  if (provisioning != spans.end() && !has(NodeEvent::Kind::kStepStart)) {
    for (const TimeSpan& span : provisioning->second) ready = std::max(ready, span.end);
    attempt.node_events.push_back(Event(ready, NodeEvent::Kind::kStepStart, kExternStep, -1));
  }
  const std::vector<TimeSpan> away = Merged(spans, {kLaunch, kTeardown});
  if ((is_life || !away.empty()) && !has(NodeEvent::Kind::kTaskStart)) AddLives(away, ready, end, attempt);
  if (attempt.suspended.empty()) {
    for (const TimeSpan& span : Merged(spans, {kSuspended}))
      attempt.suspended.push_back({span.begin, span.end, true});
  }
  const std::vector<TimeSpan> drain = Merged(spans, {kDrain});
  if (!drain.empty() && !attempt.preempt_time) attempt.preempt_time = drain.front().begin;
}

void SettleOpenEnds(RunFacts& facts) {
  std::optional<Ns> last;
  bool all_imported = true;
  for (const AttemptFacts& attempt : facts.attempts) {
    if (!attempt.heard_until) all_imported = false;
    if (attempt.heard_until) last = std::max(last.value_or(*attempt.heard_until), *attempt.heard_until);
  }
  bool open = false;
  for (AttemptFacts& attempt : facts.attempts) {
    if (!attempt.heard_until || attempt.end) continue;
    if (all_imported && !open && attempt.heard_until == last) {
      open = true;
    } else {
      attempt.end = attempt.heard_until;
    }
  }
  if (open) facts.now = *last;
}

}  // namespace goodput
