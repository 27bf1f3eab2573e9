#include "tools/accounting/timeline/attempt_painter.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace goodput {

void AttemptPainter::Paint(Ns begin, Ns end, Bucket bucket, std::string_view part, Evidence evidence,
                           EvidenceRef from, EvidenceRef to, std::string why) {
  painter_.Paint({std::max(begin, allocation_.begin), std::min(end, allocation_.end), bucket,
                  std::string(part), evidence, index_, from, to, std::move(why)});
}

void AttemptPainter::PaintSaves(const SaveRanges& saves, const RunFacts& facts) {
  for (auto save = saves.begin(); save != saves.end(); ++save) {
    const SaveBlock& block = save.block();
    const Evidence evidence = EvidenceOf(facts, block.BeginRef(*save));
    const bool within = save->begin >= allocation_.begin && save->end <= allocation_.end;
    if (within && painter_.PaintSave(block, save.index(), index_, evidence)) continue;
    Paint(save->begin, save->end, Bucket::kCheckpointSave, "", evidence, block.BeginRef(*save),
          block.EndRef(*save));
  }
}

Evidence EvidenceOf(const RunFacts& facts, const EvidenceRef& ref) {
  return facts.EvidenceOf(ref);
}

Evidence EvidenceOf(const RunFacts& facts, const StepRecord& step) {
  return step.evidence ? *step.evidence : EvidenceOf(facts, step.ref);
}

namespace {

// A period in which it is known what a program that is not alive yet was waiting for.
struct LaunchPart {
  TimeSpan span;
  const char* name = "";
  EvidenceRef from;
  EvidenceRef to;
};

// Orders events at the same time independently of the order of the facts.
auto InTime(const NodeEvent& event) {
  return std::tie(event.t, event.node, event.ref.source, event.ref.offset);
}

// `step_setup`: Slurm has begun a step of the program but not released any of its tasks: a container's image
// is imported and unpacked (pyxis, enroot), a step prolog runs, files are broadcast. `script`: the batch
// script runs before, between or after its sruns.
std::vector<LaunchPart> LaunchParts(const AttemptFacts& attempt, const Allocation& allocation,
                                    const std::vector<std::int32_t>& program_steps) {
  std::vector<LaunchPart> parts;
  for (const std::int32_t step : program_steps) {
    if (step < 0) continue;
    const NodeEvent* begin = nullptr;
    for (const NodeEvent& event : attempt.node_events) {
      const bool its = event.kind == NodeEvent::Kind::kStepStart && event.slurm_step == step;
      if (its && (begin == nullptr || InTime(event) < InTime(*begin))) begin = &event;
    }
    const TaskLife* first = nullptr;
    for (const TaskLife& life : allocation.lives) {
      if (life.slurm_step == step && (first == nullptr || life.begin < first->begin)) first = &life;
    }
    // A step without any released task was being set up until it ended.
    if (begin != nullptr)
      parts.push_back({{begin->t, first != nullptr ? first->begin : allocation.end},
                       "step_setup",
                       begin->ref,
                       first != nullptr ? first->started : EvidenceRef{}});
  }
  if (std::find(program_steps.begin(), program_steps.end(), kBatchStep) == program_steps.end()) {
    for (const TaskLife& life : allocation.lives) {
      if (life.slurm_step == kBatchStep)
        parts.push_back(
            {{life.begin, life.end.value_or(allocation.end)}, "script", life.started, life.exited});
    }
  }
  return parts;
}

// Slurm itself needs this long to end a step.
constexpr Ns kLeastStepTeardown = kSecond / 10;

// From the exit of a step's last task until Slurm has ended the step on all nodes: plugins remove its
// container.
std::vector<LaunchPart> StepTeardowns(const AttemptFacts& attempt, const Allocation& allocation,
                                      const std::vector<std::int32_t>& program_steps) {
  std::vector<LaunchPart> parts;
  for (const std::int32_t step : program_steps) {
    const TaskLife* last = nullptr;
    bool all_ended = true;
    for (const TaskLife& life : allocation.lives) {
      if (life.slurm_step != step) continue;
      if (!life.end || !life.exit_time) all_ended = false;
      if (life.end && (last == nullptr || *life.end > *last->end)) last = &life;
    }
    const NodeEvent* end = nullptr;
    for (const NodeEvent& event : attempt.node_events) {
      const bool its = event.kind == NodeEvent::Kind::kStepEnd && event.slurm_step == step;
      if (its && (end == nullptr || InTime(event) > InTime(*end))) end = &event;
    }
    if (step >= 0 && all_ended && last != nullptr && end != nullptr &&
        end->t - *last->end >= kLeastStepTeardown)
      parts.push_back({{*last->end, end->t}, "step", last->exited, end->ref});
  }
  return parts;
}

}  // namespace

void PaintAllocationPhases(const AttemptFacts& attempt, const Allocation& allocation, AttemptPainter& paint) {
  for (const Suspension& suspension : attempt.suspended) {
    paint.Paint(suspension.begin, suspension.end, Bucket::kSuspended, "",
                suspension.placed ? attempt.evidence : Evidence::kInferred, {}, {},
                suspension.placed ? "" : "its length is known, but not when it began");
  }
  if (allocation.lives.empty() && !attempt.lacks.empty()) {
    // Nodes that came up waited for those that the cloud did not provide.
    const MachineLack& lack = attempt.lacks.front();
    paint.Paint(allocation.begin, allocation.end, Bucket::kProvisioning, "", Evidence::kScheduler, {}, {},
                lack.node.empty() ? "a machine was not provided: " + lack.reason
                                  : "node " + lack.node + " got no machine: " + lack.reason);
  }
  if (allocation.ready) {
    paint.Paint(allocation.begin, *allocation.ready, Bucket::kProvisioning, "", Evidence::kScheduler, {},
                allocation.ready_ref);
  }
  if (allocation.teardown) {
    paint.Paint(*allocation.teardown, allocation.end, Bucket::kTeardown, "", Evidence::kScheduler,
                allocation.teardown_ref);
  }
  if (allocation.lives.empty()) return;
  const std::vector<std::int32_t> program_steps = ProgramSteps(attempt, allocation);
  const std::vector<LaunchPart> parts = LaunchParts(attempt, allocation, program_steps);
  const std::vector<LaunchPart> teardowns = StepTeardowns(attempt, allocation, program_steps);
  const auto launch = [&](Ns from, Ns to) {
    if (from >= to) return;
    for (const LaunchPart& part : teardowns) {
      paint.Paint(std::max(from, part.span.begin), std::min(to, part.span.end), Bucket::kTeardown, part.name,
                  Evidence::kScheduler, part.from, part.to);
    }
    for (const LaunchPart& part : parts) {
      paint.Paint(std::max(from, part.span.begin), std::min(to, part.span.end), Bucket::kLaunch, part.name,
                  Evidence::kScheduler, part.from, part.to);
    }
    paint.Paint(from, to, Bucket::kLaunch, "", Evidence::kScheduler);
  };
  Ns from = allocation.ready.value_or(allocation.begin);
  for (const TimeSpan& alive : AliveSpans(attempt, allocation, program_steps)) {
    launch(from, alive.begin);
    from = std::max(from, alive.end);
  }
  launch(from, allocation.teardown.value_or(allocation.end));
}

void PaintPhases(const std::vector<PhaseSpan>& phases, Bucket bucket, const RunFacts& facts,
                 AttemptPainter& paint, const std::string& why) {
  for (const PhaseSpan& phase : phases) {
    paint.Paint(phase.begin, phase.end, bucket, phase.name,
                phase.evidence ? *phase.evidence : EvidenceOf(facts, phase.from), phase.from, phase.to, why);
  }
}

void PaintStartup(const IncarnationFacts& program, bool instrumented, const RunFacts& facts,
                  AttemptPainter& paint) {
  PaintPhases(program.startup_parts, Bucket::kStartup, facts, paint);
  const Incarnation& summary = program.summary;
  if (summary.first_step_begin) {
    paint.Paint(summary.begin, *summary.first_step_begin, Bucket::kStartup, "",
                EvidenceOf(facts, program.steps.front()), {}, program.steps.front().ref);
    return;
  }
  const bool exit_seen = summary.exit_code || summary.exit_signal;
  if (instrumented && summary.ended && exit_seen) {
    paint.Paint(summary.begin, summary.end, Bucket::kStartup, "", Evidence::kScheduler, {}, {},
                "the program ended before its first step");
  } else if (program.last_evidence) {
    paint.Paint(summary.begin, *program.last_evidence, Bucket::kStartup, "", Evidence::kMark);
  }
}

}  // namespace goodput
