#include "tools/accounting/runs/lack_of_machines.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestZone = 63;

// In small letters. The last two are the words of messages, the others codes or parts of codes.
constexpr std::array<absl::string_view, 8> kNoCapacity{"resource_pool_exhausted",
                                                       "vm_min_count_not_reached",
                                                       "insufficient_resource_capacity",
                                                       "insufficientcapacity",
                                                       "resourcepoolexhausted",
                                                       "gcp capacity exhausted:",
                                                       "not have enough resources available",
                                                       "sufficient capacity"};

bool HasAny(absl::string_view text, const std::array<absl::string_view, 8>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](absl::string_view word) { return absl::StrContains(text, word); });
}

// "us-central1-a" of "... 'projects/mine/zones/us-central1-a' ..."; empty if no zone is named.
std::string ZoneIn(absl::string_view text) {
  constexpr absl::string_view kBefore = "/zones/";
  const std::size_t at = text.find(kBefore);
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest = text.substr(at + kBefore.size());
  const auto* const end = std::find_if_not(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
  });
  const auto size = static_cast<std::size_t>(end - rest.begin());
  return size > kLongestZone ? "" : std::string(rest.substr(0, size));
}

std::optional<MachineLack::Kind> KindOf(absl::string_view reason) {
  if (absl::StartsWith(reason, "capacity-circuit:")) return MachineLack::Kind::kStockout;
  if (absl::StartsWith(reason, "Reservation is not active") ||
      absl::StartsWith(reason, "Waiting for reservation:") || absl::StartsWith(reason, "Reservation:"))
    return MachineLack::Kind::kReservation;
  if (!absl::StartsWith(reason, "GCP ")) return std::nullopt;
  const std::string text = absl::AsciiStrToLower(reason);
  if (HasAny(text, kNoCapacity)) return MachineLack::Kind::kStockout;
  const bool quota = absl::StrContains(text, "quota") && absl::StrContains(text, "exceeded");
  if (quota) return MachineLack::Kind::kQuota;
  return MachineLack::Kind::kError;
}

}  // namespace

std::optional<MachineLack> ReadLackOfMachines(std::string_view reason) {
  const absl::string_view text = ToAbsl(reason);
  const std::optional<MachineLack::Kind> kind = KindOf(text);
  if (!kind) return std::nullopt;
  MachineLack lack;
  lack.kind = *kind;
  lack.zone = ZoneIn(text);
  lack.reason = std::string(reason);
  return lack;
}

}  // namespace goodput
