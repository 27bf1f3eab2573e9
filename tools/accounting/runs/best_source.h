// Selects among several sources of the same fact (marks, an imported log, followed output) the best one;
// sources are never mixed.
#pragma once

#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Whether there is anything to select: asked once per run, since it may have a million files.
bool AnyLog(const std::vector<EvidenceSource>& sources);

// Keeps of an attempt's steps only those from the best source that has any (marks, then an import, then its
// output); likewise for saves, restores, and phases of each name.
void TakeBestSource(const std::vector<EvidenceSource>& sources, AttemptFacts& attempt);

}  // namespace goodput
