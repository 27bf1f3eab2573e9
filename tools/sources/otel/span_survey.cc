#include "tools/sources/otel/span_survey.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace goodput {

void SpanSurvey::See(const SpanProcess& process, const Span& span) {
  if (process.writer || span.kind == Span::Kind::kOther) return;
  auto seen = seen_.find(process.identity);
  if (seen == seen_.end()) {
    if (seen_.size() >= kMostProcesses) return;
    seen = seen_.emplace(process.identity, Seen{process, INT64_MAX, 0, false, std::nullopt}).first;
  }
  if (process.launcher) return;
  if (span.kind == Span::Kind::kIteration) seen->second.tells_steps = true;
  // Spans of the time before the process may lie in the life of the one before.
  if (span.kind == Span::Kind::kBackdated || span.kind == Span::Kind::kStartup) return;
  seen->second.first = std::min(seen->second.first, span.start);
  seen->second.last = std::max(seen->second.last, span.end);
}

void SpanSurvey::Choose() {
  std::map<Key, std::vector<Seen*>> attempts;
  for (auto& [identity, seen] : seen_) {
    const Key key = KeyOf(seen.process);
    if (seen.process.launcher) {
      std::string& chosen = launchers_[key];
      if (chosen.empty() || seen.process.node < seen_.find(chosen)->second.process.node) chosen = identity;
    } else if (seen.last > 0) {
      attempts[key].push_back(&seen);
    }
  }
  std::vector<Start> starts;
  for (auto& [key, processes] : attempts) {
    std::sort(processes.begin(), processes.end(), [](const Seen* a, const Seen* b) {
      return std::tie(a->first, a->last, a->process.identity) <
             std::tie(b->first, b->last, b->process.identity);
    });
    Ns until = INT64_MIN;
    for (Seen* seen : processes) {
      if (seen->first >= until) {
        starts.push_back({seen, seen->first, key, {}});
      } else if (seen->process.rank.value_or(0) < starts.back().process->process.rank.value_or(0)) {
        starts.back().process = seen;
      }
      starts.back().all.push_back(seen);
      until = std::max(until, seen->last);
    }
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Start& a, const Start& b) { return a.begin < b.begin; });
  std::map<Key, int> numbers;
  int next = 0;
  for (const Start& start : starts) {
    // Without a job, each start is taken for an attempt.
    const bool known = start.key.first >= 0;
    const auto number = known ? numbers.try_emplace(start.key, next) : std::pair(numbers.end(), true);
    if (number.second) ++next;
    start.process->start = starts_.size();
    FindOtherRanks(start, starts_.size());
    begins_[start.key].emplace(start.begin, starts_.size());
    starts_.push_back({start.process->process.job,
                       start.process->process.rank,
                       known ? number.first->second : next - 1,
                       start.process->tells_steps,
                       {start.process->first, start.process->last}});
  }
}

void SpanSurvey::FindOtherRanks(const Start& start, std::size_t number) {
  const std::optional<std::int64_t>& read = start.process->process.rank;
  if (!read || !start.process->tells_steps) return;
  for (Seen* seen : start.all) {
    if (seen->process.rank && seen->process.rank != read) seen->beside = number;
  }
}

std::optional<std::size_t> SpanSurvey::StartBeside(const SpanProcess& process) const {
  const auto seen = seen_.find(process.identity);
  return process.writer || process.launcher || seen == seen_.end() ? std::nullopt : seen->second.beside;
}

bool SpanSurvey::all_tell_steps() const {
  return std::all_of(starts_.begin(), starts_.end(), [](const Choice& start) { return start.tells_steps; });
}

std::optional<std::size_t> SpanSurvey::StartOf(const SpanProcess& process, const Span& span) const {
  const auto seen = seen_.find(process.identity);
  if (process.writer || seen == seen_.end()) return std::nullopt;
  if (!process.launcher) return seen->second.start;
  const Key key = KeyOf(process);
  const auto chosen = launchers_.find(key);
  const auto begins = begins_.find(key);
  if (chosen == launchers_.end() || chosen->second != process.identity || begins == begins_.end())
    return std::nullopt;
  // What the launcher did led to the next start.
  const auto next = begins->second.lower_bound(span.start);
  return next == begins->second.end() ? std::prev(next)->second : next->second;
}

}  // namespace goodput
