// Paints what one allocated attempt contributes to the timeline besides its steps: the phases of the
// allocation and of its programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/timeline/allocation.h"
#include "tools/accounting/timeline/incarnation_facts.h"
#include "tools/accounting/timeline/painter.h"

namespace goodput {

// The intervals of one attempt, painted layer by layer in order of precedence.
class AttemptPainter {
 public:
  // The painter and the allocation must outlive it. `index`: of the attempt in the timeline.
  AttemptPainter(Painter& painter, const Allocation& allocation, int index)
      : painter_(painter), allocation_(allocation), index_(index) {}

  // Clipped to the allocation.
  void Paint(Ns begin, Ns end, Bucket bucket, std::string_view part, Evidence evidence, EvidenceRef from = {},
             EvidenceRef to = {}, std::string why = {});
  void PaintSaves(const SaveRanges& saves, const RunFacts& facts);

 private:
  Painter& painter_;
  const Allocation& allocation_;
  int index_;
};

// The evidence for what a record says about the program.
Evidence EvidenceOf(const RunFacts& facts, const EvidenceRef& ref);
Evidence EvidenceOf(const RunFacts& facts, const StepRecord& step);

// Suspension, provisioning, launch and teardown.
void PaintAllocationPhases(const AttemptFacts& attempt, const Allocation& allocation, AttemptPainter& paint);

void PaintPhases(const std::vector<PhaseSpan>& phases, Bucket bucket, const RunFacts& facts,
                 AttemptPainter& paint, const std::string& why = {});

// For a program that never reached a step: startup until its last record, or until it died. `instrumented`: a
// program of the run sent marks.
void PaintStartup(const IncarnationFacts& program, bool instrumented, const RunFacts& facts,
                  AttemptPainter& paint);

}  // namespace goodput
