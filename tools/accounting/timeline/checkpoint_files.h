// Checkpoints as they appeared on disk, for programs that do not mark their saves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/facts.h"
#include "tools/accounting/timeline/incarnation_facts.h"

namespace goodput {

// One checkpoint, from its first file to its completion.
struct SavedFile {
  std::string name;
  std::optional<std::int64_t> step;  // the last step it holds, counted from 1: the number of steps done
  Ns begin = 0;
  std::optional<Ns> complete;
  EvidenceRef ref;           // of its begin
  EvidenceRef complete_ref;  // of its completion
  Ns earlier = 0;            // it may have begun up to this much earlier
};

// The checkpoints of an attempt, by begin. One that was seen only once complete begins then.
std::vector<SavedFile> PairFiles(const AttemptFacts& attempt);

// Adds the checkpoints that began in [begin, end) to the program's, unless it marked them itself; then a file
// only completes a save that has no mark for its end. If the program marks its steps but not this save, the
// save's duration is what its step took beyond the usual; returns true if such saves were added, and the
// steps must be measured again.
bool TakeFiles(const std::vector<SavedFile>& files, Ns begin, Ns end, IncarnationFacts& program);

// Warns of saves that may be missing: of jobs whose checkpoint directory could not be read, and of a file
// that each save overwrites if it was only seen at intervals.
void WarnOfUnseenSaves(const std::vector<const AttemptFacts*>& attempts, std::vector<std::string>& warnings);

}  // namespace goodput
