#include "tools/accounting/report/late_ranks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/time.h"

namespace goodput {
namespace {

std::string NodeOf(const RunFacts& facts, const EvidenceRef& ref) {
  if (ref.source < 0) return "";
  const std::string name = facts.SourceName(static_cast<std::size_t>(ref.source));
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

}  // namespace

std::vector<NamedLateRank> LateRanks(const Report& report, std::size_t most) {
  std::vector<NamedLateRank> named;
  if (!report.timeline.rank_wait) return named;
  const RankWait& wait = *report.timeline.rank_wait;
  Ns total = 0;
  for (const LateRank& rank : wait.late) total += rank.wait;
  for (std::size_t i = 0; i < std::min(most, wait.late.size()); ++i) {
    const LateRank& rank = wait.late[i];
    named.push_back({rank, NodeOf(report.run.facts, rank.ref),
                     static_cast<double>(rank.wait) / static_cast<double>(total)});
  }
  return named;
}

std::string RankWaitInWords(const Report& report) {
  const BucketTotal& productive = report.account.buckets[static_cast<std::size_t>(Bucket::kProductive)];
  const std::vector<NamedLateRank> late = LateRanks(report, 1);
  if (!report.account.rank_wait || late.empty() || productive.gpu_ns <= 0) return "";
  const double share =
      static_cast<double>(*report.account.rank_wait) / static_cast<double>(productive.gpu_ns);
  if (share < kLeastWait) return "";
  const RankWait& wait = *report.timeline.rank_wait;
  const NamedLateRank& first = late.front();
  return absl::StrFormat(
      "%.1f%% of productive time waiting for the last of %d ranks to begin a step, up to %.3f s; %.0f%% of "
      "it for "
      "rank %d%s",
      share * 100, wait.ranks, Seconds(wait.longest), first.share * 100, first.rank.task.second,
      first.node.empty() ? "" : Cat(" on ", Printable(first.node)));
}

}  // namespace goodput
