#include "tools/accounting/report/late_ranks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/time.h"

namespace goodput {
namespace {

std::string NodeOfSource(const RunFacts& facts, const EvidenceRef& ref) {
  if (ref.source < 0 || facts.sources[static_cast<std::size_t>(ref.source)].imported) return "";
  const std::string name = facts.SourceName(static_cast<std::size_t>(ref.source));
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

// A mark is from its rank's node; output is not, but its label has Slurm's number of the task.
std::string NodeOf(const Report& report, int attempt, const Teller& task, const EvidenceRef& ref) {
  const RunFacts& facts = report.run.facts;
  if (ref.source < 0) return "";
  const EvidenceSource& source = facts.sources[static_cast<std::size_t>(ref.source)];
  // Nothing says that an imported rank is Slurm's task of that number.
  if (source.evidence == Evidence::kMark || source.imported) return NodeOfSource(facts, ref);
  const std::vector<NodeEvent>& events =
      report.timeline.attempts[static_cast<std::size_t>(attempt)].facts->node_events;
  const auto of_task = std::find_if(events.begin(), events.end(), [&](const NodeEvent& event) {
    return Teller(event.slurm_step, event.task) == task && event.kind == NodeEvent::Kind::kTaskStart;
  });
  return of_task == events.end() ? "" : NodeOfSource(facts, of_task->ref);
}

double ShareOfWait(GpuNs part, GpuNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string NameOfRank(const NamedLateRank& late) {
  return Cat("rank ", late.rank.task.second, late.node.empty() ? "" : Cat(" on ", Printable(late.node)));
}

std::string MeasuredInWords(const RankWait& wait) {
  const std::string count = Cat(wait.measured.size());
  return wait.kept ? Cat(" (measured in ", count, " of ", *wait.kept, " kept steps)")
                   : Cat(" (measured in ", count, " steps)");
}

// "n2 is 0.300 s behind in each step, n3 0.250 s"
std::string DoubtsInWords(const Report& report) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> named;
  for (const ClockDoubt& doubt : report.timeline.rank_wait->doubts) {
    if (named.size() == kMostNamed) {
      named.emplace_back("...");
      break;
    }
    const std::string node = NodeOf(report, doubt.attempt, doubt.task, doubt.ref);
    const bool first = named.empty();
    named.push_back(Cat(node.empty() ? "a rank" : Printable(node), first ? " is " : " ",
                        absl::StrFormat("%.3f s", Seconds(doubt.behind)),
                        first ? " behind in each step" : ""));
  }
  return absl::StrJoin(named, ", ");
}

}  // namespace

std::vector<std::string> NodesOfLateRanks(const Report& report) {
  std::vector<std::string> nodes;
  if (!report.timeline.rank_wait) return nodes;
  for (const LateRank& rank : report.timeline.rank_wait->late)
    nodes.push_back(NodeOf(report, rank.attempt, rank.task, rank.ref));
  return nodes;
}

std::vector<NamedLateRank> LateRanks(const Report& report, std::size_t most) {
  std::vector<NamedLateRank> named;
  if (!report.timeline.rank_wait) return named;
  const RankWait& wait = *report.timeline.rank_wait;
  LateRank all;
  for (const LateRank& rank : wait.late) {
    all.wait += rank.wait;
    all.most += rank.most;
  }
  for (std::size_t i = 0; i < std::min(most, wait.late.size()); ++i) {
    const LateRank& rank = wait.late[i];
    named.push_back({rank, NodeOf(report, rank.attempt, rank.task, rank.ref),
                     ShareOfWait(rank.wait, all.wait), ShareOfWait(rank.most, all.most)});
  }
  return named;
}

std::string RankWaitInWords(const Report& report) {
  const GpuNs productive = report.account.buckets[static_cast<std::size_t>(Bucket::kProductive)].gpu_ns;
  const std::vector<NamedLateRank> late = LateRanks(report, 1);
  if (!report.account.rank_wait || late.empty()) return "";
  const RankWait& wait = *report.timeline.rank_wait;
  const double share = ShareOfWait(report.account.rank_wait->wait, productive);
  const double most = ShareOfWait(report.account.rank_wait->most, productive);
  const NamedLateRank& first = late.front();
  const std::string what =
      absl::StrFormat("%% of productive time waiting for the last of %d ranks to begin a step", wait.ranks);
  std::string text;
  if (share >= kLeastWait) {
    text = absl::StrFormat("%.1f%s, up to %.3f s; %.0f%% of it for %s", share * 100, what,
                           Seconds(wait.longest()), first.share * 100, NameOfRank(first));
  } else if (most >= kLeastWait && !wait.doubts.empty()) {
    text = absl::StrFormat("%.1f to %.1f%s", share * 100, most * 100, what);
  } else {
    return "";
  }
  text += MeasuredInWords(wait);
  if (wait.doubts.empty()) return text;
  const std::string agree = Cat(" if the clocks of the nodes agree (", DoubtsInWords(report), ")");
  return Cat(text, share >= kLeastWait ? absl::StrFormat("; up to %.1f%%", most * 100) : ": the most", agree);
}

std::string WhyNoRankWait(const Report& report, bool always) {
  const Timeline& timeline = report.timeline;
  const bool several = timeline.ranks_marked >= 2;
  if (timeline.rank_wait || timeline.steps.kept < 2 || (!several && !always)) return "";
  return Cat("wait for late ranks unknown: ", timeline.rank_wait_why);
}

}  // namespace goodput
