#include "tools/sources/slurm/backfiller.h"

#include <algorithm>
#include <utility>

#include "sql/status_macros.h"
#include "tools/sources/slurm/sacct.h"
#include "tools/sources/slurm/sacctmgr.h"

namespace goodput {
namespace {

class SlurmCommands : public AccountingSource {
 public:
  absl::StatusOr<std::vector<AccountingRow>> Attempts(Stretch stretch) override {
    SacctQuery query;
    query.start_s = stretch.from_s;
    query.end_s = stretch.to_s;
    ASSIGN_OR_RETURN(SacctText text, sacct_.Run(query));
    return std::move(text.rows);
  }
  absl::StatusOr<std::vector<NodeOutage>> Outages(Stretch stretch) override {
    return RunNodeEvents(stretch.from_s, stretch.to_s);
  }

 private:
  Sacct sacct_;
};

}  // namespace

AccountingSource& SlurmAccounting() {
  static SlurmCommands commands;
  return commands;
}

absl::StatusOr<std::int64_t> Backfiller::Take(Stretch window, std::int64_t now_s) {
  ASSIGN_OR_RETURN(const std::vector<AccountingRow> rows, source_.Attempts(window));
  ASSIGN_OR_RETURN(const std::vector<NodeOutage> outages, source_.Outages(window));
  RETURN_IF_ERROR(StoreAccounting(db_, rows, now_s));
  RETURN_IF_ERROR(StoreOutages(db_, outages));
  RETURN_IF_ERROR(MarkBackfilled(db_, cluster_, {window.from_s, std::min(window.to_s, now_s - kSettleS)}));
  const auto attempts = static_cast<std::int64_t>(rows.size());
  attempts_ += attempts;
  outages_ += static_cast<std::int64_t>(outages.size());
  return attempts;
}

absl::StatusOr<bool> Backfiller::Step(Stretch wanted, std::int64_t now_s) {
  wanted.to_s = std::min(wanted.to_s, now_s - kSettleS);
  ASSIGN_OR_RETURN(const std::vector<Stretch> done, LoadBackfilled(db_, cluster_));
  const std::vector<Stretch> missing = MissingOf(wanted, done);
  if (missing.empty()) return false;
  Stretch window = missing.back();
  window.from_s = std::max(window.from_s, window.to_s - window_s_);
  const absl::StatusOr<std::int64_t> attempts = Take(window, now_s);
  if (!attempts.ok()) {
    window_s_ = std::max(kShortestS, window_s_ / 2);
    return attempts.status();
  }
  window_s_ = std::min(*attempts < kFew ? kLongestS : kFirstS, 2 * window_s_);
  return missing.size() > 1 || window.from_s > missing.back().from_s;
}

}  // namespace goodput
