#include "tools/accounting/advise/network.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::size_t kMostNames = 8;

std::string Names(const std::vector<std::string>& nodes) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(nodes.size(), kMostNames));
  std::string text = absl::StrJoin(nodes.begin(), nodes.begin() + shown, ", ");
  if (nodes.size() > kMostNames) text += Cat(" and ", nodes.size() - kMostNames, " more");
  return text;
}

}  // namespace

bool IsSlow(std::int64_t bytes, std::int64_t busbw, double expected) {
  return bytes >= kLargeMessage && static_cast<double>(busbw) < expected * 1e9;
}

std::string BandwidthInWords(std::int64_t bytes_per_s) {
  return absl::StrFormat("%.2f GB/s", static_cast<double>(bytes_per_s) / 1e9);
}

std::string MessageInWords(std::int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.4g %s", value, kUnits.at(unit));
}

const CollectiveTest* LastNetworkTest(const Timeline& timeline) {
  const CollectiveTest* last = nullptr;
  for (const AttemptSummary& attempt : timeline.attempts) {
    for (const CollectiveTest& test : attempt.facts->collectives) {
      if (test.nodes.size() > 1 && (last == nullptr || last->t <= test.t)) last = &test;
    }
  }
  return last;
}

std::vector<Advice> AdviseNetwork(const Timeline& timeline, double expected) {
  const CollectiveTest* last = LastNetworkTest(timeline);
  if (last == nullptr || !IsSlow(last->bytes, last->busbw, expected)) return {};
  return {{Cat("find the slow node among ", Names(last->nodes), ": run nccl-tests on pairs of them"),
           Cat("nccl-tests reached ", BandwidthInWords(last->busbw), " between ", last->nodes.size(),
               " nodes with messages of ", MessageInWords(last->bytes), " at ", FormatTime(last->t),
               ", below the ", absl::StrFormat("%g", expected), " GB/s that goodput.conf expects (busbw)"),
           std::nullopt}};
}

}  // namespace goodput
