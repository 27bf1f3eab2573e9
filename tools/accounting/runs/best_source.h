// A job may tell of the same thing several times: by marks, by a log that was imported, and by its output,
// which was followed. Of each the best is taken, never a mixture.
#pragma once

#include <vector>

#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Whether there is anything to choose from: asked once of a run, which may have a million files.
bool AnyLog(const std::vector<EvidenceSource>& sources);

// Leaves of an attempt's steps those of the best kind of source that has any (a mark, then an import, then
// its output), and so of its saves, its restores, and its phases of each name.
void TakeBestSource(const std::vector<EvidenceSource>& sources, AttemptFacts& attempt);

}  // namespace goodput
