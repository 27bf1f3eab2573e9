#include "tools/sources/logs/one_rank.h"

#include <cstdlib>

namespace goodput {
namespace {

// Ranks finish a step at about the same time.
constexpr std::int64_t kAboutNs = 60'000'000'000;

}  // namespace

// Ranks print their numbers again when they are restarted; a process that was not known may be a new start.
bool OneRank::Lags(const std::optional<RankLabel>& label, std::int64_t done) const {
  if (!label) return false;
  const auto known = done_.find(label->text);
  return known != done_.end() ? done >= known->second : label->is_number;
}

// Long after the step was first done, it is done again.
bool OneRank::IsDoneAgain(std::int64_t done, const std::optional<LineTime>& time) const {
  const auto told = times_.find(done);
  return time && told != times_.end() && time->kind == told->second.kind &&
         time->ns - told->second.ns > kAboutNs;
}

// No restart is in the past.
bool OneRank::WasAtThatTime(std::int64_t done, const std::optional<LineTime>& time) const {
  const auto told = times_.find(done);
  if (!time || !newest_time_ || told == times_.end()) return false;
  return time->kind == newest_time_->kind && time->ns < newest_time_->ns && time->kind == told->second.kind &&
         std::abs(time->ns - told->second.ns) < kAboutNs;
}

void OneRank::Know(const std::optional<RankLabel>& label, std::int64_t done) {
  if (!label) return;
  const auto known = done_.find(label->text);
  if (known != done_.end()) {
    known->second = done;
  } else if (done_.size() < kMostRanks) {
    done_.emplace(label->text, done);
  }
}

bool OneRank::HasSaid(const std::optional<RankLabel>& label, std::int64_t done,
                      const std::optional<LineTime>& time) {
  const bool behind = (Lags(label, done) && !IsDoneAgain(done, time)) || WasAtThatTime(done, time);
  if (done <= newest_ && behind && ++behind_ <= kMostLines) {
    Know(label, done);
    return true;
  }
  if (done < newest_) {
    done_.clear();
    times_.clear();
  }
  behind_ = 0;
  newest_ = done;
  newest_time_ = time;
  if (time) {
    times_.insert_or_assign(done, *time);
    if (times_.size() > kMostSteps) times_.erase(times_.begin());
  }
  Know(label, done);
  return false;
}

}  // namespace goodput
