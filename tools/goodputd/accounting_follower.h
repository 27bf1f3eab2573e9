// Keeps the database in step with slurmdbd. Recent changes are read every minute; missing older data is read
// in between, one window at a time. A cluster without slurmdbd costs one failed attempt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sql/database.h"
#include "tools/sources/slurm/backfiller.h"

namespace goodput {

class AccountingFollower {
 public:
  // `back_s`: how far back to read at first. `source` is borrowed.
  AccountingFollower(AccountingSource& source, std::string cluster, std::int64_t back_s)
      : source_(source), cluster_(std::move(cluster)), back_s_(back_s) {}

  // Something changed in the queue: slurmdbd will soon know.
  void Expect(std::int64_t mono_ns);
  // Another database has taken the place of the one before.
  void StartOver();

  // Does what is due, at most one window of it; says what went wrong the last time something was. Times are
  // of CLOCK_MONOTONIC and of the wall.
  absl::Status Turn(Database& db, std::int64_t mono_ns, std::int64_t now_s);

 private:
  absl::Status Follow(Database& db, std::int64_t now_s);
  absl::Status FillIn(Database& db, std::int64_t now_s);

  AccountingSource& source_;
  std::string cluster_;
  std::int64_t back_s_;
  std::int64_t next_ns_ = 0;
  std::optional<std::int64_t> followed_s_;  // until then all is known
  std::int64_t missing_from_s_ = 0;
  bool missing_ = true;
  absl::Status last_;  // of what was done last
  std::int64_t window_s_ = Backfiller::kLongestS;
};

}  // namespace goodput
