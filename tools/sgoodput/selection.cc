#include "tools/sgoodput/selection.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/jobs.h"
#include "sql/tables/owners.h"
#include "sql/text.h"
#include "tools/accounting/runs/run_groups.h"
#include "tools/base/hostlist.h"
#include "tools/base/option_lists.h"
#include "tools/base/parse_time.h"

namespace goodput {
namespace {

bool Listed(const std::vector<std::string>& words, const std::string& value) {
  return words.empty() || std::find(words.begin(), words.end(), value) != words.end();
}

struct Filter {
  std::vector<std::string> users, accounts, partitions, states, nodes, clusters, names;
  SelectedTime time;
  std::vector<TimeSpan> excluded;

  // Whatever its report says, a run that goes on is selected.
  bool SelectsAllThatRun() const {
    const auto any = [](const auto*... lists) { return (lists->empty() && ...); };
    return any(&users, &accounts, &partitions, &states, &nodes, &clusters, &names, &excluded) && !time.end;
  }

  bool Matches(const Report& report) const {
    const RunInfo& info = report.run.info;
    if (!Listed(users, info.user) || !Listed(accounts, info.account) || !Listed(partitions, info.partition) ||
        !Listed(clusters, info.cluster) || !Listed(names, info.name)) {
      return false;
    }
    if (time.start && report.timeline.end < *time.start) return false;
    if (time.end && report.timeline.begin > *time.end) return false;
    if (!states.empty()) {
      const bool any = Listed(states, info.state) ||
                       std::any_of(report.timeline.attempts.begin(), report.timeline.attempts.end(),
                                   [&](const AttemptSummary& a) { return Listed(states, a.facts->state); });
      if (!any) return false;
    }
    if (nodes.empty()) return true;
    for (const AttemptSummary& attempt : report.timeline.attempts) {
      for (const std::string& node : ExpandHostList(attempt.facts->node_list)) {
        if (Listed(nodes, node)) return true;
      }
    }
    return false;
  }
};

absl::StatusOr<Filter> MakeFilter(const SelectionOptions& options, absl::Time now) {
  Filter filter;
  filter.users = SplitLists(options.users);
  filter.accounts = SplitLists(options.accounts);
  filter.partitions = SplitLists(options.partitions);
  filter.names = SplitLists(options.names);
  for (const std::string& list : options.nodes) {
    for (std::string& node : ExpandHostList(list)) filter.nodes.push_back(std::move(node));
  }
  ASSIGN_OR_RETURN(filter.states, SplitStates(options.states));
  if (!options.all_clusters) filter.clusters = SplitLists(options.clusters);
  // As in sacct: without -u, -a or -j an ordinary user sees their own jobs; everyone sees those since
  // midnight.
  if (filter.users.empty() && !options.all_users && options.jobs.empty() && geteuid() != 0) {
    filter.users.push_back(UserName());
  }
  ASSIGN_OR_RETURN(SelectedTime time, TimeOfSelection(options, now));
  filter.time = time;
  absl::StatusOr<std::vector<TimeSpan>> excluded = ParseWindows(options.exclude, now);
  if (!excluded.ok()) return excluded.status();
  filter.excluded = *std::move(excluded);
  return filter;
}

// Long enough before `start` that no clock correction could matter.
std::int64_t BeforeAnyCorrection(Ns start) {
  constexpr std::int64_t kClocksAgreeS = 86'400;
  return start / kSecond - kClocksAgreeS;
}

// It is skipped.
bool WasOver(const std::vector<JobKey>& run, Ns start) {
  return std::all_of(run.begin(), run.end(),
                     [&](const JobKey& job) { return job.over_s < BeforeAnyCorrection(start); });
}

// Queries of others share the machine with the controller. What a run takes, roughly: one that only
// accounting knows, and one whose nodes recorded something.
constexpr absl::Duration kRunTakes = absl::Microseconds(8);
constexpr absl::Duration kRecordedRunTakes = absl::Microseconds(30);
constexpr absl::Duration kMostForOthers = absl::Seconds(10);

absl::Status CheckCost(const std::vector<std::vector<JobKey>>& runs, const std::optional<Ns>& start) {
  absl::Duration cost;
  std::int64_t count = 0;
  for (const std::vector<JobKey>& run : runs) {
    // One without a known end cannot be left out by a later -S.
    if (run.back().over_s == JobKey().over_s || (start && WasOver(run, *start))) continue;
    const bool recorded = std::any_of(run.begin(), run.end(), [](const JobKey& job) { return job.heard; });
    cost += recorded ? kRecordedRunTakes : kRunTakes;
    ++count;
  }
  if (cost <= kMostForOthers) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("this selects ", count,
                                        " runs, too many for a query to goodputd: use a later -S, ask for "
                                        "pages (limit), or run sgoodput on the controller"));
}

// The runs that the viewer may see, as one list of jobs per run.
absl::StatusOr<std::vector<std::vector<JobKey>>> VisibleRuns(Session& session, std::vector<JobKey> jobs) {
  std::map<JobKey, Owner> owners;
  if (!session.viewer.all) {
    absl::StatusOr<std::map<JobKey, Owner>> of_all = OwnersOf(session.db, jobs);
    if (!of_all.ok()) return of_all.status();
    owners = *std::move(of_all);
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                              [&](const JobKey& job) {
                                const Owner& owner = owners.at(job);
                                return !session.viewer.Sees(owner.user, owner.account);
                              }),
               jobs.end());
  }
  const absl::StatusOr<std::map<JobKey, std::string>> names = RunNames(session.db, jobs);
  if (!names.ok()) return names.status();
  if (session.viewer.all) {
    std::vector<JobKey> named;
    for (const auto& [job, name] : *names) named.push_back(job);
    absl::StatusOr<std::map<JobKey, Owner>> of_named = OwnersOf(session.db, named);
    if (!of_named.ok()) return of_named.status();
    owners = *std::move(of_named);
  }
  return GroupByRun(jobs, *names, owners);
}

// "JOB:CLUSTER:SINCE" of a run's first job.
std::string CursorOf(const std::vector<JobKey>& run) {
  const JobKey& first = run.front();
  return Cat(first.job_id, ":", first.cluster, ":", first.from_s);
}

absl::StatusOr<JobKey> ParseCursor(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  JobKey key;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &key.job_id) ||
      !absl::SimpleAtoi(words[2], &key.from_s)) {
    return absl::InvalidArgumentError(
        Cat("--after: '", text, "' is not a cursor; use the one that came with the previous page"));
  }
  key.cluster = words[1];
  return key;
}

// The runs of a page and all later ones, in its order.
absl::Status TurnTo(const Page& page, std::vector<std::vector<JobKey>>& runs) {
  // By a run's first job: runs added later have a higher number, or a fixed place elsewhere.
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.front() < b.front(); });
  if (page.reverse) std::reverse(runs.begin(), runs.end());
  if (page.after.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JobKey after, ParseCursor(page.after));
  runs.erase(runs.begin(), std::find_if(runs.begin(), runs.end(), [&](const std::vector<JobKey>& run) {
               return page.reverse ? run.front() < after : after < run.front();
             }));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobKey>> SelectedJobs(Database& db, const SelectionOptions& options,
                                                 const std::optional<Ns>& start) {
  if (options.jobs.empty()) return start ? JobsSince(db, BeforeAnyCorrection(*start)) : KnownJobs(db);
  std::vector<JobKey> jobs;
  for (const std::string& text : SplitLists(options.jobs)) {
    ASSIGN_OR_RETURN(std::vector<JobKey> named, ResolveJob(db, text));
    jobs.insert(jobs.end(), named.begin(), named.end());
  }
  return jobs;
}

}  // namespace

absl::StatusOr<SelectedTime> TimeOfSelection(const SelectionOptions& options, absl::Time now) {
  SelectedTime time;
  if (!options.start.empty()) {
    absl::StatusOr<Ns> start = ParseTimeOption(options.start, now);
    if (!start.ok()) return Annotate(start.status(), "-S");
    time.start = *start;
  } else if (options.jobs.empty()) {
    time.start = absl::ToUnixNanos(
        absl::FromCivil(absl::ToCivilDay(now, absl::LocalTimeZone()), absl::LocalTimeZone()));
  }
  if (!options.end.empty()) {
    absl::StatusOr<Ns> end = ParseTimeOption(options.end, now);
    if (!end.ok()) return Annotate(end.status(), "-E");
    time.end = *end;
  }
  if (time.start && time.end && *time.start > *time.end) return absl::InvalidArgumentError("-S is after -E");
  return time;
}

absl::Status ForEachSelected(const CommonOptions& common, const SelectionOptions& options,
                             const TimelineOptions& timeline_options,
                             const std::function<absl::Status(Session&, Report&&)>& take, Page* page,
                             const Glance& glance) {
  ASSIGN_OR_RETURN(const Filter filter, MakeFilter(options, absl::Now()));
  ASSIGN_OR_RETURN(const std::vector<std::int64_t> asked, ParseJobIds(options.jobs));
  std::optional<std::int64_t> start_s;
  if (filter.time.start) start_s = *filter.time.start / kSecond;
  ASSIGN_OR_RETURN(Session session, OpenSession(common, asked, start_s));
  const Snapshot snapshot(session.db);
  if (!snapshot.status().ok()) return snapshot.status();
  absl::StatusOr<std::vector<JobKey>> jobs = SelectedJobs(session.db, options, filter.time.start);
  if (!jobs.ok()) return jobs.status();
  ASSIGN_OR_RETURN(std::vector<std::vector<JobKey>> runs, VisibleRuns(session, *std::move(jobs)));
  if (page != nullptr) {
    if (absl::Status status = TurnTo(*page, runs); !status.ok()) return status;
  }
  const bool in_pages = page != nullptr && page->limit > 0;
  if (!in_pages && std::getenv(kViewerVariable) != nullptr)
    RETURN_IF_ERROR(CheckCost(runs, filter.time.start));
  std::int64_t count = 0;
  std::string last;
  ClusterReader cluster(session.db);
  absl::flat_hash_set<std::tuple<std::string, std::int64_t, Ns>> taken;
  const bool may_glance = glance && page == nullptr && !options.truncate && filter.SelectsAllThatRun();
  for (const std::vector<JobKey>& group : runs) {
    if (filter.time.start && WasOver(group, *filter.time.start)) continue;
    if (may_glance) {
      ASSIGN_OR_RETURN(const bool seen, glance(session, cluster, group));
      if (seen) continue;
    }
    absl::StatusOr<std::vector<Report>> made =
        MakeReports(session, group, timeline_options, cluster, glance == nullptr);
    if (absl::IsNotFound(made.status())) continue;
    if (!made.ok()) return made.status();
    for (Report& report : *made) {
      // Every component of a heterogeneous job leads to the whole job.
      const RunInfo& info = report.run.info;
      if (!taken.emplace(info.cluster, info.job_id, report.timeline.begin).second || !filter.Matches(report))
        continue;
      const std::string cursor = CursorOf(group);
      // Runs that share a run with one already shown belong to this page too.
      if (page != nullptr && page->limit > 0 && count >= page->limit && cursor != last) {
        page->next = last;
        return absl::OkStatus();
      }
      ++count;
      last = cursor;
      if (options.truncate) {
        ClipReport(report, filter.time.start.value_or(report.timeline.begin),
                   filter.time.end.value_or(session.now));
      }
      ExcludeFromReport(report, filter.excluded);
      if (absl::Status status = take(session, std::move(report)); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace goodput
