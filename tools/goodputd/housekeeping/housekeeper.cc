#include "tools/goodputd/housekeeping/housekeeper.h"

#include <poll.h>

#include <algorithm>
#include <iterator>

#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "sql/text.h"
#include "tools/goodputd/housekeeping/database_copy.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

constexpr int kMinuteMs = 60'000;
// After a failure, doubling: the database may be a second from being there.
constexpr int kFirstPauseMs = 1000;
constexpr int kNightBegins = 2;
constexpr int kNightEnds = 5;
// A day, less what a copy may come later one night than the next.
constexpr absl::Duration kADay = absl::Hours(21);
constexpr absl::Duration kTooOld = absl::Hours(48);
// Of a database of a hundred gigabytes.
constexpr absl::Duration kPatience = absl::Hours(3);
constexpr char kFailed = '!';

}  // namespace

bool CopyIsDue(const std::vector<absl::Time>& copies, absl::Time now, absl::TimeZone zone) {
  // What is dated in the future says nothing: a clock was wrong.
  absl::Time newest = absl::InfinitePast();
  for (const absl::Time made : copies) {
    if (made <= now) newest = std::max(newest, made);
  }
  const int hour = absl::ToCivilHour(now, zone).hour();
  const bool night = hour >= kNightBegins && hour < kNightEnds;
  return now - newest > (night ? kADay : kTooOld);
}

HelperAnswers HousekeepingHelper(const std::vector<std::string>& arguments) {
  return [arguments](std::string_view /*request*/, const HelperProgress& /*at*/) -> std::string {
    if (arguments.size() != 2)
      return Cat(std::string(1, kFailed), "the housekeeping helper needs two arguments");
    const std::vector<DatabaseCopy> copies = CopiesIn(arguments[1]);
    std::vector<absl::Time> made;
    std::transform(copies.begin(), copies.end(), std::back_inserter(made),
                   [](const DatabaseCopy& copy) { return copy.made; });
    if (!CopyIsDue(made, absl::Now(), absl::LocalTimeZone())) return "";
    const absl::StatusOr<std::string> copy = CopyDatabase(arguments[0], arguments[1], absl::Now());
    return copy.ok() ? *copy : Cat(std::string(1, kFailed), Message(copy.status()));
  };
}

void RunHousekeeping(const Config& config, int stop_fd, const std::atomic<bool>& standby) {
  if (config.database_copy.empty()) return;
  Complaint trouble;
  AbandonedHelpers abandoned(1);
  HelperProcess::Options options;
  options.name = kHousekeepingHelper;
  options.arguments = {config.database, config.database_copy};
  options.abandoned = &abandoned;
  options.timeout = kPatience;
  options.hurry_fd = stop_fd;
  HelperProcess helper(options);
  pollfd stop{stop_fd, POLLIN, 0};
  int pause_ms = kFirstPauseMs;
  int failed_ms = kFirstPauseMs;
  do {
    pause_ms = kFirstPauseMs;
    if (standby) continue;
    const absl::StatusOr<std::string> answer = helper.Call("copy");
    if (poll(&stop, 1, 0) != 0) return;
    // It is needed for minutes a day.
    helper.Stop();
    const bool failed = !answer.ok() || (!answer->empty() && answer->front() == kFailed);
    trouble.Say(!failed ? std::string()
                        : Cat("database_copy: ", answer.ok() ? answer->substr(1) : Message(answer.status())));
    failed_ms = failed ? std::min(2 * failed_ms, kMinuteMs) : kFirstPauseMs;
    pause_ms = failed ? failed_ms : kMinuteMs;
    if (!failed && !answer->empty()) Log(Cat("the database was copied to ", *answer));
  } while (poll(&stop, 1, pause_ms) == 0);
}

}  // namespace goodput
