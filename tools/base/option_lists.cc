#include "tools/base/option_lists.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Slurm's short and long names of states. Those that sacct knows but jobs here never have match nothing.
absl::StatusOr<std::string> LongState(std::string state) {
  static const std::map<std::string, std::string> kShort{
      {"PD", "PENDING"},      {"R", "RUNNING"},       {"S", "SUSPENDED"},     {"CD", "COMPLETED"},
      {"CA", "CANCELLED"},    {"F", "FAILED"},        {"TO", "TIMEOUT"},      {"NF", "NODE_FAIL"},
      {"PR", "PREEMPTED"},    {"BF", "BOOT_FAIL"},    {"DL", "DEADLINE"},     {"OOM", "OUT_OF_MEMORY"},
      {"RQ", "REQUEUED"},     {"RS", "RESIZING"},     {"RV", "REVOKED"},      {"CF", "CONFIGURING"},
      {"CG", "COMPLETING"},   {"SE", "SPECIAL_EXIT"}, {"RH", "REQUEUE_HOLD"}, {"LF", "LAUNCH_FAILED"},
      {"ST", "STOPPED"},      {"SI", "SIGNALING"},    {"SO", "STAGE_OUT"},    {"RF", "REQUEUE_FED"},
      {"RD", "RESV_DEL_HOLD"}};
  const std::string asked = state;
  absl::AsciiStrToUpper(&state);
  const auto found = kShort.find(state);
  if (found != kShort.end()) return found->second;
  const bool known =
      std::any_of(kShort.begin(), kShort.end(), [&](const auto& names) { return names.second == state; });
  // The state of an import without a known end.
  if (known || state == "UNKNOWN") return state;
  return absl::InvalidArgumentError(Cat("-s: unknown state '", asked,
                                        "'; use COMPLETED, FAILED, TIMEOUT, NODE_FAIL, PREEMPTED, CANCELLED, "
                                        "OUT_OF_MEMORY, RUNNING, PENDING or another of sacct's states"));
}

}  // namespace

std::vector<std::string> SplitLists(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (absl::string_view word : absl::StrSplit(list, ',', absl::SkipEmpty())) words.emplace_back(word);
  }
  return words;
}

absl::StatusOr<std::vector<std::string>> SplitStates(const std::vector<std::string>& lists) {
  std::vector<std::string> states = SplitLists(lists);
  for (std::string& state : states) {
    ASSIGN_OR_RETURN(state, LongState(state));
  }
  return states;
}

}  // namespace goodput
