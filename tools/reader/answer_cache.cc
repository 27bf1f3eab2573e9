#include "tools/reader/answer_cache.h"

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

constexpr std::int64_t kShare = 20;
constexpr std::size_t kMostEntries = 32;

}  // namespace

HttpReply AnswerCache::Get(const std::string& viewer, const Compute& compute) {
  const std::int64_t began = clock_.mono_ns();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostEntries && entries_.count(viewer) == 0) {
      const auto idle = std::find_if(entries_.begin(), entries_.end(),
                                     [](const auto& entry) { return !entry.second.computing; });
      if (idle == entries_.end()) return ErrorReply(503, "too many concurrent requests");
      entries_.erase(idle);
    }
    Entry& entry = entries_[viewer];
    if (entry.have && (began < entry.good_until_ns || entry.computing)) return entry.answer;
    entry.computing = true;
  }
  HttpReply answer = compute();
  const std::int64_t ended = clock_.mono_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[viewer];
  entry.computing = false;
  if (answer.code != 200) return answer;
  if (entry.have && join_) answer.body = join_(entry.answer.body, std::move(answer.body));
  entry.answer = std::move(answer);
  entry.have = true;
  entry.good_until_ns = ended + std::max(absl::ToInt64Nanoseconds(fresh_), kShare * (ended - began));
  return entry.answer;
}

}  // namespace goodput
