// Builds the facts of a training run from a short description, and formats its timeline in the same way.
//
//   RunBuilder run;
//   run.Attempt().Submitted(0).Started(10).Ready(12);
//   run.Last().Srun(0, 15, 115, 0).Steps(0, 9, 15, 10).Ended(116, "COMPLETED");
//   EXPECT_EQ(run.Story(), "queue_other 0-10 | provisioning 10-12 | launch 12-15 | "
//                          "productive 15-115 | teardown 115-116");
//
// Times are seconds since the run's first moment.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "tools/accounting/runs/fact_nodes.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

inline constexpr Ns kRunBegan = 1'700'000'000 * kSecond;

inline Ns At(double seconds) {
  return kRunBegan + static_cast<Ns>(std::llround(seconds * 1e9));
}
inline double InSeconds(Ns ns) {
  return static_cast<double>(ns) / 1e9;
}

class AttemptBuilder {
 public:
  explicit AttemptBuilder(std::int64_t job_id) {
    facts.job_id = job_id;
    facts.state = "RUNNING";
    facts.nodes = 1;
  }

  AttemptBuilder& Submitted(double s) { return facts.submit = At(s), *this; }
  AttemptBuilder& Eligible(double s) { return facts.eligible = At(s), *this; }
  AttemptBuilder& Started(double s) { return facts.start = At(s), *this; }
  AttemptBuilder& Ended(double s, std::string state) {
    facts.end = At(s);
    facts.state = std::move(state);
    return *this;
  }
  AttemptBuilder& State(std::string state) { return facts.state = std::move(state), *this; }
  AttemptBuilder& Gpus(int gpus) { return facts.gpus = gpus, *this; }
  AttemptBuilder& Reason(std::string reason) { return facts.reason = std::move(reason), *this; }
  AttemptBuilder& Suspended(double from, double to) {
    return facts.suspended.push_back({At(from), At(to)}), *this;
  }
  AttemptBuilder& Preempted(double s) { return facts.preempt_time = At(s), *this; }
  // What the queue watch recorded from that moment on.
  AttemptBuilder& Waits(double from, std::string reason) {
    facts.pending.push_back({At(from), std::move(reason), Ref()});
    return *this;
  }

  // The extern step started: resources are up on this node.
  AttemptBuilder& Ready(double s, const std::string& node = "n1") {
    return Event(s, NodeEvent::Kind::kStepStart, node, kExternStep, -1);
  }
  AttemptBuilder& StepStarts(double s, std::int32_t slurm_step, const std::string& node = "n1") {
    return Event(s, NodeEvent::Kind::kStepStart, node, slurm_step, -1);
  }
  AttemptBuilder& TaskStarts(double s, std::int32_t slurm_step, std::int32_t task = 0,
                             const std::string& node = "n1") {
    Event(s, NodeEvent::Kind::kStepStart, node, slurm_step, -1);
    return Event(s, NodeEvent::Kind::kTaskStart, node, slurm_step, task);
  }
  AttemptBuilder& TaskExecutes(double s, std::int32_t slurm_step, std::int32_t task = 0) {
    return Event(s, NodeEvent::Kind::kTaskExec, "n1", slurm_step, task);
  }
  AttemptBuilder& StepEnds(double s, std::int32_t slurm_step) {
    return Event(s, NodeEvent::Kind::kStepEnd, "n1", slurm_step, -1);
  }
  AttemptBuilder& TaskExits(double s, std::int32_t slurm_step, int exit_code, std::int32_t task = 0,
                            const std::string& node = "n1") {
    Event(s, NodeEvent::Kind::kTaskExit, node, slurm_step, task);
    facts.node_events.back().exit_code = exit_code;
    return *this;
  }
  AttemptBuilder& TaskKilled(double s, std::int32_t slurm_step, int signal, std::int32_t task = 0,
                             const std::string& node = "n1") {
    Event(s, NodeEvent::Kind::kTaskExit, node, slurm_step, task);
    facts.node_events.back().signal = signal;
    return *this;
  }
  // One task from start to exit.
  AttemptBuilder& Srun(std::int32_t slurm_step, double from, double to, int exit_code) {
    return TaskStarts(from, slurm_step).TaskExits(to, slurm_step, exit_code);
  }
  AttemptBuilder& SrunKilled(std::int32_t slurm_step, double from, double to, int signal = 9) {
    return TaskStarts(from, slurm_step).TaskKilled(to, slurm_step, signal);
  }
  // The following marks belong to this step and task; the default is step 0, task 0.
  AttemptBuilder& In(std::int32_t slurm_step, std::int32_t task = 0) {
    slurm_step_ = slurm_step;
    task_ = task;
    return *this;
  }
  // The following marks are from this file of RunBuilder::Facts.
  AttemptBuilder& From(std::int32_t source) { return source_ = source, *this; }
  AttemptBuilder& Step(std::int64_t number, double s) {
    facts.step_marks.push_back({At(s), number, slurm_step_, task_, Ref()});
    return *this;
  }
  // Steps first..last of `seconds` each; the first begins at `from`.
  AttemptBuilder& Steps(std::int64_t first, std::int64_t last, double from, double seconds) {
    for (std::int64_t number = first; number <= last; ++number) {
      Step(number, from + static_cast<double>(number - first) * seconds);
    }
    return *this;
  }
  // The program reports that `step` is done.
  AttemptBuilder& StepDone(std::int64_t step, double s) {
    facts.step_ends.push_back({At(s), step, slurm_step_, task_, {source_, next_offset_}});
    return Say(Mark::Kind::kStepEnd, false, s, step, "");
  }
  // A launcher restarted the worker: the process that marks from now on began then.
  AttemptBuilder& ProcessBegan(double s) { return Say(Mark::Kind::kStart, true, s, std::nullopt, ""); }
  AttemptBuilder& SaysStop(double s) { return Say(Mark::Kind::kStop, true, s, std::nullopt, ""); }
  AttemptBuilder& SaveBegins(std::optional<std::int64_t> step, double s) {
    return Say(Mark::Kind::kCheckpoint, true, s, step, "");
  }
  AttemptBuilder& StepFails(std::int64_t step, double s) {
    return Say(Mark::Kind::kStepFailed, false, s, step, "");
  }
  AttemptBuilder& SaveEnds(std::optional<std::int64_t> step, double s) {
    return Say(Mark::Kind::kCheckpoint, false, s, step, "");
  }
  AttemptBuilder& SaveGoesOn(std::optional<std::int64_t> step, double s) {
    return Say(Mark::Kind::kCheckpoint, false, s, step, std::string(kInBackground));
  }
  AttemptBuilder& Save(std::optional<std::int64_t> step, double from, double to) {
    return SaveBegins(step, from).SaveEnds(step, to);
  }
  AttemptBuilder& PhaseBegins(const std::string& name, double s) {
    return Say(Mark::Kind::kPhase, true, s, std::nullopt, name);
  }
  AttemptBuilder& Phase(const std::string& name, double from, double to) {
    return PhaseBegins(name, from).Say(Mark::Kind::kPhase, false, to, std::nullopt, name);
  }
  AttemptBuilder& Restore(std::int64_t step, double from, double to) {
    return Say(Mark::Kind::kRestore, true, from, step, "").Say(Mark::Kind::kRestore, false, to, step, "");
  }

  // From then on so many GPUs step.
  AttemptBuilder& World(double s, std::int64_t stepping, std::optional<std::int64_t> wanted = std::nullopt,
                        std::optional<std::int64_t> spares = std::nullopt) {
    facts.worlds.push_back({At(s), stepping, wanted, spares, std::nullopt, Ref()});
    return *this;
  }
  // A signal for the task's own process; without `handled`, the process ended before that could be read.
  AttemptBuilder& Signal(double s, int signo, std::optional<bool> handled, std::int32_t task = 0,
                         const std::string& sender = "slurmstepd") {
    SignalFact signal;
    signal.t = signal.last_t = At(s);
    signal.signo = signo;
    signal.node = "n1";
    signal.slurm_step = slurm_step_;
    signal.task = task;
    signal.pid = 1000 + 100 * (slurm_step_ + 10) + task;
    signal.comm = "python3";
    signal.sender = sender;
    signal.handled = handled;
    signal.ref = Ref();
    facts.signals.push_back(signal);
    return *this;
  }
  // A signal for a process that the task started.
  AttemptBuilder& HelperSignal(double s, int signo, const std::string& comm, std::optional<bool> handled,
                               std::int32_t task = 0, const std::string& sender = "slurmstepd") {
    Signal(s, signo, handled, task, sender);
    facts.signals.back().target = SignalFact::Target::kChild;
    facts.signals.back().comm = comm;
    facts.signals.back().pid = next_helper_++;
    return *this;
  }
  AttemptBuilder& FileBegins(double s, const std::string& name, std::optional<std::int64_t> step) {
    facts.checkpoint_files.push_back({At(s), true, name, "megatron", step, Ref()});
    return *this;
  }
  AttemptBuilder& FileCompletes(double s, const std::string& name, std::optional<std::int64_t> step) {
    facts.checkpoint_files.push_back({At(s), false, name, "megatron", step, Ref()});
    return *this;
  }
  // A checkpoint after `step` that was written between `from` and `to`.
  AttemptBuilder& File(std::int64_t step, double from, double to) {
    const std::string name = "iter_" + std::to_string(step);
    return FileBegins(from, name, step).FileCompletes(to, name, step);
  }
  // The same, but its begin may be up to `earlier` seconds earlier.
  AttemptBuilder& FileOfUnknownBegin(std::int64_t step, double from, double to, double earlier) {
    const std::string name = "iter_" + std::to_string(step);
    FileBegins(from, name, step);
    facts.checkpoint_files.back().earlier = At(earlier) - At(0);
    return FileCompletes(to, name, step);
  }
  AttemptBuilder& LastSeenAlive(double s, const std::string& node = "n1") {
    facts.last_seen.push_back({node, At(s)});
    return *this;
  }

  AttemptFacts facts;

 private:
  EvidenceRef Ref() { return {source_, next_offset_ += 100}; }
  AttemptBuilder& Event(double s, NodeEvent::Kind kind, const std::string& node, std::int32_t slurm_step,
                        std::int32_t task) {
    NodeEvent event;
    event.t = At(s);
    event.kind = kind;
    event.node = nodes_.Of(node);
    event.slurm_step = slurm_step;
    event.task = task;
    event.ref = Ref();
    facts.node_events.push_back(event);
    return *this;
  }
  AttemptBuilder& Say(Mark::Kind kind, bool begin, double s, std::optional<std::int64_t> step,
                      const std::string& name) {
    Mark mark;
    mark.t = At(s);
    mark.kind = kind;
    mark.begin = begin;
    mark.train_step = step;
    mark.name = name;
    mark.slurm_step = slurm_step_;
    mark.task = task_;
    mark.ref = Ref();
    facts.marks.push_back(mark);
    return *this;
  }
  std::int32_t slurm_step_ = 0;
  std::int32_t task_ = 0;
  std::int32_t source_ = 0;
  std::int64_t next_offset_ = 0;
  FactNodes nodes_;
  std::int64_t next_helper_ = 100'000;
};

class RunBuilder {
 public:
  AttemptBuilder& Attempt(std::int64_t job_id = 1) { return attempts_.emplace_back(job_id); }
  // The last attempt.
  AttemptBuilder& Last() { return attempts_.back(); }
  RunBuilder& Now(double s) { return now_ = At(s), *this; }

  const RunFacts& Facts() {
    facts_ = RunFacts{};
    facts_.now = now_;
    facts_.sources = {"n1/boot.jsonl", "n2/boot.jsonl", "n3/boot.jsonl"};
    for (const AttemptBuilder& attempt : attempts_) facts_.attempts.push_back(attempt.facts);
    return facts_;
  }
  Timeline Build(const TimelineOptions& options = {}) { return BuildTimeline(Facts(), options); }
  Account Count() { return TakeAccount(Build()); }

  // "bucket begin-end | bucket.part begin-end | ..."; equal neighbours are joined.
  std::string Story() { return Tell(Build()); }
  static std::string Tell(const Timeline& timeline) {
    std::string story;
    std::string open;
    Ns begin = timeline.begin;
    Ns end = timeline.begin;
    const auto close = [&] {
      if (open.empty()) return;
      if (!story.empty()) story += " | ";
      story += open + " " + Moment(begin) + "-" + Moment(end);
    };
    for (const Interval& interval : timeline.intervals) {
      std::string name(BucketName(interval.bucket));
      if (!interval.part.empty()) name += "." + interval.part;
      if (name != open) {
        close();
        open = name;
        begin = interval.begin;
      }
      end = interval.end;
    }
    close();
    return story;
  }

 private:
  static std::string Moment(Ns t) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", InSeconds(t - kRunBegan));
    return text;
  }
  std::deque<AttemptBuilder> attempts_;
  RunFacts facts_;
  Ns now_ = At(1'000'000);
};

}  // namespace goodput
