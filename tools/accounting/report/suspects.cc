#include "tools/accounting/report/suspects.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// A node is suspected if so many failures are so unlikely by chance, whichever node they strike.
constexpr double kSuspicion = 0.01;

// `cluster`: empty for the local one.
void PrintList(const std::string& cluster, const std::vector<std::string>& names) {
  const std::string list = CompressHostList(names);
  const std::string of = cluster.empty() ? "" : Cat("-M ", cluster, " ");
  const std::string title = cluster.empty() ? "" : Cat("Cluster ", cluster, ": ");
  std::printf(
      "%s%s\n\nTo keep a job from them, or all jobs:\n  sbatch %s--exclude=%s ...\n  scontrol %supdate "
      "NodeName=%s State=DRAIN Reason=\"fails too often\"\n\n",
      title.c_str(), list.c_str(), of.c_str(), list.c_str(), of.c_str(), list.c_str());
}

}  // namespace

void KeepSuspects(RollupReport& report) {
  report.rows.erase(
      std::remove_if(report.rows.begin(), report.rows.end(),
                     [](const RollupRow& row) { return !row.chance || *row.chance >= kSuspicion; }),
      report.rows.end());
}

void PrintSuspects(const RollupReport& report) {
  if (report.rows.empty()) {
    std::printf("No node fails more often than by chance.\n");
    return;
  }
  std::map<std::string, std::vector<std::string>> names;  // by cluster
  for (const RollupRow& row : report.rows) {
    const std::vector<std::string> parts = GroupParts(row.group);
    names[parts.size() > 1 ? Printable(parts.front()) : ""].push_back(Printable(parts.back()));
  }
  for (const auto& [cluster, nodes] : names) PrintList(cluster, nodes);
}

}  // namespace goodput
