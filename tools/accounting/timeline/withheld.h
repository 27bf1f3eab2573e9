// When Slurm kept the nodes of a run for its job while the job held none: with its expedited requeue (25.11
// and newer), from the end of an attempt until the next one starts. Pure.
#pragma once

#include <vector>

#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// The nodes of this attempt are kept within [begin, end). Those that fail are not.
struct WithheldNodes {
  int attempt = 0;
  Ns begin = 0;
  Ns end = 0;
};

// By the interruptions whose recovery is "expedite". A job that still waits for its nodes is among them.
std::vector<WithheldNodes> FindWithheldNodes(const Timeline& timeline);

}  // namespace goodput
