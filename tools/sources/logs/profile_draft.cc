#include "tools/sources/logs/profile_draft.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "re2/re2.h"
#include "sql/text.h"
#include "tools/sources/logs/line_numbers.h"
#include "tools/sources/logs/line_words.h"
#include "tools/sources/logs/profile.h"

namespace goodput {
namespace {

constexpr std::string_view kBarRule =
    R"(\d+%\|[^|]*\| *(?P<step>\d+)/(?P<of>\d+) \[(?P<elapsed>[\d:]+)<[^\]]*(?:it/s|s/it))";
// What precedes a name: nothing that could be a part of it.
constexpr std::string_view kNameBegin = R"((?:^|[^\w/.\-]))";
constexpr std::string_view kNumberEnd = R"((?:[^\w.%]|$))";
constexpr std::string_view kFirstGroup = R"( *(?P<step>\d+))";
// As FindNumbers reads a number that has a name.
constexpr std::string_view kStepGroup = R"( *(?P<step>\d{1,3}(?:,\d{3})+\b|\d+))";
constexpr std::string_view kOfGroup = R"( */ *(?P<of>\d{1,3}(?:,\d{3})+\b|\d+))";
// The least interval of lines at which "19, 39, 59" tells that steps are counted from 0.
constexpr std::int64_t kLeastInterval = 5;

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

// Words, of which paths may be in another folder.
std::string InAnyFolder(std::string_view text) {
  std::string pattern;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::size_t slash = word.rfind('/');
    const bool path = slash != std::string_view::npos;
    pattern += path ? Cat(R"(\S*/)", Pattern(word.substr(slash + 1))) : Pattern(word);
    text.remove_prefix(word.size());
    if (text.empty()) break;
    pattern += ' ';
    text.remove_prefix(1);
  }
  return pattern;
}

// Text before a number, which may be padded.
std::string Before(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return Pattern(text);
}

std::string Word(std::string_view text) {
  return Cat(R"(\b)", Quoted(text), R"(\b)");
}

std::string Named(std::string_view line, const LineNumber& number, std::string_view group) {
  return Cat(Before(line.substr(number.name_begin, number.begin - number.name_begin)), group);
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

// What the expression for lines of steps takes from them.
struct Wanted {
  std::string_view name;  // of the counter; empty: the first number of the line
  bool epochs = false;    // it is an epoch
  bool total = false;
  bool loss = false;
  bool durations = false;  // the lines are one step apart and have no time
};

Wanted WantedOf(const CounterCourse& course) {
  Wanted wanted;
  wanted.name = course.name;
  wanted.epochs = course.epochs;
  // Beside an epoch, the total may be the epoch's.
  wanted.total = course.with_total == course.lines && course.with_epoch == 0 && course.heading == 0;
  wanted.loss = course.with_loss == course.lines;
  int rises = 0;
  for (const auto& [by, count] : course.increments) rises += count;
  const auto by_one = course.increments.find(1);
  wanted.durations = course.with_stamp == 0 && by_one != course.increments.end() && by_one->second == rises &&
                     rises == course.lines - 1 - course.repeats;
  return wanted;
}

// The first word of a bar's description that tells what it is about.
std::optional<MatchPart> TellingWord(std::string_view before,
                                     bool (*tells)(const std::vector<std::string>&)) {
  const auto letter = [&](std::size_t at) {
    return absl::ascii_isalpha(static_cast<unsigned char>(before[at])) != 0;
  };
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (!letter(at) || (at > 0 && letter(at - 1))) continue;
    std::size_t end = at;
    while (end < before.size() && letter(end)) ++end;
    const std::string_view word = before.substr(at, end - at);
    if (tells(NameParts(word))) return MatchPart{at, Word(word)};
  }
  return std::nullopt;
}

std::optional<std::string> MatchOfBar(std::string_view line) {
  const std::string_view before = line.substr(0, line.find("%|"));
  std::optional<MatchPart> word = TellingWord(before, HasLossWord);
  if (!word) word = TellingWord(before, HasTrainingWord);
  if (!word) return std::nullopt;
  return Join({*std::move(word), {line.size(), std::string(kBarRule)}});
}

// The word that says that the number is a loss.
MatchPart LossWord(std::string_view line, const LineNumber& number) {
  if (number.after.empty()) return {number.name_begin, Word(number.name)};
  return {static_cast<std::size_t>(number.after.data() - line.data()), Word(number.after)};
}

std::optional<std::string> MatchOfEpoch(std::string_view line, const CounterCourse& course) {
  const std::vector<LineNumber> numbers = FindNumbers(line);
  const auto found = FindEpochAndCounter(line, numbers);
  if (!found) return std::nullopt;
  const LineNumber& epoch = numbers[found->first];
  const LineNumber& step = numbers[found->second];
  const std::string_view group =
      course.epoch_zero || course.first_epoch == 0 ? R"( *(?P<epoch>\d+))" : R"( *(?P<epoch1>\d+))";
  const std::string counter = Cat(kStepGroup, kOfGroup);
  std::vector<MatchPart> pieces;
  if (epoch.begin < step.begin) {
    pieces.push_back(
        {epoch.name_begin, Cat(kNameBegin, Named(line, epoch, group),
                               Before(line.substr(epoch.end, step.begin - epoch.end)), counter)});
  } else {
    // `it 50/500 of epoch 2`
    const std::string begin =
        step.name.empty() ? R"((?:^|[^\d/.,]))" : Cat(kNameBegin, Named(line, step, ""));
    pieces.push_back(
        {step.name.empty() ? step.begin : step.name_begin,
         Cat(begin, counter, Before(line.substr(step.of_end, epoch.begin - step.of_end)), group)});
  }
  if (course.with_loss == course.lines) {
    for (const LineNumber& number : numbers) {
      if (!NamesLoss(number)) continue;
      pieces.push_back(LossWord(line, number));
      break;
    }
  }
  return Join(std::move(pieces));
}

// The number of the line that is the counter.
const LineNumber* FindCounter(const std::vector<LineNumber>& numbers, const Wanted& wanted,
                              std::size_t from) {
  for (const LineNumber& number : numbers) {
    if (number.begin < from) continue;
    const bool counts = number.integer && (wanted.epochs || StepRank(number));
    if (wanted.name.empty() || (number.name == wanted.name && counts)) return &number;
  }
  return nullptr;
}

// `begin`: the expression for what precedes a duration without a name.
std::optional<MatchPart> DurationOf(std::string_view line, const LineNumber& number, std::string_view begin) {
  const std::optional<LineDuration> found = FindDuration(line, number);
  if (!found) return std::nullopt;
  const std::string_view group = found->is_ms ? R"((?P<step_ms>[\d.]+))" : R"((?P<step_s>[\d.]+))";
  const std::string name = number.name.empty() ? std::string(begin) : Named(line, number, " *");
  const std::string unit = found->unit.empty() ? "" : Cat(" *", found->unit, R"(\b)");
  return MatchPart{number.name.empty() ? number.begin : number.name_begin, Cat(name, group, unit)};
}

// How much of a line its expression repeats, least first.
enum class Strictness { kNames, kBegin, kUpToTheNext };

// The expression for one line, built from left to right.
class LineMatch {
 public:
  LineMatch(std::string_view line, const Wanted& wanted, Strictness strictness)
      : line_(line), wanted_(wanted), strictness_(strictness) {}

  std::optional<std::string> Build(std::size_t from) {
    const std::vector<LineNumber> numbers = FindNumbers(line_);
    step_ = FindCounter(numbers, wanted_, from);
    if (step_ == nullptr) return std::nullopt;
    Begin();
    for (const LineNumber& number : numbers) {
      if (&number != step_) Take(number);
    }
    if (wanted_.loss && !loss_) return std::nullopt;
    if (end_ <= step_->end || end_ == step_->of_end) match_ += kNumberEnd;
    pieces_.push_back({begins_ ? 0 : step_->name_begin, std::move(match_)});
    return Join(std::move(pieces_));
  }

 private:
  void Begin() {
    begins_ = wanted_.name.empty() || strictness_ != Strictness::kNames;
    const std::string_view group = wanted_.name.empty() ? kFirstGroup : kStepGroup;
    match_ = begins_ ? Cat("^", Before(line_.substr(0, step_->begin)), group)
                     : Cat(kNameBegin, Named(line_, *step_, group));
    const bool total = wanted_.total && step_->of;
    if (total) match_ += kOfGroup;
    end_ = total ? step_->of_end : step_->end;
  }

  void Take(const LineNumber& number) {
    // The beginning of the line has it already.
    if (begins_ && number.begin < step_->begin) {
      loss_ = loss_ || (wanted_.loss && NamesLoss(number));
      return;
    }
    const bool loss = wanted_.loss && !loss_ && NamesLoss(number);
    const bool next = strictness_ == Strictness::kUpToTheNext && !up_to_next_ && number.name_begin >= end_ &&
                      !number.name.empty() && (loss || !wanted_.loss);
    loss_ = loss_ || loss;
    if (next) {
      up_to_next_ = true;
      match_ += Pattern(line_.substr(end_, number.name_begin + number.name.size() - end_));
      end_ = number.begin;
    } else if (loss) {
      pieces_.push_back(LossWord(line_, number));
    } else if (!duration_ && number.begin >= step_->end) {
      TakeDuration(number);
    }
  }

  void TakeDuration(const LineNumber& number) {
    const std::vector<std::string> parts = NameParts(number.name);
    if (number.is_clock && std::count(parts.begin(), parts.end(), "elapsed") != 0) {
      duration_ = true;
      pieces_.push_back({number.name_begin, Named(line_, number, R"( *(?P<elapsed>[\d:]+))")});
      return;
    }
    if (!wanted_.durations) return;
    const std::string_view between = line_.substr(end_, std::max(number.begin, end_) - end_);
    const bool adjacent =
        number.name.empty() && !between.empty() && between.find_first_not_of(' ') == between.npos;
    const std::optional<MatchPart> piece = DurationOf(line_, number, adjacent ? " +" : R"((?:^|[^\w.]))");
    if (!piece) return;
    duration_ = true;
    if (adjacent) {
      match_ += piece->match;
      end_ = number.end;
    } else {
      pieces_.push_back(*piece);
    }
  }

  std::string_view line_;
  const Wanted& wanted_;
  Strictness strictness_;
  const LineNumber* step_ = nullptr;
  std::string match_;
  std::size_t end_ = 0;  // of what `match_` repeats
  bool begins_ = false;  // `match_` begins with the line
  bool loss_ = false;
  bool duration_ = false;
  bool up_to_next_ = false;
  std::vector<MatchPart> pieces_;
};

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

// What lines say that their steps took.
class StatedLengths {
 public:
  void Add(std::int64_t step, std::int64_t length) {
    if (last_ && step > last_->first) {
      ++rises_;
      longer_ = longer_ || length > last_->second;
      shorter_ = shorter_ || length < last_->second;
    }
    last_ = {step, length};
  }
  // They only grow: this is the time since the beginning, not that of a step.
  bool Accumulate() const { return rises_ > 1 && longer_ && !shorter_; }

 private:
  std::optional<std::pair<std::int64_t, std::int64_t>> last_;
  int rises_ = 0;
  bool longer_ = false;
  bool shorter_ = false;
};

// The profile with one expression for steps, checked against the lines that it was made from.
class DraftText {
 public:
  DraftText(std::string_view name, const CounterCourse& course, const std::vector<SeenSave>& saves,
            const std::map<std::string, std::string>& others)
      : course_(course), others_(others), added_(CountedFrom(course)) {
    head_ = Cat(
        "# Inferred from a log. Check it before you rely on it: sgoodput profile test FILE LOG.\nprofile ",
        name, "\nabout   learned\n");
    for (std::size_t stamp = 0; stamp < kStamps.size(); ++stamp) {
      const bool has = std::any_of(course.samples.begin(), course.samples.end(),
                                   [&](const std::string& line) { return HasStamp(line, stamp); });
      if (has) head_ += Cat("stamp   ", kStamps[stamp], "\n");
    }
    // Saves of steps near those that were counted.
    const std::int64_t rise = course.increments.empty() ? 1 : course.increments.rbegin()->first;
    const auto [least, most] = Steps();
    for (const SeenSave& save : saves) {
      if (save.step && (*save.step < least - rise || *save.step > most + rise)) continue;
      if (!save.step && HasLine(save.line)) continue;
      SaveRule& rule = saves_[{!save.step, save.end, save.match}];
      if (rule.lines.size() < 2) rule.lines.push_back(save.line);
      rule.shown = rule.shown && save.shown;
      ends_are_told_ = ends_are_told_ || save.end;
    }
  }

  std::optional<std::string> OfSteps(const Wanted& wanted) const {
    const std::string& sample = course_.samples.front();
    for (const Strictness strictness : {Strictness::kNames, Strictness::kBegin, Strictness::kUpToTheNext}) {
      const std::optional<std::string> match =
          LineMatch(sample, wanted, strictness).Build(MessageBegin(sample));
      std::optional<std::string> text = match ? With(*match) : std::nullopt;
      if (text) return text;
    }
    return std::nullopt;
  }

  std::optional<std::string> With(std::string_view match) const {
    const absl::StatusOr<LogProfile> draft = LogProfile::ParseDraft(Text(match, nullptr));
    if (!draft.ok()) return std::nullopt;
    const auto [least, most] = Steps();
    StatedLengths lengths;
    for (const std::string& line : course_.samples) {
      const std::optional<LogEvent> event = draft->Match(line);
      if (!event || event->kind != LogEvent::Kind::kStepEnd || !event->step ||
          *event->step < least + added_ || *event->step > most + added_)
        return std::nullopt;
      if (event->step_ns) lengths.Add(*event->step, *event->step_ns);
    }
    if (lengths.Accumulate()) return std::nullopt;
    std::string text = Text(match, &*draft);
    if (!LogProfile::Parse(text, "learned").ok()) return std::nullopt;
    return text;
  }

 private:
  // The range of steps that were counted.
  std::pair<std::int64_t, std::int64_t> Steps() const {
    if (course_.kind != CounterCourse::Kind::kEpoch) return {course_.lowest, course_.highest};
    return {course_.lowest, course_.highest + course_.last_epoch * course_.of};
  }

  // A rule for saves has it among its examples.
  bool HasLine(const std::string& line) const {
    return std::any_of(saves_.begin(), saves_.end(), [&](const auto& known) {
      const std::vector<std::string>& lines = known.second.lines;
      return std::find(lines.begin(), lines.end(), line) != lines.end();
    });
  }

  std::string Text(std::string_view match, const LogProfile* found) const {
    std::string text = head_;
    for (const auto& [which, rule] : saves_) {
      const auto& [untold, end, expression] = which;
      // It counts as the lines of steps do.
      const bool add = added_ != 0 && rule.shown;
      // Only if no line says that it is complete.
      const bool over = !end && !ends_are_told_;
      text +=
          Rule(end ? "save_end" : "save_begin", expression,
               Cat(add ? "add     1\n" : "", over ? "over_at next_step\n" : "", Examples(found, rule.lines)));
    }
    std::vector<std::string> shown{course_.samples.front()};
    if (course_.samples.size() > 1) shown.push_back(course_.samples.back());
    text += Rule("step_end", match, Cat(added_ == 0 ? "" : "add     1\n", Examples(found, shown)));
    for (const auto& [shape, line] : others_) {
      if (found != nullptr) text += Cat("unlike ", line, "\n");
    }
    return text;
  }

  const CounterCourse& course_;
  const std::map<std::string, std::string>& others_;
  std::int64_t added_;
  std::string head_;
  struct SaveRule {
    std::vector<std::string> lines;
    bool shown = true;
  };
  // By whether the step is not told, end and expression: those that tell their step come first.
  std::map<std::tuple<bool, bool, std::string>, SaveRule> saves_;
  bool ends_are_told_ = false;
};

}  // namespace

bool HasStamp(std::string_view line, std::size_t stamp) {
  static const auto* const all = [] {
    auto* const expressions = new std::array<std::unique_ptr<RE2>, kStamps.size()>;
    for (std::size_t i = 0; i < kStamps.size(); ++i)
      (*expressions)[i] = std::make_unique<RE2>(re2::StringPiece(kStamps[i].data(), kStamps[i].size()));
    return expressions;
  }();
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *(*all)[stamp]);
}

bool IsOfEvaluations(const CounterCourse& course) {
  return course.evaluated && !course.increments.empty() && course.increments.begin()->first > 1;
}

std::int64_t CountedFrom(const CounterCourse& course) {
  if (course.kind == CounterCourse::Kind::kBar) return 0;
  // An evaluation before the first step is named 0, and one after it, too.
  if (IsOfEvaluations(course)) return 0;
  if (course.lowest == 0) return 1;
  if (CountsWhatIsDone(course.name)) return 0;
  // 19, 39, 59: every twentieth step, counted from 0.
  const std::int64_t by = course.increments.size() == 1 ? course.increments.begin()->first : 0;
  return by >= kLeastInterval && course.falls == 0 && course.first % by == by - 1 ? 1 : 0;
}

std::optional<std::string> DraftProfile(std::string_view name, const CounterCourse& course,
                                        const std::vector<SeenSave>& saves,
                                        const std::map<std::string, std::string>& others) {
  const DraftText draft(name, course, saves, others);
  const std::string& sample = course.samples.front();
  if (course.kind == CounterCourse::Kind::kBar || course.kind == CounterCourse::Kind::kEpoch) {
    const std::optional<std::string> match =
        course.kind == CounterCourse::Kind::kBar ? MatchOfBar(sample) : MatchOfEpoch(sample, course);
    return match ? draft.With(*match) : std::nullopt;
  }
  Wanted wanted = WantedOf(course);
  std::optional<std::string> text = draft.OfSteps(wanted);
  if (text || !wanted.durations) return text;
  wanted.durations = false;
  return draft.OfSteps(wanted);
}

std::optional<FileNumber> FindFileNumber(std::string_view line, std::string_view verb) {
  // The last name of a path, or a word that begins with a letter; without its type.
  static const auto* const path = new RE2(
      R"(.*(?:/|(?:^|[ '"=(])(?:[A-Za-z_]))([\w.-]*\d[\w.-]*?)(?:\.[A-Za-z]\w*)?/?['")]?[.,;:]?(?: |$))");
  static const auto* const number = new RE2(R"(^(\D*)(\d{1,15})(\D*)$)");
  re2::StringPiece name;
  re2::StringPiece before;
  re2::StringPiece digits;
  re2::StringPiece after;
  const re2::StringPiece text(line.data(), line.size());
  if (!RE2::PartialMatch(text, *path, &name) || !RE2::PartialMatch(name, *number, &before, &digits, &after))
    return std::nullopt;
  // With the slash or the letter before.
  const auto from = static_cast<std::size_t>(name.data() - line.data()) - 1;
  static const std::set<std::string, std::less<>> others{"epoch", "ep",   "e", "best", "part",
                                                         "shard", "rank", "v", "seed", "of"};
  for (const std::string& word : NameParts(line.substr(from, name.size() + 1))) {
    if (others.count(word) != 0) return std::nullopt;
  }
  FileNumber found;
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &found.value)) return std::nullopt;
  found.name =
      Cat(std::string_view(before.data(), before.size()), "#", std::string_view(after.data(), after.size()));
  const auto number_begin = static_cast<std::size_t>(digits.data() - line.data());
  found.match =
      Join({{line.find(verb), Word(verb)},
            {from, Cat(Quoted(line.substr(from, number_begin - from)), R"((?P<step>\d+)(?:\D|$))")}});
  return found;
}

std::string SaveMatch(std::string_view line, std::string_view verb, std::size_t number_begin,
                      std::size_t name_begin, std::string_view counts) {
  const std::string step = !counts.empty()
                               ? Cat(R"(\b(?P<step>\d+))", counts)
                               : Cat(Before(line.substr(name_begin, number_begin - name_begin)), kStepGroup);
  return Join({{line.find(verb), Word(verb)}, {number_begin, step}});
}

std::optional<std::string> UntoldSaveMatch(std::string_view line) {
  constexpr std::size_t kMaxBytes = 500;
  static const auto* const verb_first = new RE2(
      R"((?i)\b(sav(?:ing|ed)|writing|written|wrote)(?: (?:a|an|the|model|training|latest|last|current|new|full|end-of-epoch|intra-epoch|)"
      R"(final|periodic|intermediate|sharded|distributed))* (?:checkpoint|ckpt|snapshot))"
      R"((?:$|[.!:]| ?\(| (?:to|in|into|at|under|as)\b))");
  static const auto* const verb_last =
      new RE2(R"((?i)\b(checkpoint|ckpt|snapshot)(?: (?:was|is|has been|successfully))* (?:saved|written))"
              R"((?: successfully)?(?:$|[.!:]| ?\(| (?:to|in|into|at|under|as)\b))");
  // Words of a plan, of a failure, of something else that is saved, or of a save that nobody resumes from.
  static const std::set<std::string, std::less<>> no_saves{
      "best",    "will",     "would",         "every",     "if",      "when",      "not",
      "skip",    "skipping", "skipped",       "fail",      "failed",  "failure",   "error",
      "cannot",  "unable",   "remove",        "removing",  "removed", "delete",    "deleting",
      "deleted", "config",   "configuration", "tokenizer", "dataset", "dataloader"};
  if (line.size() > kMaxBytes) return std::nullopt;
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece said;
  if (!RE2::PartialMatch(text, *verb_first, &said) && !RE2::PartialMatch(text, *verb_last, &said))
    return std::nullopt;
  for (const std::string& word : NameParts(line)) {
    if (no_saves.count(word) != 0) return std::nullopt;
  }
  const auto begin = static_cast<std::size_t>(said.data() - line.data());
  return Cat(R"(\b)", InAnyFolder(line.substr(begin)), "$");
}

}  // namespace goodput
