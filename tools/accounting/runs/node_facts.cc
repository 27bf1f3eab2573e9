#include "tools/accounting/runs/node_facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/tables/imports.h"
#include "sql/text.h"
#include "tools/accounting/timeline/hang_evidence.h"
#include "tools/accounting/timeline/hardware.h"
#include "tools/accounting/timeline/host_use.h"
#include "tools/accounting/timeline/saves.h"
#include "tools/base/hostlist.h"
#include "tools/base/mark_message.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

// The plugin takes no more.
constexpr double kMostSpares = 1 << 24;

// From "job_prolog" and so on; absent: not a record of slurmd.
std::optional<NodeEvent::Kind> NodeEventKind(std::string_view kind) {
  if (kind == kind::kJobProlog) return NodeEvent::Kind::kProlog;
  if (kind == kind::kStepStart) return NodeEvent::Kind::kStepStart;
  if (kind == kind::kTaskStart) return NodeEvent::Kind::kTaskStart;
  if (kind == kind::kTaskExec) return NodeEvent::Kind::kTaskExec;
  if (kind == kind::kTaskExit) return NodeEvent::Kind::kTaskExit;
  if (kind == kind::kStepEnd) return NodeEvent::Kind::kStepEnd;
  if (kind == kind::kJobEpilog) return NodeEvent::Kind::kEpilog;
  return std::nullopt;
}

// Adds an event of a large job. Nodes of a job do the same, so most begin and end one step and one task each.
NodeEvent& NextEvent(AttemptFacts& attempt) {
  std::vector<NodeEvent>& events = attempt.node_events;
  if (events.size() == events.capacity()) {
    constexpr std::size_t kOfANode = 4;
    const auto nodes = static_cast<std::size_t>(std::clamp(attempt.nodes, 0, 1 << 16));
    events.reserve(events.size() + std::max({events.size() / 2, kOfANode * nodes, std::size_t{16}}));
  }
  return events.emplace_back();
}

}  // namespace

NodeFacts::Hook NodeFacts::HookOf(const EventView& event) {
  const std::optional<NodeEvent::Kind> kind = NodeEventKind(event.kind);
  if (!kind) return {};
  return {kind, StepCode(event.Text(key::kSlurmStep)), event.HasOpt()};
}

void NodeFacts::Add(const EventView& event, Ns t) {
  const Hook& hook = hooks_.Of(event, [&] { return HookOf(event); });
  if (hook.kind) return AddHook(event, hook, t);
  AttemptFacts* attempt = drafts_.At(t);
  if (attempt == nullptr) return;
  if (event.kind == kind::kMark || event.kind == kind::kProgramStart) {
    AddMark(event, t, *attempt);
  } else if (event.kind == kind::kSignal) {
    AddSignal(event, t, *attempt);
  } else if (event.kind == kind::kHost) {
    AddHostNotice(event, t, *attempt);
  } else if (event.kind == kind::kCollective) {
    AddCollective(event, t, *attempt);
  } else if (event.kind == kind::kHangEvidence) {
    AddHangEvidence(event, t, *attempt);
  } else if (event.kind == kind::kHardware) {
    AddHardwareError(event, t, *attempt);
  } else if (event.kind == kind::kGpuUse) {
    AddGpuUse(event, t, *attempt);
  } else if (event.kind == kind::kRefused) {
    attempt->refused_records += event.Int(key::kCount).value_or(0);
  } else if (event.kind == kind::kCheckpoint) {
    AddCheckpointFile(event, t, *attempt);
  }
}

void NodeFacts::AddHook(const EventView& event, const Hook& hook, Ns t) {
  AttemptFacts* attempt = drafts_.At(t);
  if (attempt == nullptr) return;
  if (source_ < 0 || source_id_ != event.source_id) {
    source_id_ = event.source_id;
    source_ = sources_.Ref(event).source;
    node_ = nodes_.Of(event.node);
  }
  const Place place{t, event.source_id, event.offset};
  const NodeEvent::Kind kind = *hook.kind;
  const bool prolog = kind == NodeEvent::Kind::kProlog;
  if (prolog) SeeRestart(*attempt, place, event.Int(key::kRestart));
  // A prolog adds nothing to an attempt, and an epilog only if the end was not seen.
  if (!prolog && (ends_unseen_ || kind != NodeEvent::Kind::kEpilog)) {
    NodeEvent& added = NextEvent(*attempt);
    added.t = t;
    added.kind = kind;
    added.node = node_;
    added.slurm_step = hook.slurm_step;
    added.task = static_cast<std::int32_t>(event.Int(key::kTask).value_or(0));
    if (kind == NodeEvent::Kind::kTaskExit || kind == NodeEvent::Kind::kStepEnd) {
      if (const auto code = event.Int(key::kExitCode)) added.exit_code = static_cast<int>(*code);
      if (const auto signal = event.Int(key::kSignal)) added.signal = static_cast<int>(*signal);
    }
    added.ref = {source_, event.offset};
  }
  if (hook.slurm_step != kExternStep && kind == NodeEvent::Kind::kStepStart) ++attempt->steps_on_nodes;
  if (hook.slurm_step != kExternStep && kind == NodeEvent::Kind::kStepEnd) AddHostUse(event, *attempt);
  if (hook.declares) SeeDeclared(event, place, *attempt);
}

void NodeFacts::SeeDeclared(const EventView& event, const Place& place, AttemptFacts& attempt) {
  if (event.shape == EventView::kNoShape) {
    declared_.push_back({place, &attempt, event.Record()});
    return;
  }
  const auto [known, fresh] = declaring_.try_emplace({&attempt, event.shape}, Declaring{place, place, ""});
  Declaring& all = known->second;
  all.last = std::max(all.last, place);
  if (!fresh && !(place < all.first)) return;
  all.first = place;
  all.record = event.Record();
}

void NodeFacts::SeeRestart(AttemptFacts& attempt, const Place& place,
                           const std::optional<std::int64_t>& restart) {
  if (!restart) return;
  const auto [first, fresh] = restarts_.try_emplace(&attempt, place, *restart);
  if (!fresh && place < first->second.first) first->second = {place, *restart};
}

void NodeFacts::SettleDeclared() {
  for (const auto& [attempt, first] : restarts_) {
    // The watch may have looked neither while the job waited nor while it ran.
    if (!attempt->restart) attempt->restart = static_cast<int>(first.second);
  }
  for (auto& [of, all] : declaring_) {
    if (all.first < all.last) declared_.push_back({all.last, of.first, all.record});
    declared_.push_back({all.first, of.first, std::move(all.record)});
  }
  std::stable_sort(declared_.begin(), declared_.end(),
                   [](const Declared& a, const Declared& b) { return a.place < b.place; });
  for (const Declared& declared : declared_) {
    if (reader_.Parse(declared.record)) AddDeclared(*declared.attempt);
  }
  restarts_.clear();
  declared_.clear();
  declaring_.clear();
}

// What the job declared at submission, including the site's defaults.
void NodeFacts::AddDeclared(AttemptFacts& attempt) {
  const std::string run_name = reader_.OptText(key::kRun);
  if (!run_name.empty()) run_.info.run = run_name;
  if (auto tags = reader_.OptTexts(key::kTags); !tags.empty()) run_.info.tags = std::move(tags);
  if (!reader_.OptText(key::kCheckpointDir).empty()) run_.info.checkpoint_dir = true;
  // The first record of a job is its prolog's, which a program cannot forge.
  DeclaredFlops flops{reader_.OptNumber(key::kFlopsPerStep), reader_.OptText(key::kModel),
                      reader_.OptText(key::kPrecision)};
  if (flops.any() && !flops_declared_) {
    run_.flops.push_back(std::move(flops));
    flops_declared_ = true;
  }
  const std::optional<double> spares = reader_.OptNumber(key::kSpares);
  if (spares && *spares >= 0 && *spares <= kMostSpares && !attempt.spares)
    attempt.spares = static_cast<std::int64_t>(*spares);
  for (const absl::string_view name :
       absl::StrSplit(reader_.OptText(key::kCheckpointSignal), ',', absl::SkipEmpty())) {
    const std::optional<int> signo = ParseSignal({name.data(), name.size()});
    std::vector<int>& known = attempt.checkpoint_signals;
    if (signo && std::find(known.begin(), known.end(), *signo) == known.end()) known.push_back(*signo);
  }
}

namespace {

Mark::Kind MarkKind(std::string_view what) {
  if (what == "checkpoint") return Mark::Kind::kCheckpoint;
  if (what == "restore") return Mark::Kind::kRestore;
  if (what == "stop") return Mark::Kind::kStop;
  return what == "step" ? Mark::Kind::kStepEnd : Mark::Kind::kPhase;
}

// A program may mark the end of each of a million steps.
void AddOrReplace(Mark mark, std::vector<Mark>& marks) {
  const bool replaces = !marks.empty() && mark.kind == Mark::Kind::kStepEnd &&
                        marks.back().kind == Mark::Kind::kStepEnd &&
                        marks.back().slurm_step == mark.slurm_step && marks.back().task == mark.task &&
                        marks.back().train_step < mark.train_step;
  if (replaces) marks.pop_back();
  marks.push_back(std::move(mark));
}

}  // namespace

void NodeFacts::AddWorld(const EventView& event, Ns t, AttemptFacts& attempt) {
  attempt.worlds.push_back({t, event.Int(key::kWorld).value_or(0), event.Int(key::kWanted),
                            event.Int(key::kSpares), event.Int(key::kTokens), sources_.Ref(event)});
}

NodeFacts::MarkText NodeFacts::MarkTextOf(const EventView& event) {
  MarkText text;
  const std::string what = event.Text(key::kMark);
  text.kind = event.kind == kind::kProgramStart ? Mark::Kind::kStart : MarkKind(what);
  text.world = event.kind == kind::kMark && what == "world";
  text.begin = text.kind == Mark::Kind::kStart || event.Text(key::kEdge) == "begin";
  text.name = event.Text(key::kName);
  text.slurm_step = StepCode(event.Text(key::kSlurmStep));
  return text;
}

void NodeFacts::AddMark(const EventView& event, Ns t, AttemptFacts& attempt) {
  const MarkText& text = marks_.Of(event, [&] { return MarkTextOf(event); });
  if (text.world) return AddWorld(event, t, attempt);
  Mark mark;
  mark.t = t;
  mark.kind = text.kind;
  mark.begin = text.begin;
  mark.train_step = event.Int(key::kTrainStep);
  // Begins of steps are stored separately (sql/tables/step_store.h).
  if (mark.kind == Mark::Kind::kStepEnd && (mark.begin || !mark.train_step)) return;
  mark.name = text.name;
  mark.slurm_step = text.slurm_step;
  mark.task = static_cast<std::int32_t>(event.Int(key::kTask).value_or(0));
  mark.ref = sources_.Ref(event);
  if (mark.kind == Mark::Kind::kStepEnd && mark.name == kOfRank) {
    attempt.rank_ends.push_back({mark.t, *mark.train_step, mark.slurm_step, mark.task, mark.ref});
    return;
  }
  if (mark.kind == Mark::Kind::kStepEnd && mark.name == kStepFailed) {
    mark.kind = Mark::Kind::kStepFailed;
  } else if (mark.kind == Mark::Kind::kStepEnd) {
    attempt.step_ends.push_back({mark.t, *mark.train_step, mark.slurm_step, mark.task, mark.ref});
  }
  if (mark.kind == Mark::Kind::kCheckpoint) return pairs_.Add(std::move(mark), attempt);
  AddOrReplace(std::move(mark), attempt.marks);
}

void NodeFacts::AddSignal(const EventView& event, Ns t, AttemptFacts& attempt) {
  const std::optional<std::int64_t> signo = event.Int(key::kSignal);
  if (!signo) return;
  SignalFact signal;
  signal.t = signal.last_t = t;
  signal.signo = static_cast<int>(*signo);
  signal.count = event.Int(key::kCount).value_or(1);
  const auto first_m = event.Int(key::kMonotonic);
  const auto last_m = event.Int(key::kLastMonotonic);
  if (first_m && last_m && *last_m > *first_m) signal.last_t += *last_m - *first_m;
  signal.node = event.Text(key::kNode);
  signal.slurm_step = StepCode(event.Text(key::kSlurmStep));
  signal.task = static_cast<std::int32_t>(event.Int(key::kTask).value_or(-1));
  signal.target = event.Text(key::kTarget) == "task" ? SignalFact::Target::kTask : SignalFact::Target::kChild;
  signal.pid = event.Int(key::kPid).value_or(0);
  signal.comm = event.Text(key::kComm);
  signal.sender = event.Text(key::kSender);
  if (const auto handled = event.Int(key::kHandled)) signal.handled = *handled != 0;
  signal.ignored = event.Int(key::kIgnored).value_or(0) != 0;
  signal.ref = sources_.Ref(event);
  attempt.signals.push_back(std::move(signal));
}

void NodeFacts::AddCheckpointFile(const EventView& event, Ns t, AttemptFacts& attempt) {
  if (event.Text(key::kEdge).empty()) {
    attempt.checkpoints_unseen = event.Text(key::kProblem);
    return;
  }
  attempt.checkpoint_files.push_back({t, event.Text(key::kEdge) == "begin", event.Text(key::kName),
                                      event.Text(key::kLayout), event.Int(key::kTrainStep),
                                      sources_.Ref(event),
                                      std::max<Ns>(0, event.Int(key::kEarlierNs).value_or(0))});
}

void NodeFacts::AddCollective(const EventView& event, Ns t, AttemptFacts& attempt) {
  CollectiveTest test;
  test.t = t;
  test.bytes = event.Int(key::kBytes).value_or(0);
  test.algbw = event.Int(key::kAlgbw).value_or(0);
  test.busbw = event.Int(key::kBusbw).value_or(0);
  test.slurm_step = StepCode(event.Text(key::kSlurmStep));
  test.ref = sources_.Ref(event);
  test.nodes = ExpandHostList(event.Text(key::kHosts));
  if (test.bytes <= 0 || test.busbw <= 0) return;
  std::vector<CollectiveTest>& tests = attempt.collectives;
  // The table goes from small to large messages.
  const bool first = event.Text(key::kEdge) == "begin";
  const auto same = [&](const CollectiveTest& last) {
    return last.nodes == test.nodes && (!test.nodes.empty() || last.slurm_step == test.slurm_step);
  };
  const bool goes_on = !first && !tests.empty() && same(tests.back()) && tests.back().bytes < test.bytes;
  if (goes_on) tests.pop_back();
  tests.push_back(std::move(test));
}

void NodeFacts::AddHangEvidence(const EventView& event, Ns t, AttemptFacts& attempt) {
  // A node looks once in a while, at a few processes.
  constexpr std::size_t kMost = 1 << 16;
  const std::string source = event.Text(key::kSource);
  const std::optional<HangEvidence::Source> known = HangSourceOf(source);
  if (!known || attempt.hang_evidence.size() >= kMost) return;
  HangEvidence found;
  found.t = t;
  const std::int64_t quiet = event.t_ns - event.Int(key::kSinceNs).value_or(event.t_ns);
  found.since = t - std::clamp<std::int64_t>(quiet, 0, std::max<Ns>(0, t));
  found.source = *known;
  found.node = event.Text(key::kNode);
  found.task = event.Int(key::kTask);
  found.pid = event.Int(key::kPid).value_or(0);
  found.program = event.Text(key::kComm);
  found.state = event.Text(key::kState);
  found.wchan = event.Text(key::kWchan);
  found.threads = std::max<std::int64_t>(0, event.Int(key::kThreads).value_or(0));
  const std::int64_t look_ms = event.Int(key::kLookMs).value_or(0);
  const std::optional<std::int64_t> cpu_ms = event.Int(key::kCpuMs);
  if (cpu_ms && *cpu_ms >= 0 && look_ms > 0)
    found.processor = static_cast<double>(*cpu_ms) / static_cast<double>(look_ms);
  found.text = event.Text(key::kText);
  found.problem = event.Text(key::kProblem);
  found.ref = sources_.Ref(event);
  attempt.hang_evidence.push_back(std::move(found));
}

void NodeFacts::AddHardwareError(const EventView& event, Ns t, AttemptFacts& attempt) {
  constexpr std::size_t kMost = 1 << 16;
  const std::optional<HardwareError::Kind> kind = HardwareKindOf(event.Text(key::kClass));
  if (!kind || attempt.hardware_errors.size() >= kMost) return;
  HardwareError error;
  error.t = error.last_t = t;
  error.kind = *kind;
  error.node = event.Text(key::kNode);
  error.device = event.Text(key::kDevice);
  error.code = event.Int(key::kCode);
  error.text = event.Text(key::kText);
  error.count = std::max<std::int64_t>(1, event.Int(key::kCount).value_or(1));
  const auto first_m = event.Int(key::kMonotonic);
  const auto last_m = event.Int(key::kLastMonotonic);
  if (first_m && last_m && *last_m > *first_m) error.last_t += *last_m - *first_m;
  error.ref = sources_.Ref(event);
  attempt.hardware_errors.push_back(std::move(error));
}

void NodeFacts::AddHostUse(const EventView& event, AttemptFacts& attempt) {
  const auto bounded = [&](std::string_view name) {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    const std::optional<std::int64_t> value = event.Int(name);
    return value && *value >= 0 && *value <= kMost ? value : std::nullopt;
  };
  HostUse use;
  use.measured = 1;
  use.cpu_us = bounded(key::kCpuUs);
  use.waited_only = !use.cpu_us;
  if (!use.cpu_us) use.cpu_us = bounded(key::kWaitedCpuUs);
  use.memory_peak = bounded(key::kMemPeak);
  use.largest_rss = bounded(key::kWaitedRss);
  use.read_bytes = bounded(key::kReadBytes);
  use.written_bytes = bounded(key::kWrittenBytes);
  if (use.cpu_us || use.memory_peak || use.read_bytes || use.written_bytes) AddUse(use, attempt.host_use);
}

// The times are consecutive, and the last of them ends at `t`.
void NodeFacts::AddGpuUse(const EventView& event, Ns t, AttemptFacts& attempt) {
  constexpr std::int64_t kMostMs = 24LL * 3600 * 1000;
  constexpr Ns kMillisecond = 1'000'000;
  RecordReader record;
  if (!record.Parse(event.Record())) return;
  const std::vector<std::int64_t> ms = record.Ints(key::kMs);
  const std::vector<std::int64_t> util = record.Ints(key::kUtil);
  const std::vector<std::int64_t> busy = util.empty() ? record.Ints(key::kBusy) : util;
  const std::vector<std::int64_t> tensor = record.Ints(key::kTensor);
  const std::vector<std::int64_t> mj = record.Ints(key::kMj);
  const auto of = [&](const std::vector<std::int64_t>& values, std::size_t i) {
    return values.size() == ms.size() ? std::optional<std::int64_t>(values[i]) : std::nullopt;
  };
  GpuUseSpan span;
  span.gpus = record.Int(key::kGpus).value_or(0);
  span.begin = t;
  for (std::size_t i = ms.size(); i-- > 0;) {
    if (ms[i] <= 0 || ms[i] > kMostMs) return;
    span.end = span.begin;
    span.begin -= ms[i] * kMillisecond;
    span.busy = of(busy, i);
    span.tensor = of(tensor, i);
    span.energy_mj = of(mj, i);
    attempt.gpu_use.Add(span);
  }
  if (!util.empty()) attempt.gpu_use.BusyByDriver();
  if (const auto used = record.Int(key::kMemMib))
    attempt.gpu_use.SeeMemory(*used, record.Int(key::kMemOfMib));
}

void NodeFacts::AddHostNotice(const EventView& event, Ns t, AttemptFacts& attempt) {
  const std::string what = event.Text(key::kNotice);
  if (what == "provisioning" || what == "zone") return AddMachineFact(event, what == "zone", attempt);
  if (what == "kernel_log") {
    if (event.Text(key::kValue) == "read") attempt.kernel_log_nodes.push_back(event.Text(key::kNode));
    return;
  }
  const bool known = what == "maintenance" || what == "preempted" || what == "upcoming_maintenance";
  if (!known) return;
  HostNotice notice;
  notice.t = t;
  notice.kind = what == "maintenance" ? HostNotice::Kind::kMaintenance
                : what == "preempted" ? HostNotice::Kind::kPreempted
                                      : HostNotice::Kind::kUpcomingMaintenance;
  notice.value = event.Text(key::kValue);
  notice.node = event.Text(key::kNode);
  const auto time = [&](std::string_view name) -> std::optional<Ns> {
    constexpr std::int64_t kYears = 100LL * 366 * 24 * 3600;  // the range of nanoseconds
    const std::optional<std::int64_t> seconds = event.Int(name);
    if (!seconds || *seconds < 0 || *seconds > kYears) return std::nullopt;
    return *seconds * kSecond;
  };
  notice.window = time(key::kWindowS);
  notice.window_end = time(key::kWindowEndS);
  notice.ref = sources_.Ref(event);
  attempt.host_notices.push_back(std::move(notice));
}

void NodeFacts::AddMachineFact(const EventView& event, bool zone, AttemptFacts& attempt) {
  MachineFact fact;
  fact.node = event.Text(key::kNode);
  (zone ? fact.zone : fact.model) = event.Text(key::kValue);
  attempt.machines.push_back(std::move(fact));
}

void NodeFacts::AddStepMarks(const std::vector<StepRow>& steps) {
  const StepRow* last = nullptr;
  EvidenceRef ref;
  std::int32_t code = kNoStep;
  for (const StepRow& step : steps) {
    AttemptFacts* attempt = drafts_.At(step.t_ns);
    if (attempt == nullptr) continue;
    // Most are of the same Slurm step and file as the one before.
    if (last == nullptr || last->source_id != step.source_id) ref = sources_.Ref(step.source_id, step.offset);
    if (last == nullptr || last->slurm_step != step.slurm_step) code = StepCode(step.slurm_step);
    last = &step;
    ref.offset = step.offset;
    if (attempt->step_marks.empty()) attempt->step_marks.reserve(steps.size());
    attempt->step_marks.push_back(
        {step.t_ns, step.train_step, code, static_cast<std::int32_t>(step.task), ref});
  }
}

absl::Status NodeFacts::AddSteps(JobSteps steps, const std::vector<Ns>& block_shifts) {
  AddStepMarks(steps.marks);
  std::vector<StepBlockRow>& blocks = steps.blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    StepBlockRow& row = blocks[i];
    AttemptFacts* attempt = drafts_.At(row.first.t_ns + block_shifts[i]);
    if (attempt == drafts_.At(row.last.t_ns + block_shifts[i])) {
      if (attempt == nullptr) continue;
      const std::int32_t source = sources_.Ref(row.source_id, row.first.offset).source;
      attempt->step_blocks.push_back(step_reader_.Add(std::move(row), source, block_shifts[i]));
      continue;
    }
    // A file may contain the end of one attempt and the begin of the next.
    ASSIGN_OR_RETURN(const std::vector<PackedStep> packed, LoadStepsOfBlock(db_, row));
    std::vector<StepRow> marks;
    marks.reserve(packed.size());
    for (const PackedStep& step : packed) {
      marks.push_back({row.source_id, step.offset, step.t_ns + block_shifts[i], row.clock_ns, step.step,
                       step.task, row.slurm_step});
    }
    AddStepMarks(marks);
  }
  return absl::OkStatus();
}

absl::Status NodeFacts::AddImportedMarks(const JobKey& job) {
  absl::Status loaded = absl::OkStatus();
  std::optional<std::int64_t> last_source_id;
  EvidenceRef ref;
  std::string slurm_step;
  std::int32_t code = StepCode(slurm_step);
  absl::Status status = ReadImportedMarks(db_, job, [&](std::int64_t source_id, const PackedMark& packed) {
    AttemptFacts* attempt = drafts_.At(packed.t_ns);
    if (loaded.ok() && source_id != last_source_id) loaded = sources_.Load(source_id);
    if (attempt == nullptr || !loaded.ok()) return;
    if (source_id != last_source_id) ref = sources_.Ref(source_id, 0);
    last_source_id = source_id;
    ref.offset = packed.offset;
    Mark mark;
    mark.t = packed.t_ns;
    mark.kind = packed.kind == PackedMark::Kind::kCheckpoint ? Mark::Kind::kCheckpoint
                : packed.kind == PackedMark::Kind::kRestore  ? Mark::Kind::kRestore
                : packed.kind == PackedMark::Kind::kStepEnd  ? Mark::Kind::kStepEnd
                                                             : Mark::Kind::kPhase;
    mark.begin = packed.begin;
    mark.train_step = packed.step;
    mark.name = packed.name;
    // Most are of the same Slurm step as the one before.
    if (packed.slurm_step != slurm_step) {
      slurm_step = packed.slurm_step;
      code = StepCode(slurm_step);
    }
    mark.slurm_step = code;
    mark.task = static_cast<std::int32_t>(packed.task);
    mark.ref = ref;
    if (mark.kind == Mark::Kind::kStepEnd && mark.name == kOfRank) {
      attempt->rank_ends.push_back(
          {mark.t, mark.train_step.value_or(0), mark.slurm_step, mark.task, mark.ref});
      return;
    }
    if (mark.kind == Mark::Kind::kStepEnd && mark.name == kStepFailed) mark.kind = Mark::Kind::kStepFailed;
    pairs_.Add(std::move(mark), *attempt);
  });
  return status.ok() ? loaded : status;
}

void NodeFacts::AddHeartbeats(const std::vector<Heartbeat>& heartbeats) {
  for (const Heartbeat& heartbeat : heartbeats) {
    AttemptFacts* attempt = drafts_.At(heartbeat.since_ns);
    if (attempt != nullptr) attempt->last_seen.push_back({heartbeat.node, heartbeat.last_seen_ns});
  }
}

}  // namespace goodput
