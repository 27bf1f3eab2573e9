// What `sgoodput report` answers, before it is put into a table or JSON.
#ifndef GOODPUT_TOOLS_SGOODPUT_ROLLUP_H_
#define GOODPUT_TOOLS_SGOODPUT_ROLLUP_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/rollup/rollup.h"

namespace goodput {

struct RollupReport {
  std::string by;                 // with a comma between two
  std::vector<std::string> keys;  // the same, one by one
  bool windows = false;
  std::optional<double> gpu_hour;  // its price
  double busbw = 0;                // what is expected of the network, Config::busbw
  std::vector<RollupRow> rows;
  RollupRow total;
};

// Hours of GPUs, and what they cost.
double GpuHours(GpuNs gpu_ns);
std::string FormatGpuHours(GpuNs gpu_ns);  // 1.25  123

// The object `--json` prints, see report.schema.json.
std::string RollupAsJson(const RollupReport& report);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_SGOODPUT_ROLLUP_H_
