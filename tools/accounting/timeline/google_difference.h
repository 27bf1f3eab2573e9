// Why the number Google's goodput library would give (Definitions::google_api) is not the runtime goodput of
// ML Productivity Goodput (Definitions::rg): the difference in parts that add up to it.
//
// With P what was productive, A what was allocated and up, W what passed since the first start (all in
// seconds), x what first steps took beyond the mean of the others, and P', A' in GPU-seconds:
//   google_api - rg = (P - x)/W - P'/A' = [P/A - P'/A'] - (W - A) P/(W A) - x/W
// and W - A is a sum over buckets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

struct GoogleDifference {
  enum class Kind {
    kWaiting,     // it counts what passed since the first start without resources being up
    kEarly,       // it does not count what was up before that start
    kFirstSteps,  // it takes a first step's excess for compilation
    kGpuWeights,  // it counts seconds, where attempts had different numbers of GPUs
  };
  struct Part {
    Kind kind = Kind::kWaiting;
    Bucket bucket = Bucket::kHold;  // kWaiting: which
    Ns ns = 0;                      // 0 of kGpuWeights
    double fraction = 0;            // of the difference
  };
  double fraction = 0;  // google_api - rg, the sum of its parts
  std::vector<Part> parts;
};

// Absent where either number is.
std::optional<GoogleDifference> ExplainGoogleDifference(const Timeline& timeline, const Account& account);

// One sentence; empty where there is no difference worth it.
std::string InWords(const GoogleDifference& difference);

}  // namespace goodput
