// Why the result of Google's goodput library (Definitions::google_api) differs from the runtime goodput of ML
// Productivity Goodput (Definitions::rg), in parts that add up.
//
// With P productive time, A allocated time with resources up, W the time since the first start (all in
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
    kWaiting,     // it counts the time since the first start in which no resources were up
    kEarly,       // it does not count time with resources before that start
    kFirstSteps,  // it attributes a first step's excess to compilation
    kGpuWeights,  // it counts seconds, although attempts had different numbers of GPUs
  };
  struct Part {
    Kind kind = Kind::kWaiting;
    Bucket bucket = Bucket::kHold;  // for kWaiting
    Ns ns = 0;                      // 0 for kGpuWeights
    double fraction = 0;            // of the difference
  };
  double fraction = 0;  // google_api - rg, the sum of its parts
  std::vector<Part> parts;
};

// Absent if either number is.
std::optional<GoogleDifference> ExplainGoogleDifference(const Timeline& timeline, const Account& account);

// One sentence; empty if the difference is negligible.
std::string InWords(const GoogleDifference& difference);

}  // namespace goodput
