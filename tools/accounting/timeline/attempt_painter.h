// What one allocated attempt claims of the timeline besides its steps: what Slurm did, and what its programs
// said they were doing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/painter.h"

namespace goodput {

// Everything one attempt claims, appended in order of precedence layer by layer.
class AttemptPainter {
 public:
  // The painter and the allocation must outlive it. `index`: of the attempt in the timeline.
  AttemptPainter(Painter& painter, const Allocation& allocation, int index)
      : painter_(painter), allocation_(allocation), index_(index) {}

  // Clipped to the allocation.
  void Paint(Ns begin, Ns end, Bucket bucket, std::string_view part, Evidence evidence, EvidenceRef from = {},
             EvidenceRef to = {}, std::string why = {});

 private:
  Painter& painter_;
  const Allocation& allocation_;
  int index_;
};

// How what a record says of the program is known.
Evidence EvidenceOf(const RunFacts& facts, const EvidenceRef& ref);
Evidence EvidenceOf(const RunFacts& facts, const StepRecord& step);

// Suspension, provisioning, launch and teardown.
void PaintAllocationPhases(const AttemptFacts& attempt, const Allocation& allocation, AttemptPainter& paint);

void PaintPhases(const std::vector<PhaseSpan>& phases, Bucket bucket, const RunFacts& facts,
                 AttemptPainter& paint);

// Of a program that never reached a step, starting up until the last thing it said, or until it died of it.
// `instrumented`: a program of the run said something.
void PaintStartup(const Program& program, bool instrumented, const RunFacts& facts, AttemptPainter& paint);

}  // namespace goodput
