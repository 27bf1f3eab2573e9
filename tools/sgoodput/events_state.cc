#include "tools/sgoodput/events_state.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/report/event_report.h"
#include "tools/base/format.h"
#include "tools/base/replace_file.h"

namespace goodput {
namespace {

constexpr std::string_view kEventsHeader = "slurm-goodput events 1";
constexpr Ns kFirstBackOff = 30 * kSecond;
constexpr Ns kLongestBackOff = 3600 * kSecond;
constexpr std::size_t kMostInEnvironment = 1000;

// Fields of a line of the file: numbers, and text without tabs and newlines.
class EventFields {
 public:
  explicit EventFields(absl::string_view line) : words_(absl::StrSplit(line, '\t')) {}

  std::string Word() {
    std::string text;
    if (at_ >= words_.size() || !absl::CUnescape(words_[at_], &text)) good_ = false;
    ++at_;
    return text;
  }
  std::int64_t Number() {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(Word(), &number) || number < 0) good_ = false;
    return number;
  }
  EventTarget Target() {
    const std::string name = Word();
    if (name == EventTargetName(EventTarget::kUrl)) return EventTarget::kUrl;
    if (name != EventTargetName(EventTarget::kProgram)) good_ = false;
    return EventTarget::kProgram;
  }
  bool More() const { return good_ && at_ < words_.size(); }
  bool IsWhole() const { return good_ && at_ == words_.size(); }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  bool good_ = true;
};

void ReadWaiting(EventFields& fields, EventsState& state) {
  WaitingEvent one;
  one.target = fields.Target();
  one.queued = fields.Number();
  one.next = fields.Number();
  one.tries = static_cast<int>(fields.Number());
  one.id = fields.Word();
  one.json = fields.Word();
  while (fields.More()) {
    std::string name = fields.Word();
    one.env.emplace_back(std::move(name), fields.Word());
  }
  state.waiting.push_back(std::move(one));
}

bool ReadEventsLine(absl::string_view line, EventsState& state) {
  EventFields fields(line);
  const std::string what = fields.Word();
  if (what == "times") {
    state.began = fields.Number();
    state.looked = fields.Number();
    state.judged = fields.Number();
    state.problem = fields.Word();
  } else if (what == "target") {
    TargetState& target = state.targets[fields.Target()];
    target.done = fields.Number();
    target.sent = fields.Number();
    target.dropped = fields.Number();
    target.problem = fields.Word();
    if (fields.More()) target.not_before = fields.Number();
  } else if (what == "known" || what == "suspect") {
    const Ns time = fields.Number();
    (what == "known" ? state.known : state.suspects)[fields.Word()] = time;
  } else if (what == "told") {
    ToldInterruption told;
    told.time = fields.Number();
    told.corrections = static_cast<int>(fields.Number());
    told.planned = fields.Number() != 0;
    const std::string id = fields.Word();
    told.cause = fields.Word();
    told.node = fields.Word();
    state.told[id] = std::move(told);
  } else if (what == "open") {
    ToldStall stall;
    stall.job_id = fields.Number();
    stall.since = fields.Number();
    stall.id = fields.Word();
    state.open[stall.id] = stall;
  } else if (what == "waiting") {
    ReadWaiting(fields, state);
  } else {
    return false;
  }
  return fields.IsWhole();
}

std::string TargetLines(const EventsState& state) {
  std::string text;
  for (const auto& [target, of] : state.targets) {
    text += Cat("target\t", EventTargetName(target), "\t", of.done, "\t", of.sent, "\t", of.dropped, "\t",
                absl::CEscape(of.problem), "\t", of.not_before, "\n");
  }
  return text;
}

}  // namespace

std::string_view EventTargetName(EventTarget target) {
  return target == EventTarget::kProgram ? "event_program" : "event_url";
}

std::vector<EventTarget> EventTargets(const Config& config) {
  std::vector<EventTarget> targets;
  if (!config.event_program.empty()) targets.push_back(EventTarget::kProgram);
  if (!config.event_url.empty()) targets.push_back(EventTarget::kUrl);
  return targets;
}

bool EventsState::Take(const Event& event, Ns now) {
  if (event.time < now - kEventLife) return false;
  if (!known.emplace(event.id, event.time).second || began == 0) return false;
  fresh.push_back({event, std::nullopt});
  return true;
}

void EventsState::TakeInterruption(const Event& event, Ns now) {
  if (Take(event, now)) {
    told[event.id] = AsTold(event);
    return;
  }
  const auto before = told.find(event.id);
  if (before == told.end()) return;
  std::optional<Event> correction = CorrectionOf(event, before->second);
  if (!correction) return;
  const int corrections = before->second.corrections + 1;
  before->second = AsTold(event);
  before->second.corrections = corrections;
  fresh.push_back({*std::move(correction), event});
}

void EventsState::Queue(const std::vector<EventTarget>& to, Ns now,
                        const std::map<EventTarget, std::string>& in_flight) {
  for (const Fresh& one : fresh) {
    for (const EventTarget target : to) {
      const auto flies = in_flight.find(target);
      const auto waits = std::find_if(waiting.begin(), waiting.end(), [&](const WaitingEvent& other) {
        return one.right && other.target == target && other.id == one.right->id;
      });
      if (waits != waiting.end() && (flies == in_flight.end() || flies->second != waits->id)) {
        waits->env = EventEnvironment(*one.right);
        waits->json = EventAsJson(*one.right);
      } else if (waiting.size() >= kMostWaitingEvents) {
        ++targets[target].dropped;
      } else {
        waiting.push_back(
            {target, now, now, 0, one.event.id, EventEnvironment(one.event), EventAsJson(one.event)});
      }
    }
  }
  fresh.clear();
}

bool EventsState::WaitsForAnother(const WaitingEvent& one) const {
  return std::any_of(waiting.begin(), waiting.end(), [&](const WaitingEvent& other) {
    return other.target == one.target && absl::StartsWith(one.id, Cat(other.id, "/correction/"));
  });
}

void EventsState::Forget(Ns now) {
  // Twice as long as events are told of: a correction of clocks must not bring one back.
  for (auto one = known.begin(); one != known.end();)
    one = one->second < now - 2 * kEventLife ? known.erase(one) : std::next(one);
  for (auto one = told.begin(); one != told.end();)
    one = one->second.time < now - 2 * kEventLife ? told.erase(one) : std::next(one);
  waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                               [&](const WaitingEvent& one) {
                                 if (one.queued >= now - kEventLife) return false;
                                 ++targets[one.target].dropped;
                                 return true;
                               }),
                waiting.end());
}

Ns EventBackOff(int tries) {
  Ns pause = kFirstBackOff;
  for (int i = 1; i < tries && pause < kLongestBackOff; ++i) pause *= 2;
  return std::min(pause, kLongestBackOff);
}

Ns EventPause(Ns asked) {
  return std::clamp(asked, kFirstBackOff, kLongestBackOff);
}

std::vector<std::pair<std::string, std::string>> EventEnvironment(const Event& event) {
  std::vector<std::pair<std::string, std::string>> env;
  const auto add = [&](const char* name, const std::string& value) {
    env.emplace_back(Cat("GOODPUT_EVENT_", name), Printable(value, kMostInEnvironment));
  };
  add("ID", event.id);
  add("CORRECTS", event.corrects);
  add("KIND", std::string(EventKindName(event.kind)));
  add("TIME", Cat(event.time / kSecond));
  add("CLUSTER", event.run.cluster);
  add("JOB_ID", event.job_id > 0 ? Cat(event.job_id) : "");
  add("RUN", event.run.run);
  add("USER", event.run.user);
  add("ACCOUNT", event.run.account);
  add("PARTITION", event.run.partition);
  add("NODE", event.node);
  add("CAUSE", event.cause);
  add("TEXT", event.text);
  return env;
}

std::string EventsStateFile(const std::string& database) {
  return std::filesystem::path(database).parent_path() / "events.state";
}

std::string FormatEventsState(const EventsState& state) {
  std::string text = Cat(kEventsHeader, "\ntimes\t", state.began, "\t", state.looked, "\t", state.judged,
                         "\t", absl::CEscape(state.problem), "\n", TargetLines(state));
  for (const auto& [id, time] : state.known) text += Cat("known\t", time, "\t", absl::CEscape(id), "\n");
  for (const auto& [node, since] : state.suspects)
    text += Cat("suspect\t", since, "\t", absl::CEscape(node), "\n");
  for (const auto& [id, stall] : state.open)
    text += Cat("open\t", stall.job_id, "\t", stall.since, "\t", absl::CEscape(id), "\n");
  for (const auto& [id, told] : state.told) {
    text += Cat("told\t", told.time, "\t", told.corrections, "\t", told.planned ? 1 : 0, "\t",
                absl::CEscape(id), "\t", absl::CEscape(told.cause), "\t", absl::CEscape(told.node), "\n");
  }
  for (const WaitingEvent& one : state.waiting) {
    text += Cat("waiting\t", EventTargetName(one.target), "\t", one.queued, "\t", one.next, "\t", one.tries,
                "\t", absl::CEscape(one.id), "\t", absl::CEscape(one.json));
    for (const auto& [name, value] : one.env)
      text += Cat("\t", absl::CEscape(name), "\t", absl::CEscape(value));
    text += "\n";
  }
  return text;
}

absl::StatusOr<EventsState> ParseEventsState(std::string_view text) {
  EventsState state;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n', absl::SkipEmpty())) {
    const bool good = first ? line == ToAbsl(kEventsHeader) : ReadEventsLine(line, state);
    if (!good) return absl::DataLossError("damaged");
    first = false;
  }
  if (first) return absl::DataLossError("damaged");
  return state;
}

absl::StatusOr<std::optional<EventsState>> LoadEventsState(const std::string& path) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFileIfAny(path));
  if (!text) return std::optional<EventsState>();
  ASSIGN_OR_RETURN(EventsState state, ParseEventsState(*text));
  return std::optional<EventsState>(std::move(state));
}

}  // namespace goodput
