// `sgoodput backfill`: reads older attempts from slurmdbd into the database.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/parse_time.h"
#include "tools/base/progress.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/session.h"
#include "tools/sources/slurm/backfiller.h"

namespace goodput {
namespace {

std::int64_t LengthOf(const std::vector<Stretch>& stretches) {
  std::int64_t sum = 0;
  for (const Stretch& one : stretches) sum += one.to_s - one.from_s;
  return sum;
}

absl::StatusOr<Stretch> Wanted(const BackfillOptions& options, absl::Time now) {
  if (options.start.empty())
    return absl::InvalidArgumentError("specify a start time, such as -S 2024-01-01 or -S now-90days");
  const absl::StatusOr<Ns> start = ParseTimeOption(options.start, now);
  if (!start.ok()) return Annotate(start.status(), "-S");
  Stretch wanted{*start / kSecond, absl::ToUnixSeconds(now)};
  if (!options.end.empty()) {
    const absl::StatusOr<Ns> end = ParseTimeOption(options.end, now);
    if (!end.ok()) return Annotate(end.status(), "-E");
    wanted.to_s = std::min(wanted.to_s, *end / kSecond);
  }
  if (wanted.from_s >= wanted.to_s) return absl::InvalidArgumentError("-S must be in the past and before -E");
  return wanted;
}

absl::Status Read(Backfiller& backfiller, Database& db, const std::string& cluster, Stretch wanted) {
  Progress progress;
  const auto all_s = static_cast<double>(std::max<std::int64_t>(1, wanted.to_s - wanted.from_s));
  const std::int64_t now_s = absl::ToUnixSeconds(absl::Now());
  const std::int64_t recent_s = std::max(wanted.from_s, now_s - Backfiller::kSettleS);
  if (recent_s < wanted.to_s) {
    RETURN_IF_ERROR(backfiller.Take({recent_s, wanted.to_s}, now_s).status());
  }
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const std::vector<Stretch> done, LoadBackfilled(db, cluster));
    const auto missing_s = static_cast<double>(LengthOf(MissingOf(wanted, done)));
    progress.Say(
        absl::StrFormat("%2.0f%%, %d attempts read", 100 * (1 - missing_s / all_s), backfiller.attempts()));
    const bool can_ask_for_less = backfiller.can_ask_for_less();
    const absl::StatusOr<bool> step = backfiller.Step(wanted, now_s);
    if (absl::IsNotFound(step.status()) || (!step.ok() && !can_ask_for_less)) return step.status();
    if (step.ok()) more = *step;
  }
  return absl::OkStatus();
}

}  // namespace

int RunBackfill(const BackfillOptions& options) {
  const absl::StatusOr<Stretch> wanted = Wanted(options, absl::Now());
  if (!wanted.ok()) return Fail(wanted.status());
  const absl::StatusOr<Config> config = LoadConfig(options.common.config);
  if (!config.ok()) return Fail(absl::FailedPreconditionError(config.status().message()));
  absl::StatusOr<Database> db = Database::Open(
      options.common.db.empty() ? config->database : options.common.db, Database::Mode::kReadWrite);
  if (!db.ok()) return Fail(absl::FailedPreconditionError(db.status().message()));
  const absl::StatusOr<std::vector<Stretch>> before = LoadBackfilled(*db, config->cluster);
  if (!before.ok()) return Fail(before.status());
  const std::int64_t there_s = wanted->to_s - wanted->from_s - LengthOf(MissingOf(*wanted, *before));
  Backfiller backfiller(*db, SlurmAccounting(), config->cluster);
  const absl::Status status = Read(backfiller, *db, config->cluster, *wanted);
  if (!status.ok()) {
    return Fail(absl::FailedPreconditionError(
        Cat("reading slurmdbd stopped: ", Message(status), "; run the command again to continue")));
  }
  std::printf("read %lld attempts and %lld node outages, %s to %s",
              static_cast<long long>(backfiller.attempts()), static_cast<long long>(backfiller.outages()),
              FormatTime(wanted->from_s * kSecond).c_str(), FormatTime(wanted->to_s * kSecond).c_str());
  if (there_s > 0)
    std::printf("; %s of that had been read before", FormatDuration(there_s * kSecond).c_str());
  std::printf("\n");
  return kAnswered;
}

}  // namespace goodput
