// Brings what slurmdbd knows of a long time into the database, a bounded window at a time.
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

// Who has the records. Both give what there was at any time of the stretch; NotFound: there is nobody to ask.
class AccountingSource {
 public:
  virtual ~AccountingSource() = default;
  virtual absl::StatusOr<std::vector<AccountingRow>> Attempts(Stretch stretch) = 0;
  virtual absl::StatusOr<std::vector<NodeOutage>> Outages(Stretch stretch) = 0;
};
// sacct and sacctmgr.
AccountingSource& SlurmAccounting();

// Idempotent, and may be stopped anywhere: what was done is remembered in the database, and not asked for
// again.
class Backfiller {
 public:
  static constexpr std::int64_t kLongestS = 86'400;
  static constexpr std::int64_t kShortestS = 300;
  // So long slurmdbd may take to hear of what happened; the last of it is asked for again.
  static constexpr std::int64_t kSettleS = 3600;

  // Both borrowed. `cluster`: under which name it is remembered. `window_s`: as long as one that worked was.
  Backfiller(Database& db, AccountingSource& source, std::string cluster, std::int64_t window_s = kLongestS)
      : db_(db), source_(source), cluster_(std::move(cluster)), window_s_(window_s) {}

  // Asks for this window, whatever was asked before.
  absl::Status Take(Stretch window, std::int64_t now_s);

  // Asks for one window of what is missing of `wanted`, the latest first. True: more is missing. The last
  // kSettleS before now are never missing, for nobody can have all of them yet. After an error
  // the next window is half as long (slurmdbd may refuse or time out on much), unless it is as short as it
  // gets.
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
