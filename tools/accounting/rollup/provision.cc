#include "tools/accounting/rollup/provision.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kUnknown = "-";

// Words between dashes.
constexpr std::array<std::pair<const char*, const char*>, 10> kWords{{{"-spot-", "spot"},
                                                                      {"-preemptible-", "spot"},
                                                                      {"-flex-start-", "flex-start"},
                                                                      {"-flexstart-", "flex-start"},
                                                                      {"-dws-flex-", "flex-start"},
                                                                      {"-ondemand-", "on-demand"},
                                                                      {"-on-demand-", "on-demand"},
                                                                      {"-reserved-", "reserved"},
                                                                      {"-reservation-", "reserved"},
                                                                      {"-flex-", "flex-start"}}};

// Empty: no such word, or several.
std::string Says(std::string_view name) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::AsciiStrToLower(ToAbsl(name)), absl::ByAnyChar("-_.,:/ "), absl::SkipEmpty());
  const std::string text = Cat("-", absl::StrJoin(words, "-"), "-");
  std::string said;
  for (const auto& [word, provision] : kWords) {
    if (text.find(word) == std::string::npos) continue;
    if (!said.empty() && said != provision) return "";
    said = provision;
  }
  return said;
}

}  // namespace

std::string ProvisionOf(std::string_view reservation, std::string_view partition,
                        const std::vector<std::string_view>& features) {
  if (!reservation.empty()) return Cat("reserved:", reservation);
  std::string of_first = features.empty() ? "" : Says(features.front());
  const bool all_agree =
      !of_first.empty() &&
      std::all_of(features.begin(), features.end(), [&](std::string_view f) { return Says(f) == of_first; });
  if (all_agree) return of_first;
  const std::string of_partition = Says(partition);
  return of_partition.empty() ? kUnknown : of_partition;
}

}  // namespace goodput
