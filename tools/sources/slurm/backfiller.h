// Reads a long period from slurmdbd into the database, in windows that slurmdbd answers quickly: the first is
// a day, and the next one is twice as long, up to 32 days, if this one had few attempts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/tables/accounting.h"
#include "sql/tables/backfill_windows.h"

namespace goodput {

// The source of the records. Both functions return what existed at any time in the stretch; NotFound: there
// is no source.
class AccountingSource {
 public:
  virtual ~AccountingSource() = default;
  virtual absl::StatusOr<std::vector<AccountingRow>> Attempts(Stretch stretch) = 0;
  virtual absl::StatusOr<std::vector<NodeOutage>> Outages(Stretch stretch) = 0;
};
// sacct and sacctmgr. Not thread-safe.
AccountingSource& SlurmAccounting();

// Idempotent, and can be stopped at any point: the database remembers what was read, and it is not read
// again.
class Backfiller {
 public:
  static constexpr std::int64_t kFirstS = 86'400;
  static constexpr std::int64_t kLongestS = 32 * kFirstS;
  static constexpr std::int64_t kShortestS = 300;
  // Fewer attempts than this are few.
  static constexpr std::int64_t kFew = 1000;
  // slurmdbd may take this long to learn of an event; the last period is read again.
  static constexpr std::int64_t kSettleS = 3600;

  // Borrows both. `cluster`: the name under which progress is stored. `window_s`: the length of the next
  // window.
  Backfiller(Database& db, AccountingSource& source, std::string cluster, std::int64_t window_s = kFirstS)
      : db_(db), source_(source), cluster_(std::move(cluster)), window_s_(window_s) {}

  // Reads this window, whatever was read before. The number of its attempts.
  absl::StatusOr<std::int64_t> Take(Stretch window, std::int64_t now_s);

  // Reads one window of what is missing in `wanted`, latest first. True: more is missing. The last kSettleS
  // before now never count as missing, since they cannot be complete yet. After an error, the next window is
  // half as long (slurmdbd may refuse large queries or time out), down to a minimum.
  absl::StatusOr<bool> Step(Stretch wanted, std::int64_t now_s);

  std::int64_t window_s() const { return window_s_; }
  bool can_ask_for_less() const { return window_s_ > kShortestS; }
  std::int64_t attempts() const { return attempts_; }
  std::int64_t outages() const { return outages_; }

 private:
  Database& db_;
  AccountingSource& source_;
  std::string cluster_;
  std::int64_t window_s_;
  std::int64_t attempts_ = 0;
  std::int64_t outages_ = 0;
};

}  // namespace goodput
