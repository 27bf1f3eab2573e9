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
  // `back_s`: how far back to read at first. Borrows `source`.
  AccountingFollower(AccountingSource& source, std::string cluster, std::int64_t back_s)
      : source_(source), cluster_(std::move(cluster)), back_s_(back_s) {}

  // The queue changed: slurmdbd will soon know the change.
  void Expect(std::int64_t mono_ns);
  // Another database has replaced the previous one.
  void StartOver();

  // Does what is due, at most one window; returns the error of the last read. Times are CLOCK_MONOTONIC and
  // wall-clock time.
  absl::Status Turn(Database& db, std::int64_t mono_ns, std::int64_t now_s);

 private:
  absl::Status Follow(Database& db, std::int64_t now_s);
  absl::Status FillIn(Database& db, std::int64_t now_s);

  AccountingSource& source_;
  std::string cluster_;
  std::int64_t back_s_;
  std::int64_t next_ns_ = 0;
  std::optional<std::int64_t> followed_s_;  // everything before is known
  std::int64_t missing_from_s_ = 0;
  bool missing_ = true;
  absl::Status last_;  // of the last read
  std::int64_t window_s_ = Backfiller::kFirstS;
};

}  // namespace goodput
