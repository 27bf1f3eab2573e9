// What `sgoodput cloud sync` did, in a small text file beside the database.
//
// Without the file nothing is lost: runs that ended in the last day are exported once more, which Cloud
// Logging recognizes by their insertIds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/accounting/timeline/facts.h"
#include "tools/base/config.h"

namespace goodput {

// Of one part of goodput.conf: a log to import from, the log to export to, the project for metrics.
struct CloudPart {
  Ns done = 0;          // when it last succeeded; 0: never
  std::string problem;  // of the last try, in one line; empty: none
};

struct CloudState {
  Ns since = 0;  // runs that ended before are not exported; 0: not yet decided
  std::map<std::string, CloudPart> parts;
  std::map<std::string, std::int64_t> exported;  // a run (UnitName), and the end in seconds that was exported
};

// Of goodput.conf, in the order of its manual.
struct NamedCloudPart {
  std::string what;  // "Import from", "Export to", "Metrics to"
  std::string name;
  CloudPart part;

  // It has a problem, or has not succeeded for ten minutes.
  bool IsBad(Ns now) const;
};
std::vector<NamedCloudPart> CloudParts(const Config& config, const CloudState& state);

// Beside the database.
std::string CloudStateFile(const std::string& database);

std::string FormatCloudState(const CloudState& state);
// DataLoss: a line is damaged.
absl::StatusOr<CloudState> ParseCloudState(std::string_view text);

// Absent: there is no such file.
absl::StatusOr<std::optional<CloudState>> LoadCloudState(const std::string& path);

}  // namespace goodput
