// Checkpoints as they appeared on disk, for programs that do not say when they save.
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
  std::optional<std::int64_t> step;  // the last it holds, counted from 1: as many steps were done
  Ns begin = 0;
  std::optional<Ns> complete;
  EvidenceRef ref;           // of its begin
  EvidenceRef complete_ref;  // of its completion
  Ns earlier = 0;            // it may have begun so much earlier
};

// Those of an attempt, by begin. One that was only seen complete begins then.
std::vector<SavedFile> PairFiles(const AttemptFacts& attempt);

// Adds those that began in [begin, end) to the program's checkpoints, unless it marked them itself: then a
// file says no more than when one it never marked complete was. Where the program marks its steps but not
// this save, the save took what its step took beyond the usual; returns true when such were added, and the
// steps have to be measured again.
bool TakeFiles(const std::vector<SavedFile>& files, Ns begin, Ns end, Program& program);

// Says which saves may be missing: of a job whose checkpoint directory could not be looked into, and of a
// file that each save replaces where only a look now and then tells of it.
void WarnOfUnseenSaves(const std::vector<const AttemptFacts*>& attempts, std::vector<std::string>& warnings);

}  // namespace goodput
