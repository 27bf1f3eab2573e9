#include "tools/accounting/timeline/host_evidence.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "tools/accounting/timeline/text.h"

namespace goodput {
namespace {

using Kind = HostNotice::Kind;

constexpr Ns kPreemption = 120 * kSecond;
// slurmctld sets a node down after SlurmdTimeout, 300 s by default.
constexpr Ns kFoundOut = 600 * kSecond;
// Ends in accounting have whole seconds.
constexpr Ns kRounding = kSecond;
// For a window without an end.
constexpr Ns kLongestWindow = 24LL * 3600 * kSecond;

bool IsInForce(const HostNotice& notice) {
  return notice.value != "NONE" && notice.value != "FALSE";
}

// As a whole word: n1 is not in "node n12 went down".
bool Names(std::string_view text, std::string_view node) {
  const auto of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (std::size_t at = text.find(node); at != std::string_view::npos; at = text.find(node, at + 1)) {
    const std::size_t after = at + node.size();
    if ((at == 0 || !of_name(text[at - 1])) && (after == text.size() || !of_name(text[after]))) return true;
  }
  return false;
}

struct End {
  Ns at = 0;    // of the attempt
  Ns work = 0;  // when its nodes were last known to work
  bool node_lost = false;
  bool requeued = false;
};

bool IsOfLostNode(const AttemptFacts& attempt, const HostNotice& notice) {
  if (!attempt.failed_node.empty()) return notice.node == attempt.failed_node;
  return attempt.down_nodes.empty() || Names(attempt.down_nodes, notice.node);
}

std::string Cause(const AttemptFacts& attempt, const HostNotice& notice, const End& end) {
  if ((!end.node_lost && !end.requeued) || !IsOfLostNode(attempt, notice)) return "";
  switch (notice.kind) {
    case Kind::kPreempted:
      return end.work - notice.t <= (end.node_lost ? kFoundOut : kPreemption) ? "preempted" : "";
    case Kind::kMaintenance:
      // The other kind migrates the machine while it runs.
      return StartsWith(notice.value, "TERMINATE") ? "maintenance" : "";
    case Kind::kUpcomingMaintenance: {
      const Ns begin = notice.window.value_or(end.at + 1 + kRounding);
      const Ns over = notice.window_end.value_or(begin + kLongestWindow);
      return begin <= end.at + kRounding && end.work <= over ? "maintenance" : "";
    }
  }
  return "";
}

std::string InSeconds(Ns time) {
  return std::to_string(time / kSecond) + " s";
}

std::string Words(const HostNotice& notice, const End& end) {
  const std::string before = InSeconds(std::max<Ns>(0, end.at - notice.t)) + " before the end";
  if (notice.kind == Kind::kPreempted) return "announced its preemption " + before;
  if (notice.kind == Kind::kMaintenance) return "reported " + notice.value + " " + before;
  std::string text = "announced maintenance (" + notice.value + ")";
  if (!notice.window) return text;
  const Ns ahead = *notice.window - end.at;
  return text + (ahead > 0 ? ", beginning " + InSeconds(ahead) + " after the end"
                           : ", whose window began " + InSeconds(-ahead) + " before the end");
}

}  // namespace

std::vector<HostEvidence> JudgeHosts(const AttemptFacts& attempt, const std::optional<LastSeen>& lost) {
  if (!attempt.end || attempt.host_notices.empty()) return {};
  End end;
  end.at = *attempt.end;
  end.work = lost ? std::min(end.at, lost->t) : end.at;
  end.node_lost =
      attempt.state == "NODE_FAIL" || !attempt.failed_node.empty() || !attempt.down_nodes.empty() || lost;
  end.requeued = StartsWith(attempt.state, "REQUEUE");

  // The last notice of each node and kind.
  std::map<std::pair<std::string, Kind>, const HostNotice*> last;
  for (const HostNotice& notice : attempt.host_notices) {
    if (notice.t > end.at + kRounding) continue;
    const HostNotice*& known = last[{notice.node, notice.kind}];
    if (known == nullptr || known->t <= notice.t) known = &notice;
  }
  // By kind and cause: the first, and the number of nodes.
  std::map<std::pair<Kind, std::string>, std::pair<HostEvidence, int>> words;
  for (const auto& [key, notice] : last) {
    if (!IsInForce(*notice)) continue;
    std::string cause = Cause(attempt, *notice, end);
    auto& [word, nodes] = words[{notice->kind, cause}];
    if (++nodes == 1) word = {std::move(cause), notice->node, Words(*notice, end)};
  }
  std::vector<HostEvidence> found;
  for (auto& [key, of_nodes] : words) {
    auto& [word, nodes] = of_nodes;
    word.words = "the host of node " + word.node +
                 (nodes > 1 ? " and " + std::to_string(nodes - 1) + " more" : "") + " " + word.words;
    found.push_back(std::move(word));
  }
  // A preemption is the more direct cause.
  const auto rank = [](const HostEvidence& word) {
    return word.cause == "preempted" ? 0 : word.cause.empty() ? 2 : 1;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const HostEvidence& a, const HostEvidence& b) { return rank(a) < rank(b); });
  return found;
}

}  // namespace goodput
