#include "tools/goodputd/housekeeping/housekeeper.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "sql/database.h"
#include "sql/status_macros.h"
#include "sql/tables/purge.h"
#include "sql/text.h"
#include "tools/base/database_copy.h"
#include "tools/base/helper_message.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

constexpr const char* kCopy = "copy";
constexpr const char* kPurge = "purge";
constexpr int kTickMs = 1000;
constexpr absl::Duration kLook = absl::Minutes(1);
constexpr absl::Duration kFirstPurge = absl::Minutes(10);
// Limit of one pass over a database that was never purged; the next one continues.
constexpr absl::Duration kPurgeAtOnce = absl::Minutes(5);
// After a failure, doubling: the database may be created any moment.
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr int kNightBegins = 2;
constexpr int kNightEnds = 5;
// A day minus the possible delay of a nightly copy.
constexpr absl::Duration kADay = absl::Hours(21);
constexpr absl::Duration kTooOld = absl::Hours(48);
// For a database of a hundred gigabytes.
constexpr absl::Duration kPatience = absl::Hours(3);

}  // namespace

bool CopyIsDue(const std::vector<absl::Time>& copies, absl::Time now, absl::TimeZone zone) {
  // A copy dated in the future is ignored: a clock was wrong.
  absl::Time newest = absl::InfinitePast();
  for (const absl::Time made : copies) {
    if (made <= now) newest = std::max(newest, made);
  }
  const int hour = absl::ToCivilHour(now, zone).hour();
  const bool night = hour >= kNightBegins && hour < kNightEnds;
  return now - newest > (night ? kADay : kTooOld);
}

absl::Duration PurgeInterval(absl::Duration keep_events) {
  return std::clamp(keep_events / 100, absl::Seconds(1), absl::Hours(1));
}

namespace {

// What is to be logged; empty: nothing.
absl::StatusOr<std::string> Copy(const std::string& database, const std::string& folder) {
  const std::vector<DatabaseCopy> copies = CopiesIn(folder);
  std::vector<absl::Time> made;
  std::transform(copies.begin(), copies.end(), std::back_inserter(made),
                 [](const DatabaseCopy& copy) { return copy.made; });
  if (!CopyIsDue(made, absl::Now(), absl::LocalTimeZone())) return "";
  ASSIGN_OR_RETURN(const std::string copy, CopyDatabase(database, folder, absl::Now()));
  return Cat("the database was copied to ", copy);
}

absl::StatusOr<std::string> Purge(const std::string& path, const std::string& keep_s,
                                  const std::string& writer) {
  std::int64_t keep = 0;
  if (!absl::SimpleAtoi(keep_s, &keep)) return absl::InvalidArgumentError("no number");
  // The daemon that writes to the database creates it.
  if (access(path.c_str(), F_OK) != 0) return "";
  ASSIGN_OR_RETURN(Database db, Database::Open(path, Database::Mode::kReadWrite));
  db.WriteAs(writer);
  const absl::Time until = absl::Now() + kPurgeAtOnce;
  const std::int64_t now_s = absl::ToUnixSeconds(absl::Now());
  ASSIGN_OR_RETURN(const PurgeReport done,
                   PurgeEvents(db, now_s - keep, now_s, [&] { return absl::Now() > until; }));
  if (done.events == 0 && done.freed_bytes == 0) return "";
  return Cat("keep_events: replaced ", done.events, " records of ", done.jobs, " jobs by summaries, freed ",
             done.freed_bytes, " bytes");
}

// One task with its own schedule and problem.
struct Chore {
  const char* request;
  const char* key;  // key in goodput.conf
  absl::Duration interval;
  absl::Time next;
  absl::Duration pause = kFirstPause;  // after a failure
  Complaint trouble = {};

  void Take(const absl::StatusOr<std::string>& answer) {
    absl::Status done = answer.status();
    if (answer.ok()) {
      MessageReader reply(*answer);
      done = reply.Status();
      const std::string said(reply.Text());
      if (done.ok() && !said.empty()) Log(said);
    }
    const bool failed = !done.ok();
    trouble.Say(failed ? Cat(key, ": ", Message(done)) : std::string());
    pause = failed ? std::min(2 * pause, kLook) : kFirstPause;
    next = absl::Now() + (failed ? pause : interval);
  }
};

}  // namespace

HelperAnswers HousekeepingHelper(const std::vector<std::string>& arguments) {
  return [arguments](std::string_view request, const HelperProgress& /*at*/) -> std::string {
    absl::StatusOr<std::string> said = absl::InternalError("the housekeeping helper needs four arguments");
    if (arguments.size() == 4) {
      said = request == kPurge ? Purge(arguments[0], arguments[2], arguments[3])
                               : Copy(arguments[0], arguments[1]);
    }
    MessageWriter reply;
    reply.Status(said.status()).Text(said.ok() ? *said : "");
    return reply.Take();
  };
}

void RunHousekeeping(const Config& config, const std::string& writer, int stop_fd,
                     const std::atomic<bool>& standby) {
  std::vector<Chore> chores;
  if (!config.database_copy.empty()) chores.push_back({kCopy, "database_copy", kLook, absl::Now()});
  if (config.keep_events < absl::InfiniteDuration()) {
    const absl::Duration interval = PurgeInterval(config.keep_events);
    chores.push_back({kPurge, "keep_events", interval, absl::Now() + std::min(interval, kFirstPurge)});
  }
  if (chores.empty()) return;
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options;
  options.name = kHousekeepingHelper;
  options.arguments = {config.database, config.database_copy, Cat(absl::ToInt64Seconds(config.keep_events)),
                       writer};
  options.abandoned = &abandoned;
  options.timeout = kPatience;
  options.hurry_fd = stop_fd;
  HelperProcess helper(options);
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    if (standby) continue;
    for (Chore& chore : chores) {
      if (absl::Now() < chore.next) continue;
      const absl::StatusOr<std::string> answer = helper.Call(chore.request);
      if (poll(&stop, 1, 0) != 0) return;
      // It is needed for minutes per day.
      helper.Stop();
      chore.Take(answer);
    }
  } while (poll(&stop, 1, kTickMs) == 0);
}

}  // namespace goodput
