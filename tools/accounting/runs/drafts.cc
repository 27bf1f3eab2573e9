#include "tools/accounting/runs/drafts.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace goodput {
namespace {

// Accounting rounds down to whole seconds: events in the second of a start belong to it.
constexpr Ns kStartSlack = kSecond;

// Suspended time that accounting knows and the watch did not see: its length is known, but not when it was.
// With a look before and after, it was just before the resume; otherwise it may have been at the end.
void PlaceSuspensionsOf(Draft& draft, Ns now) {
  AttemptFacts& facts = draft.facts;
  if (!facts.start) return;
  const Ns end = facts.end.value_or(now);
  if (draft.suspended_since) facts.suspended.push_back({*draft.suspended_since, end, true});
  Ns rest = draft.suspended_s * kSecond;
  for (const Suspension& seen : facts.suspended) rest -= std::min(seen.end, end) - seen.begin;
  // Each end of the seen periods is rounded.
  if (rest <= kSecond * static_cast<Ns>(facts.suspended.size())) return;
  const Ns until = draft.resumed.value_or(end);
  facts.suspended.push_back({std::max(*facts.start, until - rest), until, draft.resumed.has_value()});
}

}  // namespace

Draft& Drafts::Of(std::int64_t submit_s) {
  Draft& draft = drafts_[submit_s];
  draft.facts.submit = submit_s * kSecond;
  return draft;
}

void Drafts::Clear() {
  drafts_.clear();
  started_.clear();
}

void Drafts::JoinResized() {
  for (auto it = drafts_.begin(); it != drafts_.end();) {
    AttemptFacts& before = it->second.facts;
    const auto next = std::next(it);
    if (before.state != "RESIZING") {
      ++it;
    } else if (next == drafts_.end()) {
      // The next row follows.
      before.end.reset();
      before.state = "RUNNING";
    } else {
      Draft joined = std::move(next->second);
      joined.facts.resizes = std::move(before.resizes);
      joined.facts.resizes.push_back({before.end.value_or(joined.facts.submit), before.gpus});
      joined.facts.submit = before.submit;
      joined.facts.eligible = before.eligible;
      joined.facts.start = before.start;
      drafts_.erase(next);
      it->second = std::move(joined);
    }
  }
}

void Drafts::CloseWatched() {
  for (auto it = drafts_.begin(); it != drafts_.end(); ++it) {
    AttemptFacts& facts = it->second.facts;
    const auto next = std::next(it);
    if (next == drafts_.end()) break;
    if (it->second.in_accounting || !facts.start) continue;
    if (!facts.end) facts.end = next->second.facts.submit;
    // The signal that killed its batch script during the requeue is not how the attempt ended.
    const bool told = facts.state == "PREEMPTED" || facts.state == "NODE_FAIL";
    if (!told && !it->second.state_final) facts.state = "REQUEUED";
  }
}

void Drafts::PlacePreemptions(const std::set<Ns>& preemptions) {
  for (const Ns preemption : preemptions) {
    for (auto& [submit, draft] : drafts_) {
      AttemptFacts& facts = draft.facts;
      if (!facts.start || preemption < *facts.start || (facts.end && preemption > *facts.end + kStartSlack))
        continue;
      if (!facts.preempt_time) facts.preempt_time = preemption;
    }
  }
}

void Drafts::MoveOnto(const ControllerClock& clock) {
  if (!clock.was_set()) return;
  Ns before = std::numeric_limits<Ns>::min() / 2;
  const auto move = [&](std::optional<Ns>& t) {
    if (t) t = clock.OfAccounting(*t, before);
  };
  for (auto& [submit, draft] : drafts_) {
    AttemptFacts& facts = draft.facts;
    before = facts.submit = clock.OfAccounting(facts.submit, before);
    move(facts.eligible);
    move(draft.configuring_since);
    move(facts.start);
    before = facts.start.value_or(before);
    move(facts.preempt_time);
    move(draft.suspended_since);
    move(draft.resumed);
    for (Suspension& suspension : facts.suspended) {
      suspension.begin = clock.OfAccounting(suspension.begin, before);
      suspension.end = clock.OfAccounting(suspension.end, suspension.begin);
    }
    move(facts.end);
    before = facts.end.value_or(before);
  }
}

void Drafts::PlaceSuspensions(Ns now) {
  for (auto& [submit, draft] : drafts_) PlaceSuspensionsOf(draft, now);
}

std::vector<AllocatedSpan> Drafts::Spans() const {
  std::vector<AllocatedSpan> spans;
  for (const auto& [submit, draft] : drafts_) {
    const AttemptFacts& facts = draft.facts;
    const bool ended_by_itself = facts.state == "COMPLETED" || facts.state == "FAILED";
    if (facts.start) spans.push_back({*facts.start, facts.end, ended_by_itself});
  }
  return spans;
}

bool Drafts::AnyEndUnseen() const {
  return std::any_of(drafts_.begin(), drafts_.end(),
                     [](const auto& draft) { return draft.second.last_seen.has_value(); });
}

void Drafts::Index() {
  started_.clear();
  for (auto& [submit, draft] : drafts_) {
    if (draft.facts.start) started_.emplace_back(*draft.facts.start, &draft.facts);
  }
  std::stable_sort(started_.begin(), started_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

AttemptFacts* Drafts::At(Ns t) const {
  const Ns at = t + kStartSlack;
  // Records come by files, and of a file most are of the same attempt as the one before.
  const bool same = asked_ <= started_.size() && (asked_ == 0 || started_[asked_ - 1].first <= at) &&
                    (asked_ == started_.size() || at < started_[asked_].first);
  if (!same) {
    const auto after =
        std::upper_bound(started_.begin(), started_.end(), at,
                         [](Ns moment, const auto& attempt) { return moment < attempt.first; });
    asked_ = static_cast<std::size_t>(after - started_.begin());
  }
  for (std::size_t i = asked_; i > 0; --i) {
    const auto& [start, attempt] = started_[i - 1];
    // An import's attempts begin when it says.
    if (start <= t + (attempt->heard_until ? 0 : kStartSlack)) return attempt;
  }
  return nullptr;
}

}  // namespace goodput
