#include "tools/goodputd/accounting_follower.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/tables/backfill_windows.h"

namespace goodput {
namespace {

constexpr std::int64_t kIntervalNs = 60 * kSecondNs;
// slurmctld reports a change to slurmdbd within seconds.
constexpr std::int64_t kDelayNs = 5 * kSecondNs;

}  // namespace

void AccountingFollower::Expect(std::int64_t mono_ns) {
  next_ns_ = std::min(next_ns_, mono_ns + kDelayNs);
}

void AccountingFollower::StartOver() {
  followed_s_.reset();
  missing_ = true;
  next_ns_ = 0;
}

absl::Status AccountingFollower::Turn(Database& db, std::int64_t mono_ns, std::int64_t now_s) {
  if (absl::IsNotFound(last_)) return last_;
  if (mono_ns >= next_ns_) {
    next_ns_ = mono_ns + kIntervalNs;
    last_ = Follow(db, now_s);
  } else if (last_.ok() && missing_ && followed_s_) {
    last_ = FillIn(db, now_s);
  }
  return last_;
}

// Jobs that ran at the last read may have ended since, and clocks may have been set.
absl::Status AccountingFollower::Follow(Database& db, std::int64_t now_s) {
  const Stretch lately{std::max(followed_s_.value_or(0) - Backfiller::kSettleS, now_s - Backfiller::kFirstS),
                       now_s};
  if (!followed_s_) {
    // After a long absence, continues where this or another daemon had stopped.
    ASSIGN_OR_RETURN(const std::vector<Stretch> done, LoadBackfilled(db, cluster_));
    missing_from_s_ = now_s - back_s_;
    if (!done.empty()) missing_from_s_ = std::min(missing_from_s_, done.back().to_s);
  }
  RETURN_IF_ERROR(Backfiller(db, source_, cluster_).Take(lately, now_s).status());
  if (followed_s_.value_or(0) < lately.from_s) missing_ = true;
  followed_s_ = now_s;
  return absl::OkStatus();
}

absl::Status AccountingFollower::FillIn(Database& db, std::int64_t now_s) {
  Backfiller backfiller(db, source_, cluster_, window_s_);
  const absl::StatusOr<bool> more = backfiller.Step({missing_from_s_, now_s}, now_s);
  window_s_ = backfiller.window_s();
  if (!more.ok()) return more.status();
  missing_ = *more;
  return absl::OkStatus();
}

}  // namespace goodput
