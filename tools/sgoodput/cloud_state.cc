#include "tools/sgoodput/cloud_state.h"

#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/replace_file.h"

namespace goodput {
namespace {

constexpr Ns kLate = 600 * kSecond;
constexpr std::string_view kHeader = "slurm-goodput cloud 1";

bool ReadLine(const std::vector<std::string>& fields, CloudState& state) {
  std::int64_t number = 0;
  if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &number) || number < 0) return false;
  if (fields[0] == "since" && fields.size() == 2) {
    state.since = number;
    return true;
  }
  if (fields[0] == "exported" && fields.size() == 3) {
    state.exported[fields[2]] = number;
    return true;
  }
  if (fields[0] != "part" || fields.size() != 4) return false;
  CloudPart& part = state.parts[fields[2]];
  part.done = number;
  return absl::CUnescape(fields[3], &part.problem);
}

}  // namespace

bool NamedCloudPart::IsBad(Ns now) const {
  return !part.problem.empty() || now - part.done > kLate;
}

std::vector<NamedCloudPart> CloudParts(const Config& config, const CloudState& state) {
  std::vector<NamedCloudPart> parts;
  const auto add = [&](const std::string& what, const std::string& name) {
    const auto found = state.parts.find(name);
    if (!name.empty())
      parts.push_back({what, name, found == state.parts.end() ? CloudPart{} : found->second});
  };
  for (const std::string& log : config.cloud_import) add("Import from", log);
  add("Export to", config.cloud_export);
  add("Metrics to", config.cloud_metrics);
  return parts;
}

std::string CloudStateFile(const std::string& database) {
  return std::filesystem::path(database).parent_path() / "cloud.state";
}

std::string FormatCloudState(const CloudState& state) {
  std::string text = Cat(kHeader, "\nsince\t", state.since, "\n");
  for (const auto& [name, part] : state.parts)
    text += Cat("part\t", part.done, "\t", name, "\t", absl::CEscape(part.problem), "\n");
  for (const auto& [run, end_s] : state.exported) text += Cat("exported\t", end_s, "\t", run, "\n");
  return text;
}

absl::StatusOr<CloudState> ParseCloudState(std::string_view text) {
  CloudState state;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n', absl::SkipEmpty())) {
    const bool good = first ? line == ToAbsl(kHeader) : ReadLine(absl::StrSplit(line, '\t'), state);
    if (!good) return absl::DataLossError("damaged");
    first = false;
  }
  if (first) return absl::DataLossError("damaged");
  return state;
}

absl::StatusOr<std::optional<CloudState>> LoadCloudState(const std::string& path) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFileIfAny(path));
  if (!text) return std::optional<CloudState>();
  ASSIGN_OR_RETURN(CloudState state, ParseCloudState(*text));
  return std::optional<CloudState>(std::move(state));
}

}  // namespace goodput
