#include "tools/accounting/fleet/node_history.h"

#include <algorithm>
#include <array>

namespace goodput {
namespace {

bool Has(const std::vector<std::string>& flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

class HistoryBuilder {
 public:
  HistoryBuilder(const std::vector<TimeSpan>& watched, const std::vector<KnownOutage>& outages, Ns begin,
                 Ns end)
      : watched_(watched), outages_(outages), begin_(begin), end_(end) {}

  // [from, to): the report is valid as far as the watch ran.
  void Add(const NodeWord& word, Ns from, Ns to) {
    Ns at = from;
    for (const TimeSpan& spell : watched_) {
      if (spell.end <= at || spell.begin >= to) continue;
      if (spell.begin > at) AddUnwatched(word, at, spell.begin);
      const Ns until = std::min(to, spell.end);
      AddSpan(word, std::max(at, spell.begin), until, word.condition);
      at = until;
    }
    AddUnwatched(word, at, to);
  }

  void AddUnwatched(const NodeWord& word, Ns from, Ns to) {
    Ns at = from;
    for (const KnownOutage& outage : outages_) {
      if (outage.end <= at || outage.begin >= to) continue;
      AddSpan(word, at, std::min(to, outage.begin), NodeCondition::kUnknown);
      const Ns until = std::min(to, outage.end);
      AddSpan(word, std::max(at, outage.begin), until, outage.condition);
      at = std::max(at, until);
    }
    AddSpan(word, at, to, NodeCondition::kUnknown);
  }

  // A node that went down or was drained between two looks did so at `since`.
  void Backdate(Ns since, NodeCondition condition) {
    if (spans_.empty() || spans_.back().condition == NodeCondition::kUnknown) return;
    NodeSpan& last = spans_.back();
    if (since >= last.end) return;
    NodeSpan late = last;
    late.begin = std::max(since, last.begin);
    late.condition = condition;
    last.end = late.begin;
    if (last.begin == last.end) spans_.pop_back();
    Push(late);
  }

  NodeHistory Take() { return std::move(spans_); }

 private:
  void AddSpan(const NodeWord& word, Ns from, Ns to, NodeCondition condition) {
    from = std::max(from, begin_);
    to = std::min(to, end_);
    if (from < to) Push({from, to, condition, word.gpus, word.partitions});
  }

  void Push(NodeSpan span) {
    if (!spans_.empty()) {
      NodeSpan& last = spans_.back();
      const bool goes_on = last.end == span.begin && last.condition == span.condition &&
                           last.gpus == span.gpus && last.partitions == span.partitions;
      if (goes_on) {
        last.end = span.end;
        return;
      }
    }
    spans_.push_back(std::move(span));
  }

  const std::vector<TimeSpan>& watched_;
  const std::vector<KnownOutage>& outages_;
  Ns begin_;
  Ns end_;
  NodeHistory spans_;
};

}  // namespace

std::string_view ConditionName(NodeCondition condition) {
  constexpr std::array<std::string_view, kConditionCount> kNames{"down", "drained", "completing",
                                                                 "idle", "off",     "unknown"};
  return kNames[static_cast<std::size_t>(condition)];
}

NodeCondition ConditionOf(std::string_view state, const std::vector<std::string>& flags) {
  // Booting is how a machine returns that was powered down.
  if (Has(flags, "POWERED_DOWN") || Has(flags, "POWERING_DOWN") || Has(flags, "POWERING_UP"))
    return NodeCondition::kOff;
  if (Has(flags, "DOWN") || Has(flags, "FAIL") || Has(flags, "INVALID_REG") || StartsWith(state, "DOWN"))
    return NodeCondition::kDown;
  if (Has(flags, "DRAIN") || Has(flags, "MAINT") || StartsWith(state, "DRAIN"))
    return NodeCondition::kDrained;
  if (Has(flags, "COMPLETING")) return NodeCondition::kCompleting;
  return StartsWith(state, "FUTURE") ? NodeCondition::kOff : NodeCondition::kIdle;
}

NodeHistory HistoryOf(const std::vector<NodeWord>& words, const std::vector<TimeSpan>& watched,
                      const std::vector<KnownOutage>& outages, Ns begin, Ns end) {
  HistoryBuilder history(watched, outages, begin, end);
  if (words.empty()) return {};
  const NodeWord& first = words.front();
  if (!first.gone && (watched.empty() || first.t <= watched.front().begin))
    history.AddUnwatched(first, begin, std::min(first.t, end));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const NodeWord& word = words[i];
    if (word.gone) continue;
    Ns until = i + 1 < words.size() ? words[i + 1].t : end;
    // A watch that began later would have reported the node.
    const auto anew = std::find_if(watched.begin(), watched.end(),
                                   [&](const TimeSpan& spell) { return spell.begin > word.t; });
    if (anew != watched.end()) until = std::min(until, anew->begin);
    const bool worse = word.condition == NodeCondition::kDown || word.condition == NodeCondition::kDrained;
    const bool at_first = i == 0 || words[i - 1].gone;
    if (worse && word.since && !at_first && words[i - 1].condition != word.condition)
      history.Backdate(std::max(*word.since, words[i - 1].t), word.condition);
    history.Add(word, word.t, until);
  }
  return history.Take();
}

}  // namespace goodput
