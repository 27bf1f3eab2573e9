#include "tools/goodputd/job_watches.h"

#include <poll.h>

#include <algorithm>
#include <limits>

namespace goodput {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerS = 1'000'000'000;
// Who waits for a helper looks so often whether one may be taken.
constexpr std::int64_t kRetryNs = 20 * kNsPerMs;
// What watchers get to finish when the daemon stops.
constexpr std::int64_t kLastNs = 2 * kNsPerS;
// Of one user.
constexpr int kMostAbandonedOfUser = 4;

// What goodputd needs beside these helpers: its threads, the helpers of other loops, and some that are
// ending.
constexpr std::int64_t kOtherTasks = 24;
constexpr std::int64_t kOtherMemory = std::int64_t{64} << 20U;
// A few are tried however low the limits are.
constexpr HelperLimits kLeast = {4, std::int64_t{48} << 20U};
constexpr HelperLimits kMost = {64, std::int64_t{512} << 20U};

}  // namespace

struct JobWatches::HelperUse {
  std::size_t ending = 0;  // killed a moment ago
  std::size_t count = 0;   // those included, and those that hang
  std::size_t starting = 0;
  std::int64_t bytes = 0;
  std::map<uid_t, std::int64_t> by_user;  // bytes

  void Add(const Entry& entry) {
    ++count;
    bytes += entry.watcher->helper_bytes();
    starting += entry.helper->starting() ? 1 : 0;
    by_user[entry.uid] += entry.watcher->helper_bytes();
  }
  bool HasRoomFor(const Entry& entry, const HelperLimits& limits) const {
    return count == 0 || (count < limits.count && bytes + entry.watcher->helper_bytes() <= limits.bytes);
  }
};

HelperLimits HelperLimitsOf(const CgroupLimits& limits) {
  HelperLimits most = kMost;
  if (limits.tasks) {
    const std::int64_t left = std::max<std::int64_t>(0, *limits.tasks - kOtherTasks);
    most.count = std::min(most.count, static_cast<std::size_t>(left));
  }
  if (limits.memory_bytes) most.bytes = std::min(most.bytes, *limits.memory_bytes - kOtherMemory);
  return {std::max(most.count, kLeast.count), std::max(most.bytes, kLeast.bytes)};
}

void JobWatches::Add(const Key& key, const NodeJob& job, std::unique_ptr<JobWatcher> watcher) {
  std::unique_ptr<AbandonedHelpers>& abandoned = abandoned_[job.uid];
  if (abandoned == nullptr) abandoned = std::make_unique<AbandonedHelpers>(kMostAbandonedOfUser);
  HelperProcess::Options options;
  options.name = watcher->helper_name();
  options.user = HelperUser{job.uid, job.gid, true};
  options.abandoned = abandoned.get();
  options.hurry_fd = options_.stop_fd;
  options.timeout = options_.timeout;
  Entry entry;
  entry.watcher = std::move(watcher);
  entry.uid = job.uid;
  entry.since_ns = clock_.mono_ns();
  entry.helper = std::make_unique<HelperProcess>(std::move(options));
  entries_.emplace(key, std::move(entry));
}

void JobWatches::EndOthers(const std::string& purpose, const std::map<Key, bool>& live) {
  for (auto& [key, entry] : entries_) {
    if (entry.ended || std::get<0>(key) != purpose || live.count(key) != 0) continue;
    entry.ended = true;
    entry.Reconsider();
    entry.watcher->JobEnded();
  }
}

bool JobWatches::Serve(std::int64_t until_ns) {
  do {
    if (Round(until_ns, false)) {
      Finish();
      return false;
    }
  } while (clock_.mono_ns() < until_ns);
  return true;
}

void JobWatches::Finish() {
  for (auto& [key, entry] : entries_) {
    entry.Reconsider();
    entry.watcher->DaemonStops();
  }
  const std::int64_t until = clock_.mono_ns() + kLastNs;
  while (!entries_.empty() && clock_.mono_ns() < until) Round(until, true);
}

bool JobWatches::Round(std::int64_t until_ns, bool stopping) {
  AskWhatIsDue();
  std::int64_t wake = wants_helper_ ? std::min(until_ns, clock_.mono_ns() + kRetryNs) : until_ns;
  std::vector<pollfd> polled{{stopping ? -1 : options_.stop_fd, POLLIN, 0}};
  for (const auto& [key, entry] : entries_) {
    if (entry.asked) {
      polled.push_back({entry.helper->fd(), POLLIN, 0});
      wake = std::min(wake, entry.helper->deadline_ns());
    } else if (!entry.next) {
      wake = clock_.mono_ns();  // it must be asked again what is next
    } else if (entry.next->due_ns > clock_.mono_ns() || !wants_helper_) {
      wake = std::min(wake, entry.next->due_ns);  // it may have become due meanwhile
    }
  }
  if (entries_.empty() && stopping) return true;
  const std::int64_t ms = std::max<std::int64_t>(0, (wake - clock_.mono_ns() + kNsPerMs - 1) / kNsPerMs);
  const auto timeout = static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
  if (poll(polled.data(), polled.size(), timeout) < 0) return false;
  TakeAnswers();
  return polled[0].revents != 0;
}

void JobWatches::AskWhatIsDue() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    if (!entry.asked && !entry.next) entry.next = entry.watcher->Next(clock_.mono_ns());
    at = entry.asked || entry.next ? std::next(at) : entries_.erase(at);
  }
  const std::int64_t now = clock_.mono_ns();
  std::vector<Entry*> due;
  HelperUse use;
  for (auto& [key, entry] : entries_) {
    if (entry.helper->pid() != 0) use.Add(entry);
    if (!entry.asked && entry.next->due_ns <= now) due.push_back(&entry);
  }
  for (const auto& [uid, abandoned] : abandoned_) {
    const AbandonedHelpers::Counts counts = abandoned->Count();
    use.ending += counts.ending;
    use.count += counts.ending + counts.hanging;
  }
  // A user with few helpers is first, then who has waited longest.
  std::sort(due.begin(), due.end(), [&](const Entry* a, const Entry* b) {
    return std::make_pair(use.by_user[a->uid], a->next->due_ns) <
           std::make_pair(use.by_user[b->uid], b->next->due_ns);
  });
  wants_helper_ = false;
  for (Entry* const entry : due) {
    // It may have lost its helper to another one meanwhile, and with it the reason to ask now.
    if (!entry->next || entry->next->due_ns > now) continue;
    if (entry->helper->pid() == 0) {
      // If there is none for a user who has none, there is none for anybody.
      if (wants_helper_ && use.by_user[entry->uid] > 0) continue;
      longest_wait_ns_ = std::max(longest_wait_ns_, now - std::max(entry->next->due_ns, entry->since_ns));
      if (!MakeRoomFor(*entry, use)) {
        wants_helper_ = true;
        if (use.by_user[entry->uid] == 0) break;
        continue;
      }
      use.Add(*entry);
      ++use.starting;
      entry->helper->SetArguments(entry->watcher->HelperArguments());
      entry->helper_since_ns = now;
    }
    const absl::Status asked = entry->helper->Ask(entry->next->request);
    entry->asked = asked.ok();
    if (asked.ok()) continue;
    entry->next.reset();
    entry->watcher->Take(asked);
  }
}

void JobWatches::TakeAnswers() {
  for (auto& [key, entry] : entries_) {
    if (!entry.asked) continue;
    if (const std::optional<absl::StatusOr<std::string>> answer = entry.helper->Answer()) {
      entry.asked = false;
      entry.next.reset();
      entry.watcher->Take(*answer);
    }
  }
}

std::size_t JobWatches::Running() const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const auto& one) { return one.second.helper->pid() != 0; }));
}

// Whether there is room now; else it takes a helper from another job, so that there soon is.
bool JobWatches::MakeRoomFor(const Entry& entry, HelperUse& use) {
  if (use.starting >= options_.most_starting) return false;
  if (use.HasRoomFor(entry, options_.limits)) return true;
  // One after the other: there will be room when that one is gone.
  if (use.ending > 0) return false;
  Entry* victim = nullptr;
  const auto rank = [&](const Entry& one) {
    return std::make_pair(use.by_user[one.uid], -one.helper_since_ns);
  };
  const std::int64_t had_its_turn = clock_.mono_ns() - options_.turn_ns;
  for (auto& [key, other] : entries_) {
    const bool idle = !other.asked || other.next->waits;
    if (other.helper->pid() == 0 || !idle || other.helper_since_ns > had_its_turn) continue;
    // A user gives up none to one who has more; those who have as many take turns.
    if (other.uid != entry.uid && use.by_user[other.uid] < use.by_user[entry.uid]) continue;
    if (victim == nullptr || rank(other) > rank(*victim)) victim = &other;
  }
  if (victim == nullptr) return false;
  use.by_user[victim->uid] -= victim->watcher->helper_bytes();
  ++use.ending;
  TakeHelperFrom(*victim);
  return false;
}

void JobWatches::TakeHelperFrom(Entry& entry) {
  entry.helper->Stop();
  entry.asked = false;
  entry.next.reset();
  entry.watcher->HelperIsGone();
}

JobWatchCounts JobWatches::Counts() {
  JobWatchCounts counts;
  counts.jobs = entries_.size();
  counts.helpers = Running();
  counts.most_helpers = options_.limits.count;
  counts.waiting_s = static_cast<std::uint64_t>(std::exchange(longest_wait_ns_, 0) / kNsPerS);
  return counts;
}

}  // namespace goodput
