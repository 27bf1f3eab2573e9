#include "tools/sources/logs/profile.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/decimal.h"
#include "tools/sources/logs/line_time.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 18> kKindNames{
    "step_end",      "step_begin",    "training_begin", "save_begin",      "save_end",   "save",
    "save_goes_on",  "restore_begin", "restore_end",    "phase_begin",     "phase_end",  "stop",
    "program_begin", "program_end",   "job_end",        "collective_host", "collective", "epoch_begin"};
// Groups of a rule's expression, and those that are times.
constexpr std::array<std::string_view, 19> kGroups{
    "about_s",    "step", "of",   "epoch", "epoch1",  "name",  "step_s",    "step_ms",   "took_s", "took_ms",
    "began_unix", "date", "unix", "glog",  "elapsed", "bytes", "algbw_gbs", "busbw_gbs", "us_date"};
constexpr std::array<std::string_view, 4> kStampGroups{"date", "us_date", "unix", "glog"};
constexpr std::size_t kMaxGroups = 12;
constexpr std::int64_t kMaxStep = std::int64_t{1} << 53;
constexpr std::int64_t kMaxDurationNs = std::int64_t{400} * 86'400 * 1'000'000'000;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::int64_t kMaxExpressionBytes = std::int64_t{8} << 20U;

// RE2 takes its own string type, which depends on the release.
re2::StringPiece Piece(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view View(const re2::StringPiece& piece) {
  return {piece.data(), piece.size()};
}

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  // A log is bytes; invalid UTF-8 must not prevent a match.
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(kMaxExpressionBytes);
  return options;
}

bool KnowsGroup(std::string_view name, bool stamp) {
  if (stamp) return std::find(kStampGroups.begin(), kStampGroups.end(), name) != kStampGroups.end();
  return std::find(kGroups.begin(), kGroups.end(), name) != kGroups.end();
}

}  // namespace

// The parts of LogProfile::Impl, in a named namespace: in a unity build, g++ needs their linkage to match.
namespace profile_parts {

// An expression, and the index of each group.
class Expression {
 public:
  explicit Expression(std::string_view text) : re_(std::make_unique<RE2>(Piece(text), Quiet())) {
    if (!re_->ok()) return;
    for (const auto& [name, index] : re_->NamedCapturingGroups()) groups_.emplace_back(name, index);
  }
  std::string Problem(bool stamp) const {
    if (!re_->ok()) return Cat("invalid expression: ", re_->error());
    if (re_->NumberOfCapturingGroups() > static_cast<int>(kMaxGroups)) return "more than 12 groups";
    for (const auto& [name, index] : groups_) {
      if (!KnowsGroup(name, stamp)) return Cat("unknown group ", name);
    }
    if (stamp && groups_.size() != 1)
      return "a stamp needs exactly one of the groups date, us_date, unix and glog";
    return "";
  }

  // Calls `take` with each named group that matched.
  template <typename Take>
  bool Match(std::string_view line, const Take& take) const {
    std::array<re2::StringPiece, kMaxGroups + 1> found;
    const int count = re_->NumberOfCapturingGroups() + 1;
    if (!re_->Match(Piece(line), 0, line.size(), RE2::UNANCHORED, found.data(), count)) return false;
    for (const auto& [name, index] : groups_) {
      const re2::StringPiece& piece = found[static_cast<std::size_t>(index)];
      if (piece.data() != nullptr) take(std::string_view(name), View(piece));
    }
    return true;
  }

 private:
  std::unique_ptr<RE2> re_;
  std::vector<std::pair<std::string, int>> groups_;
};

struct Example {
  std::string line;
  std::string gives;
  int at = 0;  // line of the file
};

struct Rule {
  LogEvent::Kind kind = LogEvent::Kind::kStepEnd;
  std::optional<Expression> match;
  std::string text;  // of the expression
  std::int64_t add = 0;
  std::string name;
  bool over_at_next_step = false;
  bool complete_is_untold = false;
  bool told_at_next_step = false;
  LogEvent::Within within = LogEvent::Within::kProgram;
  std::vector<Example> examples;
  int at = 0;
};

}  // namespace profile_parts

namespace {

using profile_parts::Example;
using profile_parts::Expression;
using profile_parts::Rule;

const std::vector<Expression>& UsualStamps() {
  static const auto* const stamps = new std::vector<Expression>(kStamps.begin(), kStamps.end());
  return *stamps;
}

std::optional<LineTime> TimeOfGroup(std::string_view group, std::string_view text) {
  if (group == "date") return ParseDate(text);
  if (group == "unix" || group == "began_unix") return ParseUnix(text);
  if (group == "us_date") return ParseUsDate(text);
  if (group == "glog") return ParseGlog(text);
  return std::nullopt;
}

// Some frameworks print 1,000 for a thousand.
std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value) || value < 0 || value > kMaxStep) return std::nullopt;
  return value;
}

// From 10^9 bytes per second to bytes per second.
std::optional<std::int64_t> Bandwidth(std::string_view text) {
  const std::optional<std::int64_t> bytes = ParseDecimal(text, 9);
  if (!bytes || *bytes <= 0) return std::nullopt;
  return bytes;
}

// "31:31" or "1:02:03", as printed by tqdm.
std::optional<std::int64_t> Elapsed(std::string_view text) {
  std::int64_t seconds = 0;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), ':')) {
    std::int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < 0 || value > 100'000) return std::nullopt;
    seconds = seconds * 60 + value;
  }
  return seconds;
}

std::optional<std::int64_t> Duration(std::string_view text, int scale) {
  const std::optional<std::int64_t> ns = ParseDecimal(text, scale);
  if (!ns || *ns < 0 || *ns > kMaxDurationNs) return std::nullopt;
  return ns;
}

std::string Nanoseconds(std::int64_t ns) {
  std::string text;
  AppendSeconds(ns, text);
  // Removes trailing zeros.
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string TimeInWords(const LineTime& time) {
  const std::string at =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E*S", absl::FromUnixNanos(time.ns), absl::UTCTimeZone());
  if (time.kind == LineTime::Kind::kAbsolute) return at + "Z";
  return time.kind == LineTime::Kind::kYearless ? at.substr(5) : at;
}

}  // namespace

struct LogProfile::Impl {
  std::string name;
  std::string about;
  std::vector<profile_parts::Rule> rules;
  std::vector<profile_parts::Expression> stamps;  // its own; without any, those of kStamps do
  std::vector<profile_parts::Example> unlike;
  // All rules at once, since most lines match none.
  std::unique_ptr<RE2::Set> any;

  std::optional<LogEvent> Event(const Rule& rule, std::string_view line) const;
  std::optional<LogEvent> Match(std::string_view line, const Rule** by) const;
  std::optional<LineTime> TimeOf(std::string_view line) const;
};

namespace {

// Reads the items of a file, and checks its rules and examples.
class ProfileReader {
 public:
  enum class Examples { kChecked, kMayBeMissing, kCheckedByATest };
  ProfileReader(std::string_view where, Examples examples, LogProfile::Impl& into)
      : where_(where), examples_(examples), into_(into) {}
  absl::Status Read(std::string_view text);

 private:
  absl::Status Bad(int at, std::string_view what) const {
    return absl::InvalidArgumentError(Cat(where_, ":", at, ": ", what));
  }
  absl::Status Take(std::string_view word, std::string_view rest, int at);
  absl::Status TakeOfRule(std::string_view word, std::string_view rest, int at);
  absl::Status Check();
  absl::Status CheckStep(const Rule& rule) const;
  absl::Status CheckRule(const Rule& rule);
  absl::Status CheckExample(const Rule& rule, const Example& example) const;
  absl::Status CheckExamples() const;

  std::string where_;
  Examples examples_;
  LogProfile::Impl& into_;
};

}  // namespace

std::optional<LogEvent> LogProfile::Impl::Event(const Rule& rule, std::string_view line) const {
  LogEvent event;
  event.kind = rule.kind;
  event.name = rule.name;
  event.over_at_next_step = rule.over_at_next_step;
  event.complete_is_untold = rule.complete_is_untold;
  event.told_at_next_step = rule.told_at_next_step;
  event.within = rule.within;
  std::optional<std::int64_t> epoch;
  bool good = true;
  const auto need = [&good](auto value) {
    if (!value) good = false;
    return value;
  };
  const bool matched = rule.match->Match(line, [&](std::string_view group, std::string_view text) {
    if (group == "step") {
      event.step = need(WholeNumber(text));
    } else if (group == "of") {
      event.of = need(WholeNumber(text));
    } else if (group == "epoch") {
      epoch = need(WholeNumber(text));
    } else if (group == "epoch1") {
      epoch = need(WholeNumber(text));
      if (epoch && --*epoch < 0) good = false;
    } else if (group == "step_s" || group == "step_ms") {
      event.step_ns = need(Duration(text, group == "step_s" ? 9 : 6));
    } else if (group == "about_s") {
      event.about_ns = need(Duration(text, 9));
    } else if (group == "took_s" || group == "took_ms") {
      event.took_ns = need(Duration(text, group == "took_s" ? 9 : 6));
    } else if (group == "elapsed") {
      event.elapsed_s = need(Elapsed(text));
    } else if (group == "bytes") {
      event.bytes = need(WholeNumber(text));
    } else if (group == "algbw_gbs") {
      event.algbw = need(Bandwidth(text));
    } else if (group == "busbw_gbs") {
      event.busbw = need(Bandwidth(text));
    } else if (group == "began_unix") {
      event.began = TimeOfGroup(group, text);
    } else if (group == "name") {
      event.name = std::string(text.substr(0, kMaxNameBytes));
    } else if (!event.time) {
      event.time = TimeOfGroup(group, text);
    }
  });
  if (!matched || !good) return std::nullopt;
  if (event.step) *event.step += rule.add;
  if (event.kind == LogEvent::Kind::kEpochBegin) event.epoch = epoch;
  if (epoch && event.step && !PlaceInEpoch(event, *epoch)) return std::nullopt;
  if (event.step && (*event.step < 0 || *event.step > kMaxStep)) return std::nullopt;
  if (!event.time) event.time = TimeOf(line);
  return event;
}

std::optional<LineTime> LogProfile::Impl::TimeOf(std::string_view line) const {
  std::optional<LineTime> time;
  for (const Expression& stamp : stamps.empty() ? UsualStamps() : stamps) {
    stamp.Match(line,
                [&](std::string_view group, std::string_view text) { time = TimeOfGroup(group, text); });
    if (time) break;
  }
  return time;
}

std::optional<LogEvent> LogProfile::Impl::Match(std::string_view line, const Rule** by) const {
  std::vector<int> matching;
  if (any == nullptr || !any->Match(Piece(line), &matching)) return std::nullopt;
  std::sort(matching.begin(), matching.end());
  for (const int index : matching) {
    const Rule& rule = rules[static_cast<std::size_t>(index)];
    std::optional<LogEvent> event = Event(rule, line);
    if (!event) continue;
    if (by != nullptr) *by = &rule;
    return event;
  }
  return std::nullopt;
}

namespace {

absl::Status ProfileReader::TakeOfRule(std::string_view word, std::string_view rest, int at) {
  if (into_.rules.empty()) return Bad(at, Cat("`", word, "` is outside of a rule"));
  Rule& rule = into_.rules.back();
  if (word == "match") {
    if (rule.match) return Bad(at, "a second `match`: start another rule");
    rule.match.emplace(rest);
    rule.text = std::string(rest);
    const std::string problem = rule.match->Problem(false);
    return problem.empty() ? absl::OkStatus() : Bad(at, problem);
  }
  if (word == "example") {
    rule.examples.push_back({std::string(rest), "", at});
    return absl::OkStatus();
  }
  const std::string_view value = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  if (word == "gives") {
    if (rule.examples.empty() || !rule.examples.back().gives.empty())
      return Bad(at, "`gives` without an example");
    rule.examples.back().gives = std::string(value);
    return absl::OkStatus();
  }
  if (word == "add") {
    if (!absl::SimpleAtoi(ToAbsl(value), &rule.add) || rule.add < -1000 || rule.add > 1000)
      return Bad(at, "`add` must be a number");
    return absl::OkStatus();
  }
  if (word == "name") {
    if (value.empty() || value.size() > kMaxNameBytes)
      return Bad(at, "`name` must be a name of at most 128 bytes");
    rule.name = std::string(value);
    return absl::OkStatus();
  }
  if (word == "over_at") {
    if (value != "next_step") return Bad(at, "`over_at` must be next_step");
    rule.over_at_next_step = true;
    return absl::OkStatus();
  }
  if (word == "told_at") {
    if (value != "next_step") return Bad(at, "`told_at` must be next_step");
    rule.told_at_next_step = true;
    return absl::OkStatus();
  }
  if (word == "within") {
    if (value != "epoch" && value != "epoch_if_any") return Bad(at, "`within` must be epoch or epoch_if_any");
    rule.within = value == "epoch" ? LogEvent::Within::kEpoch : LogEvent::Within::kEpochIfAny;
    return absl::OkStatus();
  }
  if (word == "complete") {
    if (value != "untold") return Bad(at, "`complete` must be untold");
    rule.complete_is_untold = true;
    return absl::OkStatus();
  }
  return Bad(at, Cat("unknown word `", word, "`"));
}

absl::Status ProfileReader::Take(std::string_view word, std::string_view rest, int at) {
  const std::string_view value = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  if (word == "profile") {
    const bool good =
        !value.empty() && value.size() <= 64 && std::all_of(value.begin(), value.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
        });
    if (!good) return Bad(at, "`profile` must be a name of letters, digits, '-', '_' and '.'");
    if (!into_.name.empty()) return Bad(at, "a second `profile`");
    into_.name = std::string(value);
    return absl::OkStatus();
  }
  if (word == "about") {
    into_.about = std::string(value);
    return absl::OkStatus();
  }
  if (word == "stamp") {
    into_.stamps.emplace_back(value);
    const std::string problem = into_.stamps.back().Problem(true);
    return problem.empty() ? absl::OkStatus() : Bad(at, problem);
  }
  if (word == "unlike") {
    into_.unlike.push_back({std::string(rest), "", at});
    return absl::OkStatus();
  }
  if (word == "rule") {
    const auto* const kind = std::find(kKindNames.begin(), kKindNames.end(), value);
    if (kind == kKindNames.end()) return Bad(at, Cat("unknown kind of rule `", value, "`"));
    Rule rule;
    rule.kind = static_cast<LogEvent::Kind>(kind - kKindNames.begin());
    rule.at = at;
    into_.rules.push_back(std::move(rule));
    return absl::OkStatus();
  }
  // Before a line of text, only one blank is skipped; otherwise all are.
  return TakeOfRule(word, word == "example" ? rest : value, at);
}

absl::Status ProfileReader::CheckExample(const Rule& rule, const Example& example) const {
  const Rule* by = nullptr;
  const std::optional<LogEvent> event = into_.Match(example.line, &by);
  if (!event) return Bad(example.at, "the example matches no rule");
  if (by != &rule) return Bad(example.at, Cat("the example matches the rule at line ", by->at, " first"));
  const std::string found = EventInWords(*event);
  if (found != example.gives)
    return Bad(example.at, Cat("the example gives `", found, "`, not `", example.gives, "`"));
  return absl::OkStatus();
}

// The line of a step's end may leave its number to the line of its begin.
absl::Status ProfileReader::CheckStep(const Rule& rule) const {
  const bool begin = rule.kind == LogEvent::Kind::kStepBegin;
  if ((!begin && rule.kind != LogEvent::Kind::kStepEnd) || rule.text.find("?P<step>") != std::string::npos)
    return absl::OkStatus();
  const bool begins = std::any_of(into_.rules.begin(), into_.rules.end(),
                                  [](const Rule& other) { return other.kind == LogEvent::Kind::kStepBegin; });
  if (begin || !begins) return Bad(rule.at, "a step needs a group `step`");
  if (rule.within != LogEvent::Within::kProgram) return Bad(rule.at, "`within` needs a group `step`");
  return absl::OkStatus();
}

absl::Status ProfileReader::CheckRule(const Rule& rule) {
  if (!rule.match) return Bad(rule.at, "the rule has no `match`");
  if (rule.examples.empty() && examples_ != Examples::kMayBeMissing)
    return Bad(rule.at, "the rule has no `example`");
  const bool named = rule.kind == LogEvent::Kind::kPhaseBegin || rule.kind == LogEvent::Kind::kPhaseEnd ||
                     rule.kind == LogEvent::Kind::kJobEnd || rule.kind == LogEvent::Kind::kCollectiveHost;
  if (named && rule.name.empty() && rule.text.find("?P<name>") == std::string::npos)
    return Bad(rule.at, "the rule needs a `name`");
  RETURN_IF_ERROR(CheckStep(rule));
  if (rule.kind == LogEvent::Kind::kEpochBegin && rule.text.find("?P<epoch") == std::string::npos)
    return Bad(rule.at, "epoch_begin needs a group `epoch` or `epoch1`");
  const bool measured = rule.text.find("?P<bytes>") != std::string::npos &&
                        rule.text.find("?P<algbw_gbs>") != std::string::npos &&
                        rule.text.find("?P<busbw_gbs>") != std::string::npos;
  if (rule.kind == LogEvent::Kind::kCollective && !measured)
    return Bad(rule.at, "a collective needs the groups bytes, algbw_gbs and busbw_gbs");
  for (const Example& example : rule.examples) {
    if (example.gives.empty()) return Bad(example.at, "the example has no `gives`");
  }
  return absl::OkStatus();
}

absl::Status ProfileReader::Check() {
  if (into_.name.empty()) return Bad(1, "no `profile NAME`");
  if (into_.rules.empty()) return Bad(1, "no `rule`");
  into_.any = std::make_unique<RE2::Set>(Quiet(), RE2::UNANCHORED);
  for (const Rule& rule : into_.rules) {
    RETURN_IF_ERROR(CheckRule(rule));
    if (into_.any->Add(Piece(rule.text), nullptr) < 0) return Bad(rule.at, "invalid expression");
  }
  if (!into_.any->Compile()) return Bad(1, "the expressions together are too large");
  return examples_ == Examples::kCheckedByATest ? absl::OkStatus() : CheckExamples();
}

absl::Status ProfileReader::CheckExamples() const {
  for (const Rule& rule : into_.rules) {
    for (const Example& example : rule.examples) {
      if (absl::Status status = CheckExample(rule, example); !status.ok()) return status;
    }
  }
  for (const Example& line : into_.unlike) {
    const Rule* by = nullptr;
    if (into_.Match(line.line, &by))
      return Bad(line.at, Cat("the rule at line ", by->at, " matches this line"));
  }
  return absl::OkStatus();
}

absl::Status ProfileReader::Read(std::string_view text) {
  if (text.size() > kMaxProfileBytes) return Bad(1, "longer than 256 KiB");
  int at = 0;
  for (absl::string_view absl_line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++at;
    const std::string_view line(absl_line.data(), absl_line.size());
    if (line.empty() || line.front() == '#' || line.find_first_not_of(' ') == std::string_view::npos)
      continue;
    const std::size_t blank = line.find(' ');
    const std::string_view word = line.substr(0, blank);
    const std::string_view rest = blank == std::string_view::npos ? "" : line.substr(blank + 1);
    if (absl::Status status = Take(word, rest, at); !status.ok()) return status;
  }
  return Check();
}

}  // namespace

std::string_view LogEventKindName(LogEvent::Kind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string EventInWords(const LogEvent& event) {
  std::vector<std::string> words;
  if (event.step) words.push_back(Cat("step=", *event.step));
  if (event.of) words.push_back(Cat("of=", *event.of));
  if (event.epoch) words.push_back(Cat("epoch=", *event.epoch));
  if (event.step_ns) words.push_back(Cat("step_s=", Nanoseconds(*event.step_ns)));
  if (event.about_ns) words.push_back(Cat("about_s=", Nanoseconds(*event.about_ns)));
  if (event.took_ns) words.push_back(Cat("took_s=", Nanoseconds(*event.took_ns)));
  if (event.elapsed_s) words.push_back(Cat("elapsed=", *event.elapsed_s));
  if (event.bytes) words.push_back(Cat("bytes=", *event.bytes));
  if (event.algbw) words.push_back(Cat("algbw=", *event.algbw));
  if (event.busbw) words.push_back(Cat("busbw=", *event.busbw));
  if (event.began) words.push_back(Cat("began=", TimeInWords(*event.began)));
  if (!event.name.empty()) words.push_back(Cat("name=", event.name));
  if (event.time) words.push_back(Cat("time=", TimeInWords(*event.time)));
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "nothing" : text;
}

LogProfile::LogProfile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogProfile::LogProfile(LogProfile&&) noexcept = default;
LogProfile& LogProfile::operator=(LogProfile&&) noexcept = default;
LogProfile::~LogProfile() = default;

absl::StatusOr<LogProfile> LogProfile::Parse(std::string_view text, std::string_view where) {
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(ProfileReader(where, ProfileReader::Examples::kChecked, *impl).Read(text));
  return LogProfile(std::move(impl));
}

absl::StatusOr<LogProfile> LogProfile::ParseBuiltIn(std::string_view text, std::string_view where) {
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(ProfileReader(where, ProfileReader::Examples::kCheckedByATest, *impl).Read(text));
  return LogProfile(std::move(impl));
}

absl::StatusOr<LogProfile> LogProfile::ParseDraft(std::string_view text) {
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(ProfileReader("draft", ProfileReader::Examples::kMayBeMissing, *impl).Read(text));
  return LogProfile(std::move(impl));
}

bool PlaceInEpoch(LogEvent& event, std::int64_t epoch) {
  // A bar may not show the total of its epoch.
  if (!event.of && epoch > 0) return false;
  const std::int64_t of = event.of.value_or(0);
  if (of > 0 && epoch > kMaxStep / of) return false;
  event.epoch_begins = *event.step == 0;
  *event.step += epoch * of;
  event.of.reset();
  event.within = LogEvent::Within::kProgram;
  return true;
}

const std::string& LogProfile::name() const {
  return impl_->name;
}
const std::string& LogProfile::about() const {
  return impl_->about;
}
std::size_t LogProfile::rules() const {
  return impl_->rules.size();
}
std::size_t LogProfile::examples() const {
  std::size_t count = impl_->unlike.size();
  for (const Rule& rule : impl_->rules) count += rule.examples.size();
  return count;
}
std::optional<LogEvent> LogProfile::Match(std::string_view line) const {
  return impl_->Match(line, nullptr);
}
std::optional<LineTime> LogProfile::TimeOf(std::string_view line) const {
  return impl_->TimeOf(line);
}

}  // namespace goodput
