#include "tools/sources/import_export/nvrx_cycle.h"

#include <simdjson.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/base/decimal.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

constexpr std::size_t kMostNodesOfCycle = 65536;

// 0 if it has no such number.
std::int64_t NumberIn(const simdjson::dom::object& object, std::string_view name) {
  std::int64_t value = 0;
  if (object[name].get(value) == simdjson::SUCCESS) return value;
  // Protobuf writes 64-bit numbers as text.
  std::string_view text;
  if (object[name].get(text) != simdjson::SUCCESS) return 0;
  return ParseDecimal(text, 0).value_or(0);
}

std::int64_t CountOfNodes(const simdjson::dom::object& object, std::string_view name) {
  std::string_view list;
  if (object[name].get(list) != simdjson::SUCCESS || list.empty()) return 0;
  return static_cast<std::int64_t>(ExpandHostList(list, kMostNodesOfCycle).size());
}

}  // namespace

bool LooksLikeNvrxCycle(std::string_view beginning) {
  const auto has = [&](std::string_view text) { return beginning.find(text) != std::string_view::npos; };
  return beginning.substr(0, 1) == "{" && has("\"cycle_number\"") && has("\"cycle_start_time\"");
}

absl::StatusOr<NvrxCycle> ParseNvrxCycle(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not a JSON object, or cut off");
  NvrxCycle cycle;
  std::string_view value;
  if (object["job_id"].get(value) == simdjson::SUCCESS) cycle.job = value;
  cycle.attempt = NumberIn(object, "attempt_index");
  cycle.number = NumberIn(object, "cycle_number");
  cycle.generation = NumberIn(object, "generation");
  absl::Time begin;
  std::string problem;
  if (object["cycle_start_time"].get(value) != simdjson::SUCCESS ||
      !absl::ParseTime(absl::RFC3339_full, std::string(value), &begin, &problem) ||
      begin < absl::UnixEpoch()) {
    return absl::InvalidArgumentError("no cycle_start_time, such as 2026-02-05T14:30:00.123456Z");
  }
  cycle.begin = absl::ToUnixNanos(begin);
  if (cycle.begin <= 0 || cycle.begin >= kLatest)
    return absl::InvalidArgumentError("its cycle_start_time cannot be true");
  cycle.active = CountOfNodes(object, "active_nodes");
  cycle.standby = CountOfNodes(object, "standby_nodes");
  if (cycle.active == 0) return absl::InvalidArgumentError("it names no active_nodes");
  return cycle;
}

}  // namespace goodput
