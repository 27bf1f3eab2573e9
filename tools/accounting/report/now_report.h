// The result of `sgoodput now`, for text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/accounting/live/run_now.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// A run that is pending or running.
struct NowRow {
  std::int64_t job_id = 0;  // of its last attempt
  std::string job_id_text;
  std::string cluster;
  std::string run;  // its name; the job's if it has none
  std::string user;
  std::string account;
  std::string partition;
  RunNow now;
  std::string command;  // looks closer
};

struct NowReport {
  Ns time = 0;
  NowTotals totals;
  std::vector<NowRow> rows;  // what is wrong first, then by GPU time lost; those that wait by GPUs
};

// The object that `--json` prints; see now.schema.json.
std::string NowAsJson(const NowReport& report);

}  // namespace goodput
