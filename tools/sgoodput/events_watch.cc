// `sgoodput events`: tells the administrator's program, or a URL, what happens to runs, each minute.
//
// An event is noted in the same write of the state that queues it, and leaves the queue in the write after
// its target took it. So it is sent once, and again only if this process dies between these two.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/live/events.h"
#include "tools/accounting/report/event_report.h"
#include "tools/accounting/report/suspects.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/base/format.h"
#include "tools/sgoodput/events_deliver.h"
#include "tools/sgoodput/events_queue.h"
#include "tools/sgoodput/events_state.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/rollup_subject.h"
#include "tools/sgoodput/selection.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

constexpr absl::Duration kEventsPause = absl::Minutes(1);
constexpr absl::Duration kTakeOver = absl::Seconds(5);
// Records about an end, and with them its cause, arrive within this time, as a rule.
constexpr Ns kCauseSettles = 60 * kSecond;
constexpr Ns kJudgeEvery = 3600 * kSecond;
constexpr Ns kJudgedTime = Ns{30} * 86'400 * kSecond;

SelectionOptions Since(Ns t) {
  SelectionOptions select;
  select.all_users = true;
  select.start = absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixNanos(t), absl::LocalTimeZone());
  return select;
}

EventRun RunOf(const Report& report) {
  const RunInfo& info = report.run.info;
  return {info.cluster, info.run.empty() ? info.name : info.run, info.user, info.account, info.partition};
}

// "CLUSTER/NODE" of a row by node, which names the cluster if there are several.
std::string NodeOfRow(const RollupRow& row, const std::string& cluster) {
  const std::vector<std::string> parts = GroupParts(row.group);
  return Cat(parts.size() > 1 ? parts.front() : cluster, "/", parts.back());
}

Event FailingNode(const std::string& name, const RollupRow& row, Ns since) {
  Event event;
  event.kind = EventKind::kFailingNode;
  event.id = Cat("failing_node/", name, "/", since / kSecond);
  event.time = since;
  event.run.cluster = name.substr(0, name.find('/'));
  event.node = name.substr(name.find('/') + 1);
  event.text = Cat("node ", event.node, event.run.cluster.empty() ? "" : Cat(" of ", event.run.cluster),
                   " fails more often than by chance: ", row.node_failures, " failures in ",
                   FormatDuration(row.node_ns), " of use within 30 days");
  event.command = "sgoodput report -a -S now-30days --by node --suspects";
  return event;
}

struct EventsSetup {
  Config config;
  std::string state_file;
};

absl::StatusOr<EventsSetup> SetUpEvents(const EventsOptions& options) {
  EventsSetup setup;
  ASSIGN_OR_RETURN(setup.config, LoadConfig(options.common.config));
  setup.state_file = EventsStateFile(options.common.db.empty() ? setup.config.database : options.common.db);
  if (EventTargets(setup.config).empty())
    return absl::FailedPreconditionError(
        "goodput.conf has no event_program or event_url; see goodput.conf(5)");
  return setup;
}

absl::Status NotAsRoot(const char* command) {
  if (geteuid() != 0) return absl::OkStatus();
  return absl::PermissionDeniedError(Cat(
      "do not run it as root, but as the owner of the database: sudo -u goodput sgoodput events ", command));
}

class EventsWatch {
 public:
  EventsWatch(EventsOptions options, EventsSetup setup)
      : options_(std::move(options)), setup_(std::move(setup)), targets_(EventTargets(setup_.config)) {}
  ~EventsWatch() {
    if (lock_ >= 0) close(lock_);
  }
  EventsWatch(const EventsWatch&) = delete;
  EventsWatch& operator=(const EventsWatch&) = delete;

  // Unavailable: another process has the lock, perhaps on another controller.
  absl::Status Open() {
    const std::string lock = setup_.state_file + ".lock";
    if (lock_ < 0) lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) return absl::FailedPreconditionError(absl::ErrnoToStatus(errno, lock).message());
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0)
      return absl::UnavailableError(Cat(lock, ": another sgoodput events watch runs"));
    absl::StatusOr<std::optional<EventsState>> state = LoadEventsState(setup_.state_file);
    EventsState begin;
    if (absl::IsDataLoss(state.status())) {
      std::fprintf(stderr,
                   "sgoodput: events: %s is damaged; it begins again, with what happens from now on\n",
                   Printable(setup_.state_file).c_str());
    } else if (!state.ok()) {
      return state.status();
    } else if (*state) {
      begin = **std::move(state);
    }
    queue_.emplace(setup_.state_file, targets_, std::move(begin),
                   [this](const WaitingEvent& event) { return Deliver(event, setup_.config); });
    return absl::OkStatus();
  }

  // Looks for events and begins to deliver what is due. An error: nothing can be noted on this machine.
  absl::Status Pass() {
    const Ns now = absl::GetCurrentTimeNanos();
    EventsState state = queue_->State();
    absl::Status looked = Look(now, state);
    if (looked.ok() && now - state.judged >= kJudgeEvery) looked = Judge(now, state);
    const std::string problem = Message(looked);
    if (!problem.empty() && problem != state.problem)
      std::fprintf(stderr, "sgoodput: events: %s\n", Printable(problem).c_str());
    state.problem = problem;
    if (looked.ok()) {
      state.looked = now;
      if (state.began == 0) state.began = now;
    }
    RETURN_IF_ERROR(queue_->Put(std::move(state), now));
    return queue_->Start();
  }

  // Waits until what was due is delivered. Returns whether all went well.
  absl::StatusOr<bool> Finish() {
    RETURN_IF_ERROR(queue_->Finish());
    EventsState state = queue_->State();
    return state.problem.empty() && std::all_of(targets_.begin(), targets_.end(), [&](EventTarget target) {
             return state.targets[target].problem.empty();
           });
  }

 private:
  CommonOptions Common() const {
    CommonOptions common = options_.common;
    common.no_refresh = true;  // goodputd does
    common.url.clear();
    return common;
  }

  absl::Status Look(Ns now, EventsState& state) const {
    // What a pass that fails midway has found is found again.
    EventsState found = state;
    std::set<std::string> seen;
    const absl::Status status = ForEachSelected(Common(), Since(now - kEventLife), {},
                                                [&](Session& /*session*/, const Report& report) {
                                                  // Runs without a cluster were imported.
                                                  if (!report.run.info.cluster.empty())
                                                    TakeRun(report, now, found, seen);
                                                  return absl::OkStatus();
                                                });
    RETURN_IF_ERROR(status);
    // A run that ended while nobody looked, more than a day ago.
    for (auto one = found.open.begin(); one != found.open.end();)
      one = seen.count(one->first) == 0 ? found.open.erase(one) : std::next(one);
    state = std::move(found);
    return absl::OkStatus();
  }

  static void TakeRun(const Report& report, Ns now, EventsState& into, std::set<std::string>& seen) {
    const EventRun run = RunOf(report);
    for (const Event& event : InterruptionEvents(run, report.timeline)) {
      if (event.time <= now - kCauseSettles) into.TakeInterruption(event, now);
    }
    for (auto one = into.open.begin(); one != into.open.end();) {
      if (IsOfRun(one->second, run, report.timeline)) seen.insert(one->first);
      const std::optional<Event> end = StallEndEvent(run, report.timeline, one->second);
      if (end) into.Take(*end, now);
      one = end ? into.open.erase(one) : std::next(one);
    }
    const std::optional<Event> stall = StallEvent(run, report.timeline);
    if (!stall) return;
    seen.insert(stall->id);
    // Nobody is told of the end of what they were not told of.
    if (into.Take(*stall, now)) into.open[stall->id] = {stall->id, stall->job_id, stall->time};
  }

  absl::Status Judge(Ns now, EventsState& state) const {
    Rollup rollup(RollupBy::kNode, "", {});
    NodeFeatures features;
    std::string cluster = setup_.config.cluster;
    RETURN_IF_ERROR(
        ForEachSelected(Common(), Since(now - kJudgedTime), {}, [&](Session& session, const Report& report) {
          if (report.run.info.cluster.empty()) return absl::OkStatus();
          if (cluster.empty()) cluster = report.run.info.cluster;
          ASSIGN_OR_RETURN(const RollupSubject subject, SubjectOf(report, false, session.db, features));
          rollup.Add(subject, report.timeline);
          return absl::OkStatus();
        }));
    RollupReport suspects;
    suspects.rows = rollup.Rows();
    KeepSuspects(suspects);
    std::map<std::string, Ns> still;
    for (const RollupRow& row : suspects.rows) {
      const std::string name = NodeOfRow(row, cluster);
      const auto known = state.suspects.find(name);
      const Ns since = known == state.suspects.end() ? now : known->second;
      still[name] = since;
      if (known == state.suspects.end()) state.Take(FailingNode(name, row, since), now);
    }
    state.suspects = std::move(still);
    state.judged = now;
    return absl::OkStatus();
  }

  const EventsOptions options_;
  const EventsSetup setup_;
  const std::vector<EventTarget> targets_;
  int lock_ = -1;
  std::optional<EventsQueue> queue_;  // last, since its threads use the others
};

std::string LineOfTarget(EventTarget target, const EventsState& state, Ns now) {
  const auto found = state.targets.find(target);
  const TargetState of = found == state.targets.end() ? TargetState{} : found->second;
  const auto waits = std::count_if(state.waiting.begin(), state.waiting.end(),
                                   [&](const WaitingEvent& one) { return one.target == target; });
  std::string line =
      Cat(EventTargetName(target), ": ", of.sent, " sent, ", waits, " waiting, ", of.dropped,
          " dropped; last sent ", of.done == 0 ? "never" : Cat(FormatDuration(now - of.done), " ago"));
  if (!of.problem.empty()) line += Cat("; ", of.problem);
  return Wrap(Printable(line), "");
}

}  // namespace

int RunEventsWatch(const EventsOptions& options) {
  absl::StatusOr<EventsSetup> setup = SetUpEvents(options);
  if (!setup.ok()) return Fail(setup.status());
  if (const absl::Status root = NotAsRoot("watch"); !root.ok()) return Fail(root);
  EventsWatch watch(options, *std::move(setup));
  std::string said;
  absl::Status opened = watch.Open();
  // It takes over when the other one has ended.
  for (; absl::IsUnavailable(opened) && !options.once; opened = watch.Open()) {
    if (Message(opened) != said) Fail(opened);
    said = Message(opened);
    absl::SleepFor(kTakeOver);
  }
  if (!opened.ok()) return Fail(opened);
  said.clear();
  while (true) {
    const absl::Time began = absl::Now();
    absl::Status pass = watch.Pass();
    if (options.once) {
      if (!pass.ok()) return Fail(pass);
      const absl::StatusOr<bool> well = watch.Finish();
      return well.ok() ? (*well ? kAnswered : kNothingMatched) : Fail(well.status());
    }
    if (!pass.ok() && Message(pass) != said) Fail(pass);
    said = Message(pass);
    absl::SleepFor(kEventsPause - std::min(kEventsPause, absl::Now() - began));
  }
}

int RunEventsStatus(const EventsOptions& options) {
  const absl::StatusOr<EventsSetup> setup = SetUpEvents(options);
  if (!setup.ok()) return Fail(setup.status());
  const absl::StatusOr<std::optional<EventsState>> state = LoadEventsState(setup->state_file);
  if (!state.ok()) return Fail(Annotate(state.status(), setup->state_file));
  if (!*state) {
    std::printf("Nothing was done so far: there is no %s\n", Printable(setup->state_file).c_str());
    return kNothingMatched;
  }
  const Ns now = absl::GetCurrentTimeNanos();
  const std::string looked =
      Cat("Looked for events ",
          (*state)->looked == 0 ? "never" : Cat(FormatDuration(now - (*state)->looked), " ago"),
          (*state)->problem.empty() ? "" : "; ", (*state)->problem);
  std::fputs(Wrap(Printable(looked), "").c_str(), stdout);
  bool good = (*state)->problem.empty();
  for (const EventTarget target : EventTargets(setup->config)) {
    std::fputs(LineOfTarget(target, **state, now).c_str(), stdout);
    const auto found = (*state)->targets.find(target);
    good = good && (found == (*state)->targets.end() || found->second.problem.empty());
  }
  return good ? kAnswered : kNothingMatched;
}

int RunEventsTest(const EventsOptions& options) {
  const absl::StatusOr<EventsSetup> setup = SetUpEvents(options);
  if (!setup.ok()) return Fail(setup.status());
  if (const absl::Status root = NotAsRoot("test"); !root.ok()) return Fail(root);
  Event event;
  event.time = absl::GetCurrentTimeNanos();
  event.id = Cat("test/", event.time);
  event.run.cluster = setup->config.cluster;
  event.text = "a test of slurm-goodput's events; nothing has happened";
  bool good = true;
  for (const EventTarget target : EventTargets(setup->config)) {
    const absl::Status taken =
        Deliver({target, event.time, 0, 0, event.id, EventEnvironment(event), EventAsJson(event)},
                setup->config)
            .status;
    std::fputs(Wrap(Printable(Cat(EventTargetName(target), ": ", taken.ok() ? "taken" : Message(taken))), "")
                   .c_str(),
               stdout);
    good = good && taken.ok();
  }
  return good ? kAnswered : kNothingMatched;
}

}  // namespace goodput
