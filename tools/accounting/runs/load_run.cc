#include "tools/accounting/runs/load_run.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/tables/cluster_reader.h"
#include "sql/tables/event_cursor.h"
#include "sql/tables/evidence.h"
#include "sql/tables/heartbeats.h"
#include "sql/tables/watch_times.h"
#include "sql/text.h"
#include "tools/accounting/runs/allocated_nodes.h"
#include "tools/accounting/runs/best_source.h"
#include "tools/accounting/runs/clocks.h"
#include "tools/accounting/runs/collectives.h"
#include "tools/accounting/runs/components.h"
#include "tools/accounting/runs/controller_clock.h"
#include "tools/accounting/runs/drafts.h"
#include "tools/accounting/runs/explain_end.h"
#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/runs/fact_sources.h"
#include "tools/accounting/runs/imported_runs.h"
#include "tools/accounting/runs/node_facts.h"
#include "tools/accounting/runs/scheduler_facts.h"
#include "tools/accounting/runs/stored_steps.h"
#include "tools/base/format.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

class RunLoader {
 public:
  RunLoader(Database& db, const std::vector<JobKey>& jobs, Ns now, ClusterReader& cluster)
      : db_(db),
        cluster_(cluster),
        step_reader_(std::make_shared<StoredSteps>(db)),
        sources_(db, run_.facts) {
    for (const JobKey& job : jobs) jobs_of_run_.insert(job.job_id);
    run_.facts.now = now;
    run_.facts.step_reader = step_reader_;
  }

  // Includes the other components if the job is heterogeneous.
  absl::Status AddJob(const JobKey& job);
  absl::StatusOr<Run> Finish();

 private:
  absl::StatusOr<bool> AddComponent(const JobKey& job, std::optional<std::int64_t> of);
  absl::Status AddSchedulerSide(const JobKey& job, EventCursor& events, SchedulerFacts& scheduler,
                                ControllerClock& clock, NodeClocks& clocks);
  absl::Status AddWatch(const JobKey& job, EventCursor& events, const ControllerClock& clock,
                        SchedulerFacts& scheduler);
  absl::Status AddNodeSide(const JobKey& job, EventCursor& events, const ControllerClock& clock,
                           NodeClocks& clocks);
  absl::Status EndUnwatched(const JobKey& job, Ns last_said);
  void BelieveSteps(AllocatedNodes& allocated, JobSteps& steps, std::vector<Ns>& block_shifts) const;
  absl::Status WarnOfLostRecords(const JobKey& job);
  absl::Status FinishDrafts(const JobKey& job);
  absl::Status AddImport(const JobKey& job);
  void JudgeWaitsOfArrays();

  Database& db_;
  ClusterReader& cluster_;
  std::shared_ptr<StoredSteps> step_reader_;
  std::set<std::int64_t> jobs_of_run_;
  std::set<JobKey> added_;
  std::optional<std::int64_t> het_job_;            // of the job being added
  std::map<std::int64_t, std::int64_t> array_of_;  // by job
  Run run_;
  FactSources sources_;
  FactNodes nodes_;
  Drafts drafts_;  // of the job being added
};

// Its attempts, by number, since two of them may begin in one second.
absl::Status RunLoader::AddImport(const JobKey& job) {
  ASSIGN_OR_RETURN(ImportedRun imported, LoadImportedRun(db_, job));
  run_.info = std::move(imported.run.info);
  for (std::size_t i = 0; i < imported.is_life.size(); ++i) {
    Draft& draft = drafts_.Of(static_cast<std::int64_t>(i));
    draft.facts = std::move(imported.run.facts.attempts[i]);
    draft.is_life = imported.is_life[i];
    draft.in_accounting = true;
  }
  return absl::OkStatus();
}

absl::Status RunLoader::AddSchedulerSide(const JobKey& job, EventCursor& events, SchedulerFacts& scheduler,
                                         ControllerClock& clock, NodeClocks& clocks) {
  ASSIGN_OR_RETURN(std::vector<AccountingRow> rows, cluster_.RowsOf(job));
  for (const AccountingRow& row : rows) scheduler.AddAccounting(row);
  if (IsImport(job)) {
    if (absl::Status status = AddImport(job); !status.ok()) return status;
  }
  drafts_.JoinResized();
  bool watched = false;
  // The clocks of its events must be known before their contents are used.
  if (job.heard) {
    while (events.Next()) {
      const EventView& event = events.event();
      if (!OfWatch(event)) {
        clocks.Add(event);
        continue;
      }
      watched = true;
      if (const auto mono = event.Mono()) clock.Add(event.t_ns, event.t_ns - *mono, event.boot);
    }
    RETURN_IF_ERROR(events.status());
  }
  clock.Settle();
  if (watched) {
    if (absl::Status status = AddWatch(job, events, clock, scheduler); !status.ok()) return status;
  }
  het_job_ = scheduler.het_job();
  if (scheduler.array_job()) array_of_[job.job_id] = *scheduler.array_job();
  return absl::OkStatus();
}

absl::Status RunLoader::AddWatch(const JobKey& job, EventCursor& events, const ControllerClock& clock,
                                 SchedulerFacts& scheduler) {
  Ns last_said = 0;  // by the record's clock, like the watch's own begin
  // Its records are rows, and come before those of blocks.
  events.Rewind();
  while (events.Next() && events.event().shape == EventView::kNoShape) {
    const EventView& event = events.event();
    if (!OfWatch(event)) continue;
    last_said = std::max(last_said, event.t_ns);
    const auto mono = clock.was_set() ? event.Mono() : std::nullopt;
    scheduler.AddWatch(event, mono ? clock.OfRecord(event.t_ns, event.t_ns - *mono, event.boot) : event.t_ns);
  }
  RETURN_IF_ERROR(events.status());
  return EndUnwatched(job, last_said);
}

// A watch records every job when it begins. A job that is missing then ended while no watch ran; without
// cluster, the time is unknown.
absl::Status RunLoader::EndUnwatched(const JobKey& job, Ns last_said) {
  if (drafts_.begin() == drafts_.end()) return absl::OkStatus();
  Draft& last = std::prev(drafts_.end())->second;
  if (last.in_accounting || last.state_final || last.facts.end) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<WatchSpell> spells,
                   LoadWatches(db_, job.cluster, last_said, std::numeric_limits<std::int64_t>::max()));
  const auto next = std::find_if(spells.begin(), spells.end(),
                                 [&](const WatchSpell& spell) { return spell.begin_ns > last_said; });
  if (next == spells.end()) return absl::OkStatus();
  last.last_seen = last_said;
  last.facts.end = next->begin_ns / kSecond * kSecond;
  last.facts.state = run_.info.state = "GONE";
  return absl::OkStatus();
}

// Its nodes may have seen the end that the watch missed.
void TakeEndFromNodes(Draft& draft) {
  if (!draft.last_seen) return;
  std::optional<Ns> end;
  for (const NodeEvent& event : draft.facts.node_events) {
    const bool in_gap = event.t >= *draft.last_seen && event.t < *draft.facts.end;
    if (event.kind == NodeEvent::Kind::kEpilog && in_gap) end = std::max(end.value_or(event.t), event.t);
  }
  if (end) draft.facts.end = end;
}

// Removes the steps that a node reported to which the job was not allocated.
void RunLoader::BelieveSteps(AllocatedNodes& allocated, JobSteps& steps,
                             std::vector<Ns>& block_shifts) const {
  const std::map<std::int64_t, SourceRow>& sources = sources_.rows();
  auto last = sources.end();
  const auto node_of = [&](std::int64_t source_id) {
    if (last == sources.end() || last->first != source_id) last = sources.find(source_id);
    return last == sources.end() ? std::string_view() : std::string_view(last->second.node);
  };
  const auto foreign = [&](const StepRow& mark) { return !allocated.Believe(node_of(mark.source_id)); };
  steps.marks.erase(std::remove_if(steps.marks.begin(), steps.marks.end(), foreign), steps.marks.end());
  std::vector<StepBlockRow> blocks;
  std::vector<Ns> shifts;
  for (std::size_t i = 0; i < steps.blocks.size(); ++i) {
    if (!allocated.Believe(node_of(steps.blocks[i].source_id), steps.blocks[i].marks)) continue;
    blocks.push_back(std::move(steps.blocks[i]));
    shifts.push_back(block_shifts[i]);
  }
  steps.blocks = std::move(blocks);
  block_shifts = std::move(shifts);
}

absl::Status RunLoader::AddNodeSide(const JobKey& job, EventCursor& events, const ControllerClock& clock,
                                    NodeClocks& clocks) {
  if (!job.heard) return absl::OkStatus();
  ASSIGN_OR_RETURN(JobSteps steps, LoadJobSteps(db_, job));
  ASSIGN_OR_RETURN(std::vector<Heartbeat> heartbeats, LoadHeartbeats(db_, job));
  for (const SourceRow& source : steps.sources) sources_.Add(source);
  std::vector<Ns> block_shifts;
  RETURN_IF_ERROR(clocks.Settle(db_, job, sources_.rows(), drafts_.Spans(), clock.Shifts(), steps,
                                block_shifts, heartbeats));
  run_.facts.warnings.insert(run_.facts.warnings.end(), clocks.warnings().begin(), clocks.warnings().end());
  run_.facts.clocks_differed |= !clocks.warnings().empty();
  NodeFacts nodes(db_, sources_, nodes_, drafts_, *step_reader_, run_);
  AllocatedNodes allocated(drafts_, het_job_.has_value());
  events.Rewind();
  std::size_t read = 0;
  for (; events.Next(); ++read) {
    if (allocated.Believe(events.event().node)) nodes.Add(events.event(), clocks.Correct(events.event()));
  }
  RETURN_IF_ERROR(events.status());
  // Its pages are a third of what a report of so many takes.
  constexpr std::size_t kMany = 20'000;
  if (read > kMany) db_.ForgetPages();
  BelieveSteps(allocated, steps, block_shifts);
  for (std::string& warning : allocated.Warnings(job.job_id))
    run_.facts.warnings.push_back(std::move(warning));
  nodes.SettleDeclared();
  nodes.AddHeartbeats(heartbeats);
  ASSIGN_OR_RETURN(const bool any_imported, cluster_.AnyImportedMarks());
  if (any_imported) RETURN_IF_ERROR(nodes.AddImportedMarks(job));
  return nodes.AddSteps(std::move(steps), block_shifts);
}

// What its nodes lost while it ran may have been about it.
absl::Status RunLoader::WarnOfLostRecords(const JobKey& job) {
  for (const auto& [submit, draft] : drafts_) {
    const AttemptFacts& facts = draft.facts;
    if (!facts.start || facts.node_list.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<LostRecords> lost,
                     cluster_.LostBetween(job.cluster, *facts.start, facts.end.value_or(run_.facts.now)));
    if (lost.empty()) continue;
    const std::vector<std::string> names = ExpandHostList(facts.node_list);
    const std::set<std::string> nodes(names.begin(), names.end());
    for (const LostRecords& of : lost) {
      if (nodes.count(of.node) == 0) continue;
      run_.facts.warnings.push_back(Cat("job ", job.job_id, ": between ", FormatTime(of.since_ns), " and ",
                                        FormatTime(of.until_ns), " node ", of.node, " lost ",
                                        Counted(of.count, "record"), " for want of room in its spool"));
    }
  }
  return absl::OkStatus();
}

// Steps that need all facts of an attempt; afterwards they belong to the run.
absl::Status RunLoader::FinishDrafts(const JobKey& job) {
  const auto imported = [&](const Mark& mark) {
    return run_.facts.sources[static_cast<std::size_t>(mark.ref.source)].imported;
  };
  for (auto it = drafts_.begin(); it != drafts_.end(); ++it) {
    Draft& draft = it->second;
    ReadSchedulingPhases(draft.facts, draft.is_life, imported);
    TakeEndFromNodes(draft);
    if (IsImport(job)) continue;
    const auto next = std::next(it);
    const EndOwner owner{job.cluster, run_.info.user, run_.info.partition, run_.info.qos,
                         draft.in_accounting};
    absl::Status status =
        ExplainEnd(db_, owner, next == drafts_.end() ? nullptr : &next->second.facts, draft.facts);
    if (!status.ok()) return status;
  }
  drafts_.PlaceSuspensions(run_.facts.now);
  const bool any_log = AnyLog(run_.facts.sources);
  for (auto& [submit, draft] : drafts_) {
    AttemptFacts& facts = draft.facts;
    if (any_log) TakeBestSource(run_.facts.sources, facts);
    if (facts.start && draft.configuring_since && *draft.configuring_since < *facts.start)
      facts.allocated = draft.configuring_since;
    run_.facts.attempts.push_back(std::move(facts));
  }
  return absl::OkStatus();
}

// False: `of` is given, and this job is not one of its components.
absl::StatusOr<bool> RunLoader::AddComponent(const JobKey& job, std::optional<std::int64_t> of) {
  if (added_.count(job) != 0) return true;
  drafts_.Clear();
  const RunInfo info = run_.info;
  const std::set<std::string> gpu_types = run_.gpu_types;
  SchedulerFacts scheduler(jobs_of_run_, sources_, drafts_, run_);
  ControllerClock clock;
  NodeClocks clocks;
  // Read three times: clocks first, then what the watch saw, then what nodes did.
  EventsOf of_job = EventsOf::Job(job);
  ASSIGN_OR_RETURN(const bool any_blocks, cluster_.AnyBlocks(job.job_id));
  of_job.no_blocks = !any_blocks;
  EventCursor events(db_, std::move(of_job));
  RETURN_IF_ERROR(AddSchedulerSide(job, events, scheduler, clock, clocks));
  if (of && het_job_ != of) {
    run_.info = info;
    run_.gpu_types = gpu_types;
    return false;
  }
  added_.insert(job);
  // The first component represents the job.
  const bool leader_spoke = het_job_ && added_.count({job.cluster, *het_job_, job.from_s, job.until_s}) != 0;
  if (leader_spoke && *het_job_ != job.job_id) run_.info = info;
  drafts_.CloseWatched();
  drafts_.PlacePreemptions(scheduler.preemptions());
  if (clock.was_set()) {
    for (std::string& finding : clock.Findings()) run_.facts.warnings.push_back(std::move(finding));
  }
  drafts_.MoveOnto(clock);
  drafts_.Index();
  for (auto& [submit, draft] : drafts_) {
    draft.facts.job_id = job.job_id;
    draft.facts.het_job = het_job_;
  }
  RETURN_IF_ERROR(AddNodeSide(job, events, clock, clocks));
  if (!IsImport(job)) RETURN_IF_ERROR(WarnOfLostRecords(job));
  RETURN_IF_ERROR(FinishDrafts(job));
  return true;
}

absl::Status RunLoader::AddJob(const JobKey& job) {
  if (absl::StatusOr<bool> added = AddComponent(job, std::nullopt); !added.ok()) return added.status();
  if (!het_job_) return absl::OkStatus();
  // The ids of components are consecutive, and they are submitted together.
  const std::int64_t leader = *het_job_;
  for (JobKey component{job.cluster, leader, job.from_s, job.until_s};; ++component.job_id) {
    ASSIGN_OR_RETURN(const bool added, AddComponent(component, leader));
    if (!added) break;
  }
  run_.info.job_id = leader;
  run_.info.job_id_text = Cat(leader);
  return absl::OkStatus();
}

// A task that the limit of its array kept back (--array=1-4%1) waited for the others: those of the run, if it
// has any.
void RunLoader::JudgeWaitsOfArrays() {
  std::map<std::int64_t, int> tasks;
  for (const auto& [job, array] : array_of_) ++tasks[array];
  for (AttemptFacts& attempt : run_.facts.attempts) {
    const auto array = array_of_.find(attempt.job_id);
    attempt.array_of_run = array != array_of_.end() && tasks[array->second] > 1;
    if (!attempt.array_of_run) continue;
    for (PendingReason& reason : attempt.pending) reason.within_run |= reason.reason == "JobArrayTaskLimit";
  }
}

absl::StatusOr<Run> RunLoader::Finish() {
  if (run_.facts.attempts.empty()) {
    return absl::NotFoundError(
        Cat("its node has reported it, but nothing from Slurm is recorded yet (goodputd polls every few "
            "seconds); ",
            kAskAgain));
  }
  JudgeWaitsOfArrays();
  NameNodesOfCollectives(nodes_, run_.facts.attempts);
  nodes_.Settle(run_.facts.attempts);
  JoinComponents(run_.facts.attempts);
  SettleOpenEnds(run_.facts);
  return std::move(run_);
}

}  // namespace

absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now) {
  ClusterReader cluster(db);
  return LoadRun(db, jobs, now, cluster);
}

absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now, ClusterReader& cluster) {
  RunLoader loader(db, jobs, now, cluster);
  for (const JobKey& job : jobs) {
    if (absl::Status status = loader.AddJob(job); !status.ok()) return status;
  }
  return loader.Finish();
}

}  // namespace goodput
