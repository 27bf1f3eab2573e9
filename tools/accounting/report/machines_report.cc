#include "tools/accounting/report/machines_report.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

struct Way {
  std::string text;
  std::string evidence;
  std::size_t attempts = 0;
};

std::string EvidenceInWords(const Provision& provision) {
  const std::string_view by = provision.evidence;
  if (by == "machine") return "by each machine's metadata server";
  if (by == "reason") return "by slurm-gcp's reason for a node that it lost";
  if (by == "reservation") return "by Slurm's reservation";
  if (by == "feature") return "by the nodes' features";
  if (by == "node") return "by the nodes' names";
  if (by == "partition") return "by the partition's name";
  return "";
}

Way WayOf(const Provision& provision) {
  std::string evidence = EvidenceInWords(provision);
  std::string text = evidence.empty() ? "unobserved" : provision.name();
  return {std::move(text), std::move(evidence), 0};
}

std::vector<Way> Ways(const std::vector<std::optional<Provision>>& provisions) {
  std::vector<Way> ways;
  for (const std::optional<Provision>& provision : provisions) {
    if (!provision) continue;
    Way way = WayOf(*provision);
    auto known = std::find_if(ways.begin(), ways.end(), [&](const Way& one) {
      return one.text == way.text && one.evidence == way.evidence;
    });
    if (known == ways.end()) known = ways.insert(ways.end(), std::move(way));
    ++known->attempts;
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.attempts > b.attempts; });
  return ways;
}

}  // namespace

std::vector<std::optional<Provision>> ProvisionsOf(const Report& report,
                                                   const std::map<std::string, std::string>& features) {
  const RunInfo& info = report.run.info;
  std::vector<std::optional<Provision>> provisions;
  for (const AttemptSummary& attempt : report.timeline.attempts) {
    std::optional<Provision>& provision = provisions.emplace_back();
    if (!attempt.facts->start) continue;
    provision = ProvisionOfFacts(*attempt.facts, ExpandHostList(attempt.facts->node_list), info.partition,
                                 info.cluster, &features);
  }
  return provisions;
}

std::string MachinesInWords(const Report& report) {
  const std::vector<Way> ways = Ways(report.provisions);
  // On machines of one's own, a line would say that in each report.
  const auto known = [](const Way& way) { return !way.evidence.empty(); };
  if (std::none_of(ways.begin(), ways.end(), known)) return "";
  std::size_t all = 0;
  for (const Way& way : ways) all += way.attempts;
  std::vector<std::string> texts;
  for (const Way& way : ways) {
    std::string text = way.text;
    if (ways.size() > 1) text += Cat(" in ", way.attempts);
    if (ways.size() > 1 && texts.empty()) text += Cat(" of ", all, " attempts");
    if (!way.evidence.empty()) text += Cat(" (", way.evidence, ")");
    texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace goodput
