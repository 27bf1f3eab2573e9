#include "tools/sources/logs/profile_learner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "re2/re2.h"
#include "sql/text.h"
#include "tools/sources/logs/line_numbers.h"
#include "tools/sources/logs/profile.h"

namespace goodput {

struct ProfileLearner::Line {
  std::string_view text;
  std::vector<LineNumber> numbers;
  bool loss = false;
  bool more = false;
  bool epoch = false;
  bool stamp = false;
  bool other = false;  // an evaluation, loading, a download
};

namespace {

constexpr std::size_t kMaxSamples = 8;
constexpr std::size_t kMaxOthers = 16;
constexpr std::size_t kMaxSaves = 64;
constexpr std::size_t kMaxIncrements = 16;
constexpr int kBarRank = 8;
constexpr int kUnnamedRank = 9;
// Lines with a total but without a loss that make a counter by themselves.
constexpr int kBareLines = 3;

using Words = std::set<std::string, std::less<>>;

const Words& Losses() {
  static const auto* const words = new Words{"loss", "losses", "ppl", "perplexity", "nll"};
  return *words;
}
const Words& TrainingWords() {
  static const auto* const words =
      new Words{"lr",     "learning", "rate",       "grad", "gnorm", "norm",    "mfu",
                "tflops", "flops",    "tok",        "toks", "token", "tokens",  "tps",
                "wps",    "ups",      "throughput", "time", "dt",    "elapsed", "reward"};
  return *words;
}
const Words& OtherWords() {
  static const auto* const words = new Words{
      "eval",       "evaluate",    "evaluating",    "evaluation", "val",          "valid",      "validate",
      "validating", "validation",  "test",          "testing",    "dev",          "load",       "loading",
      "download",   "downloading", "tokenize",      "tokenizing", "tokenization", "map",        "shard",
      "shards",     "preprocess",  "preprocessing", "warmup",     "generate",     "generating", "predict",
      "predicting", "sanity",      "extracting",    "fetching"};
  return *words;
}

bool StartsWith(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

bool AnyOf(const std::vector<std::string>& parts, const Words& words) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return words.count(part) != 0; });
}

// How well a name tells that its number counts training steps; lower is better. Empty: it does not.
std::optional<int> RankOf(const LineNumber& number) {
  std::vector<std::string> parts = NameParts(number.name);
  if (parts.empty()) return std::nullopt;
  std::string last = parts.back();
  if (last.size() > 3 && last.back() == 's') last.pop_back();
  parts.pop_back();
  for (const std::string& word : NameParts(number.before)) parts.push_back(word);
  static const auto* const totals =
      new Words{"total",  "max", "num",   "per",          "every", "remaining", "save",
                "saving", "log", "local", "accumulation", "micro", "of"};
  const bool updates = last == "update";
  if (AnyOf(parts, OtherWords())) return std::nullopt;
  if (AnyOf(parts, *totals) && !(updates && std::count(parts.begin(), parts.end(), "num") == 1))
    return std::nullopt;
  if (last == "step") {
    static const auto* const whole = new Words{"global", "train", "training", "optimizer", "opt", "current"};
    return AnyOf(parts, *whole) ? 0 : 1;
  }
  if (updates) return 2;
  if (last == "iteration") return 3;
  if (last == "iter") return 4;
  if (last == "it") return 5;
  return std::nullopt;
}

// A name that says what training prints; not of an evaluation.
bool Says(const LineNumber& number, const Words& words) {
  std::vector<std::string> parts = NameParts(number.name);
  if (!AnyOf(parts, words)) return false;
  for (const std::string& word : NameParts(number.before)) parts.push_back(word);
  return !AnyOf(parts, OtherWords());
}

bool SaysEvaluation(const LineNumber& number) {
  std::vector<std::string> parts = NameParts(number.name);
  if (!AnyOf(parts, Losses())) return false;
  for (const std::string& word : NameParts(number.before)) parts.push_back(word);
  return AnyOf(parts, OtherWords());
}

const RE2& Stamp() {
  static const auto* const stamp =
      new RE2(R"((\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)?))");
  return *stamp;
}
constexpr std::string_view kStampItem =
    R"(stamp   (?P<date>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)?))";

// tqdm's bar (tqdm/std.py, format_meter).
const RE2& Bar() {
  static const auto* const bar = new RE2(R"((\d+)%\|[^|]*\| *(\d+)/(\d+) \[([\d:]+)<[^\]]*(?:it/s|s/it))");
  return *bar;
}
constexpr std::string_view kBarMatch =
    R"(\d+%\|[^|]*\| *(?P<step>\d+)/(?P<of>\d+) \[(?P<elapsed>[\d:]+)<[^\]]*(?:it/s|s/it))";

// Text without a meaning of its own in an expression.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (std::string_view(R"(\.+*?()|[]{}^$)").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

// Text with its digits and blanks of any length.
std::string Pattern(std::string_view text) {
  std::string pattern;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto run = [&](auto is) {
      while (at < text.size() && is(text[at])) ++at;
    };
    if (c >= '0' && c <= '9') {
      pattern += R"(\d+)";
      run([](char d) { return d >= '0' && d <= '9'; });
    } else if (c == ' ') {
      pattern += " *";
      run([](char d) { return d == ' '; });
    } else {
      pattern += Quoted(text.substr(at, 1));
      ++at;
    }
  }
  return pattern;
}

// What precedes a name: nothing that could be a part of it.
constexpr std::string_view kNameBegin = R"((?:^|[^\w/.\-]))";
constexpr std::string_view kNumberEnd = R"((?:[^\d.]|$))";

std::string Named(std::string_view line, const LineNumber& number, std::string_view group) {
  return Cat(Pattern(line.substr(number.name_begin, number.begin - number.name_begin)), group);
}

// A part of a match, by its place in the line.
struct MatchPart {
  std::size_t at = 0;
  std::string match;
};

std::string Join(std::vector<MatchPart> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const MatchPart& a, const MatchPart& b) { return a.at < b.at; });
  return absl::StrJoin(pieces, ".*",
                       [](std::string* text, const MatchPart& piece) { text->append(piece.match); });
}

std::string MaskDigits(std::string_view text) {
  std::string masked;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) masked += c;
    if (digit && (masked.empty() || masked.back() != '#')) masked += '#';
  }
  return masked;
}

}  // namespace

void ProfileLearner::Count(const std::string& key, const Line& line, std::int64_t value, bool has_total,
                           int rank, bool bar) {
  if (line.other) {
    if (others_.size() < kMaxOthers) others_.try_emplace(MaskDigits(line.text), line.text);
    return;
  }
  if (groups_.size() >= kMaxGroups && groups_.count(key) == 0) return;
  Group& group = groups_[key];
  if (group.lines++ == 0) {
    group.rank = rank;
    group.bar = bar;
    group.first = group.lowest = value;
  } else if (value < group.last) {
    ++group.falls;
  } else if (value > group.last &&
             (group.increments.size() < kMaxIncrements || group.increments.count(value - group.last) != 0)) {
    ++group.increments[value - group.last];
  }
  group.last = value;
  group.lowest = std::min(group.lowest, value);
  group.highest = std::max(group.highest, value);
  group.with_loss += line.loss ? 1 : 0;
  group.with_more += line.more ? 1 : 0;
  group.with_epoch += line.epoch ? 1 : 0;
  group.with_total += has_total ? 1 : 0;
  group.with_stamp += line.stamp ? 1 : 0;
  if (group.samples.size() < kMaxSamples) {
    group.samples.emplace_back(line.text);
  } else {
    group.samples.back() = std::string(line.text);
  }
}

void ProfileLearner::SeeBar(const Line& line) {
  std::string percent;
  std::int64_t step = 0;
  std::int64_t of = 0;
  if (!RE2::PartialMatch(line.text, Bar(), &percent, &step, &of)) return;
  const std::string_view before = line.text.substr(0, line.text.find(percent + "%|"));
  Line bar = line;
  const std::vector<std::string> words = NameParts(before);
  bar.loss = bar.loss || AnyOf(words, Losses());
  static const auto* const training = new Words{"train", "training", "trainer", "epoch", "step", "steps"};
  bar.more = AnyOf(words, *training);
  bar.other = AnyOf(words, OtherWords());
  Count(Cat("bar ", MaskDigits(before)), bar, step, true, kBarRank, true);
}

// Whether the line is about a save.
bool ProfileLearner::SeeSave(const Line& line) {
  static const auto* const verb = new RE2(R"((?i)\b(sav(?:e|ed|es|ing)|wrote|writing)\b)");
  static const auto* const thing = new RE2(R"((?i)(checkpoint|ckpt|snapshot|state|model))");
  static const auto* const done =
      new RE2(R"((?i)\b(saved|finished|done|completed?|success\w*|wrote|took)\b)");
  std::string said;
  if (!RE2::PartialMatch(line.text, *verb, &said) || !RE2::PartialMatch(line.text, *thing)) return false;
  if (saves_.size() >= kMaxSaves) return true;
  const std::size_t at = line.text.find(said);
  for (const LineNumber& number : line.numbers) {
    const std::string_view after = line.text.substr(number.end);
    const std::string_view counts = StartsWith(after, " updates") ? " updates"
                                    : StartsWith(after, " steps") ? " steps"
                                                                  : "";
    if (!number.integer || (!RankOf(number) && counts.empty())) continue;
    const std::string step =
        !counts.empty() ? Cat(R"(\b(?P<step>\d+))", counts) : Named(line.text, number, R"((?P<step>\d+))");
    const MatchPart counter{number.begin, step};
    saves_.push_back({*number.integer, RE2::PartialMatch(line.text, *done),
                      Join({{at, Cat(R"(\b)", Quoted(said), R"(\b)")}, counter}), std::string(line.text)});
    break;
  }
  return true;
}

void ProfileLearner::See(std::string_view text) {
  if (text.size() > kMaxLineBytes) return;
  Line line;
  line.text = text;
  line.numbers = FindNumbers(text);
  if (line.numbers.empty()) return;
  line.stamp = RE2::PartialMatch(text, Stamp());
  bool evaluates = false;
  for (const LineNumber& number : line.numbers) {
    line.loss = line.loss || Says(number, Losses());
    line.more = line.more || Says(number, TrainingWords());
    evaluates = evaluates || SaysEvaluation(number);
    line.epoch = line.epoch || (number.name == "epoch" || number.name == "Epoch");
  }
  const bool is_bar = RE2::PartialMatch(text, Bar());
  if (SeeSave(line) && !line.loss) return;
  if (is_bar) return SeeBar(line);
  const LineNumber& leader = line.numbers.front();
  // An evaluation prints its own loss, or says so in front.
  line.other = evaluates || AnyOf(NameParts(text.substr(0, leader.begin)), OtherWords());
  bool named = false;
  std::set<std::string_view> seen;
  for (const LineNumber& number : line.numbers) {
    const std::optional<int> rank = RankOf(number);
    if (!number.integer || !rank || !seen.insert(number.name).second) continue;
    named = true;
    Count(Cat(line.loss ? "loss " : "name ", number.name), line, *number.integer, number.of.has_value(),
          *rank, false);
  }
  if (!named && leader.integer && leader.name.empty() && leader.unit.empty())
    Count(Cat("first ", MaskDigits(text.substr(0, leader.begin))), line, *leader.integer,
          leader.of.has_value(), kUnnamedRank, false);
}

bool ProfileLearner::IsCounter(const Group& group) const {
  const auto most = [&](int count) { return 10 * count >= 9 * group.lines; };
  int rises = 0;
  int same_rise = 0;
  for (const auto& [by, count] : group.increments) {
    rises += count;
    same_rise = std::max(same_rise, count);
  }
  if (group.bar)
    return group.lines >= 2 && rises >= 1 && group.falls == 0 && most(group.with_loss + group.with_more);
  // A restart repeats steps; an epoch begins with the first.
  const bool restarts = group.falls <= 2 && 10 * group.falls <= group.lines;
  if (group.falls > 0 && (!restarts || most(group.with_epoch))) return false;
  if (group.rank == kUnnamedRank)
    return group.lines >= kUnnamedLines && most(group.with_loss) && most(group.with_more) &&
           10 * same_rise >= 9 * (group.lines - 1);
  if (group.lines == 1) return group.with_loss == 1 && group.with_more == 1;
  if (rises == 0) return false;
  return most(group.with_loss) || (most(group.with_total) && group.lines >= kBareLines);
}

// The best name among those that count at least half as many lines as any.
const std::pair<const std::string, ProfileLearner::Group>* ProfileLearner::Best() const {
  int most = 0;
  for (const auto& [key, group] : groups_) {
    if (IsCounter(group)) most = std::max(most, group.lines);
  }
  const std::pair<const std::string, Group>* best = nullptr;
  for (const auto& known : groups_) {
    const Group& group = known.second;
    if (!IsCounter(group) || 2 * group.lines < most) continue;
    if (best == nullptr ||
        std::pair(group.rank, -group.lines) < std::pair(best->second.rank, -best->second.lines))
      best = &known;
  }
  return best;
}

namespace {

// Names of the program's own that a rule is built from.
struct Counter {
  std::string_view name;  // empty: the first number of the line
  bool total = false;
  bool loss = false;
  bool durations = false;  // its lines are one step apart and have no time
};

std::optional<std::string> MatchOfBar(std::string_view line, bool loss) {
  std::vector<MatchPart> pieces{{line.size(), std::string(kBarMatch)}};
  const std::string_view before = line.substr(0, line.find("%|"));
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (at > 0 && absl::ascii_isalpha(static_cast<unsigned char>(before[at - 1]))) continue;
    std::size_t end = at;
    while (end < before.size() && absl::ascii_isalpha(static_cast<unsigned char>(before[end]))) ++end;
    static const auto* const training = new Words{"train", "training", "trainer", "epoch", "step", "steps"};
    std::string word(before.substr(at, end - at));
    absl::AsciiStrToLower(&word);
    if ((loss ? Losses() : *training).count(word) == 0) continue;
    pieces.push_back({at, Cat(R"(\b)", before.substr(at, end - at), R"(\b)")});
    return Join(std::move(pieces));
  }
  return std::nullopt;
}

// The number of the line that is the counter.
const LineNumber* FindCounter(const std::vector<LineNumber>& numbers, const Counter& counter) {
  if (numbers.empty()) return nullptr;
  if (counter.name.empty()) return &numbers.front();
  for (const LineNumber& number : numbers) {
    if (number.name == counter.name && number.integer) return &number;
  }
  return nullptr;
}

// "120.5ms" or "2.5 s" in a line of one step: how long it took. Only of names that say so, or of none.
std::optional<MatchPart> DurationOf(std::string_view line, const LineNumber& number) {
  std::string_view unit = number.unit;
  if (unit.empty() && StartsWith(line.substr(number.end), " ms")) unit = "ms";
  if (unit.empty() && StartsWith(line.substr(number.end), " s")) unit = "s";
  const std::vector<std::string> parts = NameParts(number.name);
  static const auto* const times = new Words{"time", "dt", "elapsed", "ms", "sec", "seconds", "took"};
  if (unit.empty() && AnyOf(parts, Words{"ms"})) unit = "ms";
  if ((unit != "ms" && unit != "s") || (!number.name.empty() && !AnyOf(parts, *times))) return std::nullopt;
  static const auto* const totals = new Words{"total", "remaining", "eta", "load", "data", "save"};
  if (AnyOf(parts, *totals)) return std::nullopt;
  const std::string group = unit == "ms" ? R"((?P<step_ms>[\d.]+))" : R"((?P<step_s>[\d.]+))";
  const std::string name = number.name.empty() ? R"((?:^|[^\w.]))" : Named(line, number, "");
  return MatchPart{number.name.empty() ? number.begin : number.name_begin,
                   Cat(name, group, number.unit.empty() ? "" : Cat(unit, R"(\b)"))};
}

// How much of a line its expression repeats, least first.
enum class Strictness { kNames, kBegin, kUpToTheLoss };

std::optional<std::string> MatchOfLine(std::string_view line, const Counter& counter, Strictness strictness) {
  const std::vector<LineNumber> numbers = FindNumbers(line);
  const LineNumber* const step = FindCounter(numbers, counter);
  if (step == nullptr) return std::nullopt;
  const std::string_view front = line.substr(0, step->begin);
  std::string match;
  if (counter.name.empty() || strictness != Strictness::kNames) {
    match = Cat("^", Pattern(front), R"((?P<step>\d+))");
  } else {
    match = Cat(kNameBegin, Named(line, *step, R"((?P<step>\d+))"));
  }
  if (counter.total && step->of) match += R"( */ *(?P<of>\d+))";
  std::size_t end = counter.total && step->of ? step->of_end : step->end;
  const bool begins = match.front() == '^';
  std::vector<MatchPart> pieces;
  bool loss = false;
  bool duration = false;
  for (const LineNumber& number : numbers) {
    if (&number == step) continue;
    // The beginning of the line has it already.
    if (begins && number.begin < step->begin) {
      loss = loss || (counter.loss && Says(number, Losses()));
      continue;
    }
    if (counter.loss && !loss && Says(number, Losses())) {
      loss = true;
      if (strictness == Strictness::kUpToTheLoss && number.name_begin >= end) {
        match += Pattern(line.substr(end, number.name_begin + number.name.size() - end));
        end = number.begin;
        continue;
      }
      pieces.push_back({number.name_begin, Cat(R"(\b)", Quoted(number.name), R"(\b)")});
      continue;
    }
    if (duration || number.begin < step->end) continue;
    if (number.is_clock && AnyOf(NameParts(number.name), Words{"elapsed"})) {
      duration = true;
      pieces.push_back({number.name_begin, Named(line, number, R"((?P<elapsed>[\d:]+))")});
    } else if (const std::optional<MatchPart> piece =
                   counter.durations ? DurationOf(line, number) : std::nullopt) {
      duration = true;
      pieces.push_back(*piece);
    }
  }
  if (counter.loss && !loss) return std::nullopt;
  if (end <= step->end || end == step->of_end) match += kNumberEnd;
  pieces.push_back({begins ? 0 : step->name_begin, std::move(match)});
  return Join(std::move(pieces));
}

std::string Rule(std::string_view kind, std::string_view match, std::string_view more) {
  return Cat("\nrule    ", kind, "\nmatch   ", match, "\n", more);
}

// Lines with what the profile finds in them; null: none yet.
std::string Examples(const LogProfile* profile, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const std::optional<LogEvent> event = profile == nullptr ? std::nullopt : profile->Match(line);
    if (event) text += Cat("example ", line, "\ngives   ", EventInWords(*event), "\n");
  }
  return text;
}

}  // namespace

// The profile with one expression for steps, checked against the lines that it was made from.
class ProfileLearner::Draft {
 public:
  Draft(std::string_view name, const ProfileLearner& learner, const Group& group)
      : learner_(learner), group_(group), added_(group.first == 0 && !group.bar ? 1 : 0) {
    head_ = Cat(
        "# Inferred from a log. Check it before you rely on it: sgoodput profile test FILE LOG.\nprofile ",
        name, "\nabout   learned\n", group.with_stamp > 0 ? Cat(kStampItem, "\n") : "");
    // Saves of steps near those that were counted.
    const std::int64_t rise = group.increments.empty() ? 1 : group.increments.rbegin()->first;
    for (const Save& save : learner.saves_) {
      if (save.step < group.lowest - rise || save.step > group.highest + rise) continue;
      std::vector<std::string>& lines = saves_[{save.end, save.match}];
      if (lines.size() < 2) lines.push_back(save.line);
    }
  }

  // The text of the profile. Empty if the expression does not find the counter in each of its lines, or finds
  // one in other lines.
  std::optional<std::string> With(std::string_view match) const {
    const absl::StatusOr<LogProfile> draft = LogProfile::ParseDraft(Text(match, nullptr));
    if (!draft.ok()) return std::nullopt;
    for (const std::string& line : group_.samples) {
      const std::optional<LogEvent> event = draft->Match(line);
      if (!event || event->kind != LogEvent::Kind::kStepEnd || !event->step ||
          *event->step < group_.lowest + added_ || *event->step > group_.highest + added_)
        return std::nullopt;
    }
    std::string text = Text(match, &*draft);
    if (!LogProfile::Parse(text, "learned").ok()) return std::nullopt;
    return text;
  }

 private:
  std::string Text(std::string_view match, const LogProfile* found) const {
    std::string text = head_;
    for (const auto& [which, lines] : saves_) {
      const bool end = which.first;
      text += Rule(end ? "save_end" : "save_begin", which.second,
                   Cat(end ? "" : "over_at next_step\n", Examples(found, lines)));
    }
    std::vector<std::string> shown{group_.samples.front()};
    if (group_.samples.size() > 1) shown.push_back(group_.samples.back());
    text += Rule("step_end", match, Cat(added_ == 0 ? "" : "add     1\n", Examples(found, shown)));
    for (const auto& [shape, line] : learner_.others_) {
      if (found != nullptr) text += Cat("unlike ", line, "\n");
    }
    return text;
  }

  const ProfileLearner& learner_;
  const Group& group_;
  std::int64_t added_;
  std::string head_;
  std::map<std::pair<bool, std::string>, std::vector<std::string>> saves_;  // by end and expression
};

std::optional<LearnedProfile> ProfileLearner::Learn(std::string_view name, int least_lines) const {
  const auto* const best = Best();
  if (best == nullptr || best->second.lines < least_lines) return std::nullopt;
  const auto& [key, group] = *best;
  Counter counter;
  if (StartsWith(key, "name ") || StartsWith(key, "loss "))
    counter.name = std::string_view(key).substr(key.find(' ') + 1);
  counter.total = group.with_total == group.lines;
  counter.loss = group.with_loss == group.lines;
  int rises = 0;
  for (const auto& [by, count] : group.increments) rises += count;
  const auto by_one = group.increments.find(1);
  counter.durations = group.with_stamp == 0 && by_one != group.increments.end() && by_one->second == rises &&
                      rises == group.lines - 1;
  const Draft draft(name, *this, group);
  const std::string& sample = group.samples.front();
  for (const Strictness strictness : {Strictness::kNames, Strictness::kBegin, Strictness::kUpToTheLoss}) {
    const std::optional<std::string> match =
        group.bar ? MatchOfBar(sample, counter.loss) : MatchOfLine(sample, counter, strictness);
    std::optional<std::string> text = match ? draft.With(*match) : std::nullopt;
    if (!text) continue;
    const std::string called = group.bar              ? "a progress bar"
                               : counter.name.empty() ? "the first number of the line"
                                                      : Cat("\"", counter.name, "\"");
    const bool base_known = group.bar || group.first <= 1;
    return LearnedProfile{*std::move(text),
                          Cat("steps are counted by ", called, " in ", group.lines,
                              group.lines == 1 ? " line" : " lines", ", from ", group.first, " to ",
                              group.last, group.falls > 0 ? Cat(", with ", group.falls, " restarts") : "",
                              base_known ? "" : "; whether it begins with 0 or 1 is not known"),
                          key};
  }
  return std::nullopt;
}

}  // namespace goodput
