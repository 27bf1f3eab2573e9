#include "tools/runs/load_run.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/accounting.h"
#include "sql/evidence.h"
#include "sql/imports.h"
#include "sql/text.h"
#include "tools/runs/clocks.h"
#include "tools/runs/components.h"
#include "tools/runs/controller_clock.h"
#include "tools/runs/explain_end.h"
#include "tools/runs/imported.h"
#include "tools/runs/record.h"
#include "tools/runs/stored_steps.h"

namespace goodput {
namespace {

// Accounting has whole seconds, rounded down: what happened in the second of a start belongs to it.
constexpr Ns kStartSlack = kSecond;

Ns FromSeconds(std::int64_t seconds) {
  return seconds * kSecond;
}

std::optional<Ns> FromSeconds(const std::optional<std::int64_t>& seconds) {
  if (!seconds) return std::nullopt;
  return FromSeconds(*seconds);
}

std::optional<NodeEvent::Kind> NodeEventKind(std::string_view kind) {
  if (kind == kind::kJobProlog) return NodeEvent::Kind::kProlog;
  if (kind == kind::kStepStart) return NodeEvent::Kind::kStepStart;
  if (kind == kind::kTaskStart) return NodeEvent::Kind::kTaskStart;
  if (kind == kind::kTaskExit) return NodeEvent::Kind::kTaskExit;
  if (kind == kind::kStepEnd) return NodeEvent::Kind::kStepEnd;
  if (kind == kind::kJobEpilog) return NodeEvent::Kind::kEpilog;
  return std::nullopt;
}

bool OfWatch(const EventRow& event) {
  return event.kind == kind::kQueue || event.kind == kind::kAttempt;
}

// One attempt while it is put together.
struct Draft {
  AttemptFacts facts;
  std::optional<Ns> configuring_since;  // the watch saw its nodes boot; accounting's start is when they had
  int running_gpus = 0;                 // that the watch last saw it run with
  std::optional<Ns> suspended_since;    // the watch saw it suspended
  std::optional<Ns> resumed;            // and last resumed then
  bool in_accounting = false;
  bool state_final = false;  // the watch saw it over, not merely completing
  bool is_life = false;      // an import: it is the life of its program
  std::int64_t suspended_s = 0;
};

class RunLoader {
 public:
  RunLoader(Database& db, const std::vector<JobKey>& jobs, Ns now, AccountingReader& accounting)
      : db_(db), accounting_(accounting), step_reader_(std::make_shared<StoredSteps>(db)) {
    for (const JobKey& job : jobs) jobs_of_run_.insert(job.job_id);
    run_.facts.now = now;
    run_.facts.step_reader = step_reader_;
  }

  // Also the other components, if it is one of a heterogeneous job.
  absl::Status AddJob(const JobKey& job);
  absl::StatusOr<Run> Finish();

 private:
  absl::Status LoadSourceOf(std::int64_t source_id);
  absl::Status LoadSourcesOf(const std::vector<EventRow>& events, const JobSteps& steps);
  Draft& DraftOf(std::int64_t submit_s);
  absl::StatusOr<bool> AddComponent(const JobKey& job, std::optional<std::int64_t> of);
  void AddAccounting(const AccountingRow& row);
  void JoinResized();
  void AddWatch(const EventRow& event);
  void AddNodeEvent(const EventRow& event);
  void AddMark(const EventRow& event);
  void AddSteps(const std::vector<StepRow>& steps);
  absl::Status AddImport(const JobKey& job);
  absl::Status AddImportedMarks(const JobKey& job);
  absl::Status AddBlocks(std::vector<StepBlockRow> blocks, const std::vector<Ns>& shifts);
  std::vector<AllocatedSpan> Spans() const;
  ControllerClock ReadControllerClock(std::vector<EventRow>& events);
  void MoveOntoLastClock(const ControllerClock& clock);
  bool WaitsForOwnRun(std::string_view dependency) const;
  void AddSuspension(const std::string& state, Draft& draft);
  static void PlaceSuspensions(Draft& draft, Ns now);
  void CloseWatchedAttempts();
  void PlacePreemptions();
  void IndexAttempts();
  AttemptFacts* AttemptAt(Ns t);
  EvidenceRef RefOf(std::int64_t source_id, std::int64_t offset);

  Database& db_;
  AccountingReader& accounting_;
  std::shared_ptr<StoredSteps> step_reader_;
  std::set<std::int64_t> jobs_of_run_;
  std::set<JobKey> added_;
  std::optional<std::int64_t> het_job_;  // of the job being added
  bool flops_declared_ = false;          // by it
  Run run_;
  std::map<std::int64_t, SourceRow> sources_;
  std::map<std::int64_t, std::int32_t> source_index_;
  RecordReader reader_;
  // Of the job being added: by submit time.
  std::map<std::int64_t, Draft> drafts_;
  std::vector<AttemptFacts*> started_;  // of drafts_, by start
  std::set<Ns> preemptions_;
  std::vector<EventRow> node_side_;
};

absl::Status RunLoader::LoadSourceOf(std::int64_t source_id) {
  if (sources_.count(source_id) != 0) return absl::OkStatus();
  absl::StatusOr<SourceRow> row = LoadSource(db_, source_id);
  if (!row.ok()) return row.status();
  sources_.emplace(source_id, *std::move(row));
  return absl::OkStatus();
}

// Of thousands of files a cluster has, one job is in a few.
absl::Status RunLoader::LoadSourcesOf(const std::vector<EventRow>& events, const JobSteps& steps) {
  std::set<std::int64_t> ids;
  for (const EventRow& event : events) ids.insert(event.source_id);
  for (const StepRow& step : steps.marks) ids.insert(step.source_id);
  for (const StepBlockRow& block : steps.blocks) ids.insert(block.source_id);
  for (const std::int64_t id : ids) {
    if (absl::Status status = LoadSourceOf(id); !status.ok()) return status;
  }
  return absl::OkStatus();
}

EvidenceRef RunLoader::RefOf(std::int64_t source_id, std::int64_t offset) {
  auto found = source_index_.find(source_id);
  if (found == source_index_.end()) {
    const SourceRow& source = sources_[source_id];
    found = source_index_.emplace(source_id, static_cast<std::int32_t>(run_.facts.sources.size())).first;
    run_.facts.sources.emplace_back(Cat(source.node, "/", source.file),
                                    source.node == kImportNode ? Evidence::kLog : Evidence::kMark);
  }
  return {found->second, offset};
}

Draft& RunLoader::DraftOf(std::int64_t submit_s) {
  Draft& draft = drafts_[submit_s];
  draft.facts.submit = FromSeconds(submit_s);
  return draft;
}

void RunLoader::AddAccounting(const AccountingRow& row) {
  Draft& draft = DraftOf(row.submit_s);
  AttemptFacts& facts = draft.facts;
  draft.in_accounting = true;
  if (const auto plus = row.job_id_text.find('+'); plus != std::string::npos) {
    std::int64_t leader = 0;
    if (absl::SimpleAtoi(ToAbsl(row.job_id_text).substr(0, plus), &leader)) het_job_ = leader;
  }
  draft.suspended_s = row.suspended_s;
  facts.eligible = FromSeconds(row.eligible_s);
  facts.start = FromSeconds(row.start_s);
  facts.end = FromSeconds(row.end_s);
  facts.state = row.state;
  if (row.exit_code) facts.exit_code = static_cast<int>(*row.exit_code);
  if (row.exit_signal) facts.exit_signal = static_cast<int>(*row.exit_signal);
  if (row.restarts) facts.restart = static_cast<int>(*row.restarts);
  facts.reason = row.reason;
  facts.failed_node = row.failed_node;
  facts.admin_comment = row.admin_comment;
  facts.cancelled_by = row.cancelled_by;
  facts.step_out_of_memory = row.derived_signal == kStepRanOutOfMemory;
  facts.node_list = row.node_list;
  facts.nodes = static_cast<int>(row.nodes);
  facts.gpus = static_cast<int>(row.gpus);
  facts.evidence = Evidence::kAccounting;
  if (!row.gpu_type.empty()) run_.gpu_types.insert(row.gpu_type);
  run_.info = {row.cluster, row.job_id, row.job_id_text, run_.info.run,
               row.name,    row.user,   row.account,     row.partition,
               row.qos,     row.state,  row.gpu_type,    std::move(run_.info.tags)};
}

void RunLoader::AddWatch(const EventRow& event) {
  if (!reader_.Parse(event.record)) return;
  const std::optional<std::int64_t> submit = reader_.Int(key::kSubmitS);
  if (!submit) return;
  // A requeue has a new submit time; while the old allocation completes, the record still tells of the old
  // one.
  Draft& draft = DraftOf(*submit);
  AttemptFacts& facts = draft.facts;
  const std::string state = reader_.Text(key::kState);
  if (const auto preempt = reader_.Int(key::kPreemptS)) preemptions_.insert(FromSeconds(*preempt));
  if (state == "PENDING") {
    facts.pending.push_back({event.t_ns, reader_.Text(key::kReason), RefOf(event.source_id, event.offset),
                             WaitsForOwnRun(reader_.Text(key::kDependency))});
  }
  AddSuspension(state, draft);
  const std::string failed_node = reader_.Text(key::kFailedNode);
  if (!failed_node.empty()) facts.failed_node = failed_node;
  const std::string comment = reader_.Text(key::kAdminComment);
  if (!comment.empty()) facts.admin_comment = comment;
  // slurmdbd's tables lose quotes and, by their character set, much of what is not Latin.
  if (const std::string name = reader_.Text(key::kName); !name.empty()) run_.info.name = name;
  // While a job completes, slurmctld's start time ticks along and its end time is a guess.
  const std::vector<std::string> flags = reader_.Texts(key::kFlags);
  const bool completing = std::find(flags.begin(), flags.end(), "COMPLETING") != flags.end();
  if (std::find(flags.begin(), flags.end(), "CONFIGURING") != flags.end()) {
    const std::optional<Ns> since = FromSeconds(reader_.Int(key::kStartS));
    if (since && (!draft.configuring_since || *since < *draft.configuring_since))
      draft.configuring_since = since;
  }
  if (const auto leader = reader_.Int(key::kHetJob)) het_job_ = leader;
  if (!completing) {
    // While a requeued job completes, its record has the next restart count and still the old submit time.
    if (const auto restart = reader_.Int(key::kRestart)) facts.restart = static_cast<int>(*restart);
    draft.state_final = state != "PENDING" && state != "RUNNING" && state != "SUSPENDED";
    if (!facts.end) facts.end = FromSeconds(reader_.Int(key::kEndS));
    // Of a job cancelled before it started, slurmctld calls the end its start.
    if (!facts.start && !(draft.state_final && reader_.Text(key::kNodes).empty()))
      facts.start = FromSeconds(reader_.Int(key::kStartS));
  } else if (!draft.in_accounting && facts.start && !facts.end) {
    // Seen completing for the first time: it ended between the last look and this one.
    facts.end = event.t_ns / kSecond * kSecond;
  }
  if (draft.in_accounting && facts.state != "RUNNING" && facts.state != "PENDING") return;
  facts.state = state;
  if (const auto code = reader_.Int(key::kExitCode)) facts.exit_code = static_cast<int>(*code);
  if (const auto signal = reader_.Int(key::kExitSignal)) facts.exit_signal = static_cast<int>(*signal);
  run_.info.state = state;
  if (draft.in_accounting) return;
  facts.evidence = Evidence::kScheduler;
  if (const auto eligible = FromSeconds(reader_.Int(key::kEligibleS))) facts.eligible = eligible;
  facts.node_list = reader_.Text(key::kNodes);
  facts.nodes = static_cast<int>(reader_.Int(key::kNnodes).value_or(0));
  const int gpus = static_cast<int>(reader_.Int(key::kGpus).value_or(0));
  if (state == "RUNNING" && !completing && gpus > 0) {
    if (draft.running_gpus > 0 && gpus != draft.running_gpus)
      facts.resizes.push_back({event.t_ns, draft.running_gpus});
    facts.gpus = draft.running_gpus = gpus;
  } else if (draft.running_gpus == 0) {
    facts.gpus = std::max(facts.gpus, gpus);
  }
  draft.suspended_s = reader_.Int(key::kSuspendedS).value_or(0);
  RunInfo& info = run_.info;
  info.cluster = reader_.Text(key::kCluster);
  info.job_id = reader_.Int(key::kJob).value_or(0);
  info.job_id_text = Cat(info.job_id);
  if (const auto array_job = reader_.Int(key::kArrayJob)) {
    if (const auto array_task = reader_.Int(key::kArrayTask))
      info.job_id_text = Cat(*array_job, "_", *array_task);
  }
  info.name = reader_.Text(key::kName);
  info.user = reader_.Text(key::kUser);
  info.account = reader_.Text(key::kAccount);
  info.partition = reader_.Text(key::kPartition);
  info.qos = reader_.Text(key::kQos);
  info.gpu_type = reader_.Text(key::kGpuType);
  if (!info.gpu_type.empty()) run_.gpu_types.insert(info.gpu_type);
}

// afterok:12(unfulfilled),afterany:13_*(unfulfilled): true when all of them are jobs of the run. What a
// singleton waits for is not said; in a run of several jobs it is them.
bool RunLoader::WaitsForOwnRun(std::string_view dependency) const {
  bool any = false;
  for (absl::string_view one : absl::StrSplit(ToAbsl(dependency), absl::ByAnyChar(",?"), absl::SkipEmpty())) {
    any = true;
    if (absl::StartsWith(one, "singleton")) {
      if (jobs_of_run_.size() < 2) return false;
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(one.substr(0, one.find('(')), ':');
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::int64_t job = 0;
      if (!absl::SimpleAtoi(words[i].substr(0, words[i].find_first_of("_+")), &job)) return false;
      if (jobs_of_run_.count(job) == 0) return false;
    }
  }
  return any;
}

// Slurm sets the suspend time when it suspends and again when it resumes.
void RunLoader::AddSuspension(const std::string& state, Draft& draft) {
  const std::optional<Ns> since = FromSeconds(reader_.Int(key::kSuspendS));
  if (!since) return;
  if (state != "SUSPENDED") draft.resumed = since;
  if (state == "SUSPENDED") {
    if (!draft.suspended_since) draft.suspended_since = since;
  } else if (draft.suspended_since) {
    // One that ended while suspended has not been resumed.
    const Ns resumed = *since > *draft.suspended_since
                           ? *since
                           : FromSeconds(reader_.Int(key::kEndS)).value_or(*draft.suspended_since);
    draft.facts.suspended.push_back({*draft.suspended_since, resumed, true});
    draft.suspended_since.reset();
  }
}

// What accounting knows to have been more than was seen: how long, but not when. Between two looks it was
// just before it was resumed; when nobody looked, nothing says it was not at the end.
void RunLoader::PlaceSuspensions(Draft& draft, Ns now) {
  AttemptFacts& facts = draft.facts;
  if (!facts.start) return;
  const Ns end = facts.end.value_or(now);
  if (draft.suspended_since) facts.suspended.push_back({*draft.suspended_since, end, true});
  Ns rest = FromSeconds(draft.suspended_s);
  for (const Suspension& seen : facts.suspended) rest -= std::min(seen.end, end) - seen.begin;
  // Each end of what was seen is rounded.
  if (rest <= kSecond * static_cast<Ns>(facts.suspended.size())) return;
  const Ns until = draft.resumed.value_or(end);
  facts.suspended.push_back({std::max(*facts.start, until - rest), until, draft.resumed.has_value()});
}

// Without accounting nobody says when a requeued attempt ended: it was when the next one was submitted.
void RunLoader::CloseWatchedAttempts() {
  for (auto it = drafts_.begin(); it != drafts_.end(); ++it) {
    AttemptFacts& facts = it->second.facts;
    const auto next = std::next(it);
    if (next == drafts_.end()) break;
    if (it->second.in_accounting || !facts.start) continue;
    if (!facts.end) facts.end = next->second.facts.submit;
    // What its batch script died of while it was requeued is not how the attempt ended.
    const bool told = facts.state == "PREEMPTED" || facts.state == "NODE_FAIL";
    if (!told && !it->second.state_final) facts.state = "REQUEUED";
  }
}

void RunLoader::PlacePreemptions() {
  for (const Ns preemption : preemptions_) {
    for (auto& [submit, draft] : drafts_) {
      AttemptFacts& facts = draft.facts;
      if (!facts.start || preemption < *facts.start || (facts.end && preemption > *facts.end + kStartSlack))
        continue;
      if (!facts.preempt_time) facts.preempt_time = preemption;
    }
  }
}

// Millions of records ask AttemptAt, of up to hundreds of attempts.
void RunLoader::IndexAttempts() {
  started_.clear();
  for (auto& [submit, draft] : drafts_) {
    if (draft.facts.start) started_.push_back(&draft.facts);
  }
  std::stable_sort(started_.begin(), started_.end(),
                   [](const AttemptFacts* a, const AttemptFacts* b) { return *a->start < *b->start; });
}

// Of those that had started by then the last.
AttemptFacts* RunLoader::AttemptAt(Ns t) {
  auto after = std::upper_bound(started_.begin(), started_.end(), t + kStartSlack,
                                [](Ns at, const AttemptFacts* attempt) { return at < *attempt->start; });
  while (after != started_.begin()) {
    AttemptFacts* attempt = *--after;
    // An import's attempts begin when it says.
    if (*attempt->start <= t + (attempt->heard_until ? 0 : kStartSlack)) return attempt;
  }
  return nullptr;
}

void RunLoader::AddNodeEvent(const EventRow& event) {
  const std::optional<NodeEvent::Kind> kind = NodeEventKind(event.kind);
  if (!kind || !reader_.Parse(event.record)) return;
  AttemptFacts* attempt = AttemptAt(event.t_ns);
  if (attempt == nullptr) return;
  NodeEvent node_event;
  node_event.t = event.t_ns;
  node_event.kind = *kind;
  node_event.node = reader_.Text(key::kNode);
  node_event.slurm_step = StepCode(reader_.Text(key::kSlurmStep));
  node_event.task = static_cast<std::int32_t>(reader_.Int(key::kTask).value_or(0));
  if (const auto code = reader_.Int(key::kExitCode)) node_event.exit_code = static_cast<int>(*code);
  if (const auto signal = reader_.Int(key::kSignal)) node_event.signal = static_cast<int>(*signal);
  node_event.ref = RefOf(event.source_id, event.offset);
  // The watch may have looked neither while it waited nor while it ran.
  if (const auto restart = reader_.Int(key::kRestart);
      restart && !attempt->restart && *kind == NodeEvent::Kind::kProlog) {
    attempt->restart = static_cast<int>(*restart);
  }
  attempt->node_events.push_back(std::move(node_event));
  const std::string run_name = reader_.OptText(key::kRun);
  if (!run_name.empty()) run_.info.run = run_name;
  if (auto tags = reader_.OptTexts(key::kTags); !tags.empty()) run_.info.tags = std::move(tags);
  // What the first record of a job says is its prolog's, which no program can forge.
  DeclaredFlops flops{reader_.OptNumber(key::kFlopsPerStep), reader_.OptText(key::kModel),
                      reader_.OptText(key::kPrecision)};
  if (flops.any() && !flops_declared_) {
    run_.flops.push_back(std::move(flops));
    flops_declared_ = true;
  }
}

void RunLoader::AddMark(const EventRow& event) {
  if (!reader_.Parse(event.record)) return;
  AttemptFacts* attempt = AttemptAt(event.t_ns);
  const std::string what = reader_.Text(key::kMark);
  if (attempt == nullptr || what == "step") return;
  Mark mark;
  mark.t = event.t_ns;
  mark.kind = what == "checkpoint" ? Mark::Kind::kCheckpoint
              : what == "restore"  ? Mark::Kind::kRestore
                                   : Mark::Kind::kPhase;
  mark.begin = reader_.Text(key::kEdge) == "begin";
  mark.train_step = reader_.Int(key::kTrainStep);
  mark.name = reader_.Text(key::kName);
  mark.slurm_step = StepCode(reader_.Text(key::kSlurmStep));
  mark.task = static_cast<std::int32_t>(reader_.Int(key::kTask).value_or(0));
  mark.ref = RefOf(event.source_id, event.offset);
  attempt->marks.push_back(std::move(mark));
}

void RunLoader::AddSteps(const std::vector<StepRow>& steps) {
  for (const StepRow& step : steps) {
    AttemptFacts* attempt = AttemptAt(step.t_ns);
    if (attempt == nullptr) continue;
    attempt->step_marks.push_back({step.t_ns, step.train_step, StepCode(step.slurm_step),
                                   static_cast<std::int32_t>(step.task), RefOf(step.source_id, step.offset)});
  }
}

absl::Status RunLoader::AddBlocks(std::vector<StepBlockRow> blocks, const std::vector<Ns>& shifts) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    StepBlockRow& row = blocks[i];
    AttemptFacts* attempt = AttemptAt(row.first.t_ns + shifts[i]);
    if (attempt == AttemptAt(row.last.t_ns + shifts[i])) {
      if (attempt == nullptr) continue;
      const std::int32_t source = RefOf(row.source_id, row.first.offset).source;
      attempt->step_blocks.push_back(step_reader_->Add(std::move(row), source, shifts[i]));
      continue;
    }
    // A file may hold the end of one attempt and the begin of the next.
    const absl::StatusOr<std::vector<PackedStep>> packed = LoadStepsOfBlock(db_, row);
    if (!packed.ok()) return packed.status();
    std::vector<StepRow> marks;
    for (const PackedStep& step : *packed) {
      marks.push_back({row.source_id, step.offset, step.t_ns + shifts[i], row.clock_ns, step.step, step.task,
                       row.slurm_step});
    }
    AddSteps(marks);
  }
  return absl::OkStatus();
}

// Its attempts, by number: two of them may begin in one second.
absl::Status RunLoader::AddImport(const JobKey& job) {
  absl::StatusOr<ImportedRun> imported = LoadImportedRun(db_, job);
  if (!imported.ok()) return imported.status();
  run_.info = std::move(imported->run.info);
  for (std::size_t i = 0; i < imported->is_life.size(); ++i) {
    Draft& draft = drafts_[static_cast<std::int64_t>(i)];
    draft.facts = std::move(imported->run.facts.attempts[i]);
    draft.is_life = imported->is_life[i];
    draft.in_accounting = true;
  }
  return absl::OkStatus();
}

absl::Status RunLoader::AddImportedMarks(const JobKey& job) {
  absl::Status sources = absl::OkStatus();
  absl::Status status = ReadImportedMarks(db_, job, [&](std::int64_t source_id, const PackedMark& packed) {
    AttemptFacts* attempt = AttemptAt(packed.t_ns);
    if (sources.ok()) sources = LoadSourceOf(source_id);
    if (attempt == nullptr || !sources.ok()) return;
    Mark mark;
    mark.t = packed.t_ns;
    mark.kind = packed.kind == PackedMark::Kind::kCheckpoint ? Mark::Kind::kCheckpoint
                : packed.kind == PackedMark::Kind::kRestore  ? Mark::Kind::kRestore
                                                             : Mark::Kind::kPhase;
    mark.begin = packed.begin;
    mark.train_step = packed.step;
    mark.name = packed.name;
    mark.slurm_step = StepCode(packed.slurm_step);
    mark.task = static_cast<std::int32_t>(packed.task);
    mark.ref = RefOf(source_id, packed.offset);
    attempt->marks.push_back(std::move(mark));
  });
  return status.ok() ? sources : status;
}

std::vector<AllocatedSpan> RunLoader::Spans() const {
  std::vector<AllocatedSpan> spans;
  for (const auto& [submit, draft] : drafts_) {
    const AttemptFacts& facts = draft.facts;
    const bool ended_by_itself = facts.state == "COMPLETED" || facts.state == "FAILED";
    if (facts.start) spans.push_back({*facts.start, facts.end, ended_by_itself});
  }
  return spans;
}

// A job that gave nodes back has a row RESIZING, and a next one with the moment of that as its submit time.
void RunLoader::JoinResized() {
  for (auto it = drafts_.begin(); it != drafts_.end();) {
    AttemptFacts& before = it->second.facts;
    const auto next = std::next(it);
    if (before.state != "RESIZING") {
      ++it;
    } else if (next == drafts_.end()) {
      // The next row is about to come.
      before.end.reset();
      before.state = "RUNNING";
    } else {
      Draft joined = std::move(next->second);
      joined.facts.resizes = std::move(before.resizes);
      joined.facts.resizes.push_back({before.end.value_or(joined.facts.submit), before.gpus});
      joined.facts.submit = before.submit;
      joined.facts.eligible = before.eligible;
      joined.facts.start = before.start;
      drafts_.erase(next);
      it->second = std::move(joined);
    }
  }
}

// Also brings the times of the watch's records, which say by which clock they are, onto the last one.
ControllerClock RunLoader::ReadControllerClock(std::vector<EventRow>& events) {
  ControllerClock clock;
  const auto clock_of = [&](const EventRow& event) -> std::optional<Ns> {
    if (!OfWatch(event) || !reader_.Parse(event.record)) return std::nullopt;
    const auto mono = reader_.Int(key::kMonotonic);
    return mono ? std::optional(event.t_ns - *mono) : std::nullopt;
  };
  for (const EventRow& event : events) {
    if (const auto of = clock_of(event)) clock.Add(event.t_ns, *of);
  }
  clock.Settle();
  if (!clock.was_set()) return clock;
  for (EventRow& event : events) {
    if (const auto of = clock_of(event)) event.t_ns = clock.OfRecord(event.t_ns, *of);
  }
  return clock;
}

// What Slurm itself told does not say by which clock; what is before what does.
void RunLoader::MoveOntoLastClock(const ControllerClock& clock) {
  if (!clock.was_set()) return;
  for (std::string& finding : clock.Findings()) run_.facts.warnings.push_back(std::move(finding));
  Ns before = std::numeric_limits<Ns>::min() / 2;
  const auto move = [&](std::optional<Ns>& t) {
    if (t) t = clock.OfAccounting(*t, before);
  };
  for (auto& [submit, draft] : drafts_) {
    AttemptFacts& facts = draft.facts;
    before = facts.submit = clock.OfAccounting(facts.submit, before);
    move(facts.eligible);
    move(draft.configuring_since);
    move(facts.start);
    before = facts.start.value_or(before);
    move(facts.preempt_time);
    move(draft.suspended_since);
    move(draft.resumed);
    for (Suspension& suspension : facts.suspended) {
      suspension.begin = clock.OfAccounting(suspension.begin, before);
      suspension.end = clock.OfAccounting(suspension.end, suspension.begin);
    }
    move(facts.end);
    before = facts.end.value_or(before);
  }
}

// False: `of` is given, and it is no component of that job.
absl::StatusOr<bool> RunLoader::AddComponent(const JobKey& job, std::optional<std::int64_t> of) {
  if (added_.count(job) != 0) return true;
  drafts_.clear();
  preemptions_.clear();
  het_job_.reset();
  flops_declared_ = false;
  const RunInfo info = run_.info;
  const std::set<std::string> gpu_types = run_.gpu_types;
  absl::StatusOr<std::vector<AccountingRow>> rows = accounting_.RowsOf(job);
  if (!rows.ok()) return rows.status();
  for (const AccountingRow& row : *rows) AddAccounting(row);
  if (IsImport(job)) {
    if (absl::Status status = AddImport(job); !status.ok()) return status;
  }
  JoinResized();
  absl::StatusOr<std::vector<EventRow>> events = std::vector<EventRow>{};
  if (job.heard) events = LoadEvents(db_, job);
  if (!events.ok()) return events.status();
  const ControllerClock clock = ReadControllerClock(*events);
  for (const EventRow& event : *events) {
    if (OfWatch(event)) AddWatch(event);
  }
  if (of && het_job_ != of) {
    run_.info = info;
    run_.gpu_types = gpu_types;
    return false;
  }
  added_.insert(job);
  // The first component speaks for the job.
  const bool leader_spoke = het_job_ && added_.count({job.cluster, *het_job_, job.from_s, job.until_s}) != 0;
  if (leader_spoke && *het_job_ != job.job_id) run_.info = info;
  CloseWatchedAttempts();
  PlacePreemptions();
  MoveOntoLastClock(clock);
  IndexAttempts();
  for (auto& [submit, draft] : drafts_) {
    draft.facts.job_id = job.job_id;
    draft.facts.het_job = het_job_;
  }
  absl::StatusOr<JobSteps> steps = JobSteps{};
  if (job.heard) steps = LoadJobSteps(db_, job);
  if (!steps.ok()) return steps.status();
  if (absl::Status status = LoadSourcesOf(*events, *steps); !status.ok()) return status;
  std::vector<Ns> block_shifts;
  for (std::string& warning : CorrectClocks(sources_, Spans(), clock.Shifts(), *events, *steps, block_shifts))
    run_.facts.warnings.push_back(std::move(warning));
  for (const EventRow& event : *events) {
    if (event.kind == kind::kMark) {
      AddMark(event);
    } else {
      AddNodeEvent(event);
    }
  }
  if (job.heard) {
    if (absl::Status status = AddImportedMarks(job); !status.ok()) return status;
  }
  AddSteps(steps->marks);
  if (absl::Status status = AddBlocks(std::move(steps->blocks), block_shifts); !status.ok()) return status;
  const auto imported = [&](const Mark& mark) {
    return run_.facts.sources[static_cast<std::size_t>(mark.ref.source)].evidence == Evidence::kLog;
  };
  for (auto& [submit, draft] : drafts_) {
    ReadSchedulingPhases(draft.facts, draft.is_life, imported);
    if (IsImport(job)) continue;
    absl::Status status =
        ExplainEnd(db_, job.cluster, draft.in_accounting ? "" : run_.info.partition, draft.facts);
    if (!status.ok()) return status;
  }
  for (auto& [submit, draft] : drafts_) {
    AttemptFacts& facts = draft.facts;
    PlaceSuspensions(draft, run_.facts.now);
    if (facts.start && draft.configuring_since && *draft.configuring_since < *facts.start)
      facts.allocated = draft.configuring_since;
    run_.facts.attempts.push_back(std::move(facts));
  }
  drafts_.clear();
  return true;
}

absl::Status RunLoader::AddJob(const JobKey& job) {
  if (absl::StatusOr<bool> added = AddComponent(job, std::nullopt); !added.ok()) return added.status();
  if (!het_job_) return absl::OkStatus();
  // The ids of components follow each other, and they are submitted as one.
  const std::int64_t leader = *het_job_;
  for (JobKey component{job.cluster, leader, job.from_s, job.until_s};; ++component.job_id) {
    const absl::StatusOr<bool> added = AddComponent(component, leader);
    if (!added.ok()) return added.status();
    if (!*added) break;
  }
  run_.info.job_id = leader;
  run_.info.job_id_text = Cat(leader);
  return absl::OkStatus();
}

absl::StatusOr<Run> RunLoader::Finish() {
  if (run_.facts.attempts.empty()) return absl::NotFoundError("nothing is known of it");
  JoinComponents(run_.facts.attempts);
  SettleOpenEnds(run_.facts);
  return std::move(run_);
}

}  // namespace

absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now) {
  AccountingReader accounting(db);
  return LoadRun(db, jobs, now, accounting);
}

absl::StatusOr<Run> LoadRun(Database& db, const std::vector<JobKey>& jobs, Ns now,
                            AccountingReader& accounting) {
  RunLoader loader(db, jobs, now, accounting);
  for (const JobKey& job : jobs) {
    if (absl::Status status = loader.AddJob(job); !status.ok()) return status;
  }
  return loader.Finish();
}

}  // namespace goodput
