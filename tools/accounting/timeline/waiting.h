// The time that a run waits without an allocation: held, backing off after a requeue, queueing.
#pragma once

#include <vector>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/painter.h"

namespace goodput {

// Claims of one attempt's wait, in order of precedence. `free_from`: the end of what the run did before (its
// first submit, for the first attempt); `same_job`: the previous attempt was of the same job, so this one is
// a requeue.
std::vector<Interval> WaitingClaims(const AttemptFacts& attempt, int index, Ns free_from, bool same_job,
                                    Ns now);

// No job of the run was submitted from `begin` until attempt `index`.
Interval ResubmitGapClaim(const AttemptFacts& attempt, int index, Ns begin);

// In a federation, after another cluster started the job until it is requeued.
Interval RanElsewhereClaim(const AttemptFacts& attempt, int index, Ns begin, Ns requeued);

}  // namespace goodput
