#include "tools/sources/logs/profile_learner.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <set>

#include "re2/re2.h"
#include "sql/text.h"
#include "tools/sources/logs/line_numbers.h"
#include "tools/sources/logs/line_words.h"
#include "tools/sources/logs/profile.h"

namespace goodput {

struct ProfileLearner::Line {
  std::string_view text;
  std::vector<LineNumber> numbers;  // of the message
  std::optional<std::int64_t> epoch;
  bool loss = false;
  bool trains = false;  // has the loss of training, by name
  bool more = false;
  bool stamp = false;
  bool total = false;  // a counter has one
  bool run = false;    // a counter is of the whole run
  bool episode = false;
  bool other = false;  // an evaluation, loading, a download
};

namespace {

constexpr std::size_t kMaxSamples = 8;
constexpr std::size_t kMaxOthers = 16;
constexpr std::size_t kMaxSaves = 64;
constexpr std::size_t kMaxIncrements = 16;
// A smaller number in a file's name may be the step by chance.
constexpr std::int64_t kLeastFileStep = 10;
constexpr int kEpochRank = 7;
constexpr int kBarRank = 8;
constexpr int kUnnamedRank = 9;
// Lines with a total but without a loss that make a counter by themselves.
constexpr int kBareLines = 3;
// Lines with the losses of training and of an evaluation that may count steps.
constexpr int kEvaluations = 3;
// As many show how a counter rises.
constexpr int kRegularLines = 3;
// A counter within an epoch that rises by multiples of this, or by more than that, may count samples.
constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kMostSteps = 500;
// More than that are not epochs.
constexpr std::int64_t kMostEpochs = 1000;

re2::StringPiece Re2Text(std::string_view text) {
  return {text.data(), text.size()};
}

bool HasAnyStamp(std::string_view text) {
  for (std::size_t stamp = 0; stamp < kStamps.size(); ++stamp) {
    if (HasStamp(text, stamp)) return true;
  }
  return false;
}

// `Training [ 130/125000]`; a small total may be that of epochs.
bool IsTrainingsOwn(const LineNumber& number) {
  const std::vector<std::string> parts = NameParts(number.name);
  const bool training = parts.size() == 1 && (parts.front() == "train" || parts.front() == "training");
  return training && number.of && *number.of > kMostEpochs;
}

bool MayBeSamples(const CounterCourse& course) {
  return std::all_of(course.increments.begin(), course.increments.end(),
                     [](const auto& rise) { return rise.first % kBatch == 0 || rise.first > kMostSteps; });
}

// A line with the counter, below a line that named an epoch.
void CountHeading(CounterCourse& course, const LineNumber& epoch, std::int64_t value) {
  if (course.lines == 0) {
    course.first_heading = epoch.of ? *epoch.integer : 0;
  } else if (!course.begins && *epoch.integer > course.heading) {
    ++(value < course.last ? course.new_headings : course.steady_headings);
  }
  course.heading = *epoch.integer;
}

void CountEpoch(CounterCourse& course, std::int64_t epoch, std::int64_t value) {
  if (course.with_epoch++ == 0) {
    course.first_epoch = epoch;
  } else if (!course.begins && epoch > course.last_epoch) {
    ++(value < course.last ? course.new_epochs : course.steady_epochs);
  }
  course.last_epoch = epoch;
  course.epoch_zero = course.epoch_zero || epoch == 0;
}

std::int64_t LargestRise(const CounterCourse& course) {
  return course.increments.empty() ? 1 : course.increments.rbegin()->first;
}

// Adds a line whose counter has this value, of this total (0: none).
void CountLine(CounterCourse& course, std::string_view text, std::int64_t value, std::int64_t of) {
  if (course.lines++ == 0) {
    course.first = course.lowest = value;
  } else if (course.begins) {
    course.begins = false;
  } else if (value < course.last) {
    ++course.falls;
    course.falls_to_start += value <= course.first ? 1 : 0;
    const bool at_total = course.of > 0 && course.last + LargestRise(course) >= course.of;
    course.falls_at_total += at_total ? 1 : 0;
  } else if (value > course.last && (course.increments.size() < kMaxIncrements ||
                                     course.increments.count(value - course.last) != 0)) {
    ++course.increments[value - course.last];
  } else if (value == course.last && course.samples.back() == text) {
    ++course.repeats;
  }
  course.last = value;
  course.of = of;
  course.lowest = std::min(course.lowest, value);
  course.highest = std::max(course.highest, value);
  if (course.samples.size() < kMaxSamples) {
    course.samples.emplace_back(text);
  } else {
    course.samples.back() = std::string(text);
  }
}

// `7K` and `7%` are no whole number of steps, and `7d` is source text.
bool HasUnit(std::string_view line, const LineNumber& number) {
  return !number.unit.empty() || line.substr(number.end, 1) == "%";
}

bool IsRounded(const LineNumber& number) {
  return number.unit.size() == 1 &&
         std::string_view("kKMB").find(number.unit.front()) != std::string_view::npos;
}

// Text without the blanks that align a number.
std::string Squeezed(std::string_view text) {
  std::string squeezed;
  for (const char c : text) {
    if (c != ' ' || (!squeezed.empty() && squeezed.back() != ' ')) squeezed += c;
  }
  while (!squeezed.empty() && squeezed.back() == ' ') squeezed.pop_back();
  return squeezed;
}

// How a line writes a counter: "step:#/#".
std::string Spelling(std::string_view line, const LineNumber& number) {
  return Cat(Squeezed(line.substr(number.name_begin, number.begin - number.name_begin)),
             number.of ? "#/#" : "#");
}

std::string CounterName(const CounterCourse& course) {
  switch (course.kind) {
    case CounterCourse::Kind::kBar:
      return "a progress bar";
    case CounterCourse::Kind::kEpoch:
      return "the number beside the epoch";
    case CounterCourse::Kind::kUnnamed:
      return "the first number";
    case CounterCourse::Kind::kNamed:
      break;
  }
  return Cat("\"", course.name, "\"");
}

std::string Example(const std::string& line) {
  constexpr std::size_t kMost = 60;
  if (line.size() <= kMost) return Cat(", such as \"", line, "\",");
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;  // whole characters
  return Cat(", such as \"", line.substr(0, end), "...\",");
}

constexpr std::string_view kAdvice =
    "print \"step N\" in the line with the loss, or write a profile (sgoodput profile show megatron is one)";
constexpr std::string_view kAnew =
    "it begins anew with each epoch, and its lines do not tell how many steps an epoch has";
constexpr std::string_view kNoLoss = "its lines have no loss";
constexpr std::string_view kMayBeAnew = "it may begin anew with each epoch";
constexpr std::string_view kSeveral = "an epoch has several such lines";
constexpr std::string_view kSamples = "it may count samples instead of steps";

bool Most(int count, const CounterCourse& course) {
  return 10 * count >= 9 * course.lines;
}
// A restart repeats steps. Many are likely only if few of them begin from the start, as epochs do.
bool AreRestarts(int falls, const CounterCourse& course) {
  return 10 * falls <= course.lines && (falls <= 2 || 4 * course.falls_to_start <= falls);
}

// It was seen to begin anew.
bool BeganAnew(const CounterCourse& course) {
  return course.falls_at_total > 0 || course.new_headings > 0 || course.new_epochs > 0;
}

// Lines say that a new epoch began, and then the counter began anew; or did before these lines.
std::string_view HeadingRefusal(const CounterCourse& course) {
  if (BeganAnew(course)) return kAnew;
  const bool began_late = course.first_heading > 1 && course.first <= LargestRise(course);
  return began_late && course.steady_headings == 0 ? kMayBeAnew : "";
}

// Why the counter of these lines, within an epoch, does not tell the steps; empty: it does.
std::string_view EpochRefusal(const CounterCourse& course) {
  if (course.steady_epochs > 0) return "it continues when the epoch changes";
  if (!AreRestarts(course.falls - course.new_epochs, course)) return "it falls too often";
  if (!Most(course.with_loss, course)) return kNoLoss;
  if (course.lines < 2 || course.increments.empty()) return "it does not rise";
  if (MayBeSamples(course)) return kSamples;
  const bool from_first_line = course.first_epoch == 1 && course.first <= course.increments.rbegin()->first;
  if (!course.epoch_zero && !course.epoch_of && !from_first_line)
    return "its lines do not tell whether epochs are counted from 0 or from 1";
  // Its name may be that of anything, such as of a file's part.
  if (!course.epoch_zero && course.new_epochs == 0 && course.first_epoch > 1)
    return "no new epoch shows that it begins anew with each";
  return "";
}

// Why the counter of these lines does not count training steps; empty: it does.
std::string_view Refusal(const CounterCourse& course) {
  if (course.rounded > 0) return "other lines round it (7K)";
  if (course.kind == CounterCourse::Kind::kEpoch) return EpochRefusal(course);
  int rises = 0;
  int same_rise = 0;
  for (const auto& [by, count] : course.increments) {
    rises += count;
    same_rise = std::max(same_rise, count);
  }
  if (const std::string_view heading = HeadingRefusal(course); !heading.empty()) return heading;
  if (course.kind == CounterCourse::Kind::kBar) {
    if (course.lines < 2 || rises == 0) return "it does not rise";
    if (course.falls > 0) return "it begins anew";
    return Most(course.with_loss + course.with_more, course) ? "" : "nothing shows that it is the training's";
  }
  const bool epochs = Most(course.with_epoch, course);
  if (course.falls > 0 && !AreRestarts(course.falls, course)) return "it falls too often";
  // Other names than global_step may count within the epoch.
  if (epochs && course.first_epoch > 1 && course.steady_epochs == 0 && course.rank > 0) return kMayBeAnew;
  if (Most(course.beside_run, course)) return "a number of the whole run is beside it";
  if (Most(course.with_episode, course) && (course.rank > 0 || course.counts_run))
    return "beside episodes, it may count steps of an environment";
  if (course.kind == CounterCourse::Kind::kUnnamed) {
    if (course.lines < ProfileLearner::kUnnamedLines) return "too few lines have it";
    if (!Most(course.with_loss, course)) return kNoLoss;
    if (!Most(course.with_more, course))
      return "except for a loss, its lines have nothing that training prints";
    if (course.with_total > 0 && MayBeSamples(course)) return kSamples;
    return 10 * same_rise >= 9 * (course.lines - 1) ? "" : "it does not rise by the same from line to line";
  }
  if (course.epochs && 10 * (rises + course.falls + 1) < 9 * course.lines) return kSeveral;
  if (course.lines == 1)
    return course.with_loss == 1 && course.with_more == 1 ? "" : "only one line has it, without much else";
  if (rises == 0) return "it does not rise";
  const bool bare = course.lines >= kBareLines && (Most(course.with_total, course) ||
                                                   (course.counts_run && Most(course.with_more, course)));
  const bool training = Most(course.with_loss, course) || bare;
  return training ? "" : kNoLoss;
}

}  // namespace

CounterCourse* ProfileLearner::Group(const std::string& key, CounterCourse::Kind kind, std::string_view name,
                                     int rank) {
  const std::string ranks_key = Cat(rank_, key);
  const auto found = groups_.find(ranks_key);
  if (found != groups_.end()) return &found->second;
  if (groups_.size() >= kMaxGroups) ForgetSingleLines();
  if (groups_.size() >= kMaxGroups) return nullptr;
  CounterCourse& course = groups_[ranks_key];
  course.kind = kind;
  course.name = std::string(name);
  course.rank = rank;
  return &course;
}

// Before training, a program may print any number of lines that are like no other.
void ProfileLearner::ForgetSingleLines() {
  for (auto known = groups_.begin(); known != groups_.end();)
    known = known->second.lines < 2 ? groups_.erase(known) : std::next(known);
}

void ProfileLearner::SeeOther(std::string_view line) {
  if (others_.size() < kMaxOthers) others_.try_emplace(MaskDigits(line), line);
}

bool ProfileLearner::SeeBar(const Line& line) {
  static const auto* const bar = new RE2(Re2Text(kBar));
  std::string percent;
  std::int64_t step = 0;
  std::int64_t of = 0;
  if (!RE2::PartialMatch(Re2Text(line.text), *bar, &percent, &step, &of)) return false;
  const std::string_view before = line.text.substr(0, line.text.find(percent + "%|"));
  const std::vector<std::string> words = NameParts(before);
  if (HasOtherWord(words)) {
    SeeOther(line.text);
    return true;
  }
  // `Epoch:  92%|` counts epochs, `Epoch 12:  92%|` their steps.
  if (HasEpochWord(words) && MaskDigits(before) == before) {
    ++epochs_;
    return true;
  }
  CounterCourse* const course =
      Group(Cat("bar ", MaskDigits(before)), CounterCourse::Kind::kBar, "", kBarRank);
  if (course == nullptr) return true;
  course->with_loss += line.loss || HasLossWord(words) ? 1 : 0;
  course->with_more += HasTrainingWord(words) ? 1 : 0;
  if (heading_) CountHeading(*course, *heading_, step);
  CountLine(*course, line.text, step, of);
  return true;
}

// A counter with its total, beside an epoch.
void ProfileLearner::SeeEpoch(const Line& line) {
  const auto found = FindEpochAndCounter(line.text, line.numbers);
  if (!found) return;
  const LineNumber& epoch = line.numbers[found->first];
  const LineNumber& step = line.numbers[found->second];
  CounterCourse* const course = Group(Cat("epoch ", epoch.name, " ", step.name, "/", *step.of),
                                      CounterCourse::Kind::kEpoch, step.name, kEpochRank);
  if (course == nullptr) return;
  course->with_loss += line.loss ? 1 : 0;
  course->with_stamp += line.stamp ? 1 : 0;
  course->epoch_of = course->epoch_of || epoch.of.has_value();
  CountEpoch(*course, *epoch.integer, *step.integer);
  CountLine(*course, line.text, *step.integer, *step.of);
}

// Whether the line is about a save.
bool ProfileLearner::SeeSave(const Line& line) {
  static const auto* const verb =
      new RE2(R"((?i)\b(sav(?:e|ed|es|ing)|wrote|writing|written|snapshott(?:ing|ed))\b)");
  // `Checkpoint at step 7`, as a message of its own: not `Loading checkpoint at step 7`.
  static const auto* const message =
      new RE2(R"((?i)(?:^|[\]:|>] +|- )(checkpoint(?:ed|ing)?) at (?:global[ _])?(?:step|iter(?:ation)?)\b)");
  static const auto* const thing = new RE2(R"((?i)(checkpoint|ckpt|snapshot|state|model))");
  static const auto* const done =
      new RE2(R"((?i)\b(saved|finished|done|completed?|success\w*|wrote|written|took)\b)");
  std::string said;
  const re2::StringPiece text = Re2Text(line.text);
  const bool saves = RE2::PartialMatch(text, *verb, &said) && RE2::PartialMatch(text, *thing);
  if (!saves && !RE2::PartialMatch(text, *message, &said)) return false;
  if (saves_.size() >= kMaxSaves) return true;
  const bool end = RE2::PartialMatch(text, *done);
  for (const LineNumber& number : line.numbers) {
    const std::string_view after = line.text.substr(number.end);
    std::string_view counts;
    for (const std::string_view word : {" updates", " steps"}) {
      if (after.substr(0, word.size()) == word) counts = word;
    }
    const bool whole = number.integer && !HasUnit(line.text, number);
    // `Saving checkpoints for 7 into`.
    const std::vector<std::string> before = NameParts(number.before);
    const bool checkpoints = number.name == "for" && !before.empty() && before.back() == "checkpoints";
    // A plan.
    if (number.name == "every" || number.name == "next") counts = {};
    if (!whole || (!StepRank(number) && counts.empty() && !checkpoints)) continue;
    if (!IsNearACounter(*number.integer)) return true;
    const std::size_t name_begin =
        checkpoints ? static_cast<std::size_t>(number.before.data() - line.text.data()) : number.name_begin;
    saves_.push_back({*number.integer,
                      end,
                      SaveMatch(line.text, said, number.begin, name_begin, counts),
                      std::string(line.text),
                      {},
                      WasShown(*number.integer)});
    return true;
  }
  SeeSavedFile(line, said, end);
  SeeUntoldSave(line, end);
  return true;
}

void ProfileLearner::SeeUntoldSave(const Line& line, bool end) {
  const bool counts =
      std::any_of(groups_.begin(), groups_.end(), [](const auto& known) { return known.second.lines > 1; });
  std::optional<std::string> match = counts && !line.loss ? UntoldSaveMatch(line.text) : std::nullopt;
  if (!match) return;
  const bool known = std::any_of(saves_.begin(), saves_.end(),
                                 [&](const SeenSave& save) { return !save.step && save.match == *match; });
  if (!known) saves_.push_back({{}, end, *std::move(match), std::string(line.text), {}, false});
}

bool ProfileLearner::WasShown(std::int64_t step) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const auto& known) { return known.second.lines > 0 && known.second.last == step; });
}

// A step that is saved is near those that are counted.
bool ProfileLearner::IsNearACounter(std::int64_t step) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& known) {
    return known.second.lines > 1 && std::abs(known.second.last - step) <= LargestRise(known.second);
  });
}

// The number in a file's name is the step if it always is what a counter showed last, or shows next.
void ProfileLearner::SeeSavedFile(const Line& line, std::string_view verb, bool end) {
  const std::optional<FileNumber> file = FindFileNumber(line.text, verb);
  if (!file || file->value < kLeastFileStep || doubtful_files_.count(file->name) != 0) return;
  const bool next = std::any_of(groups_.begin(), groups_.end(), [&](const auto& known) {
    const CounterCourse& course = known.second;
    return course.increments.size() == 1 && course.falls == 0 &&
           course.last + course.increments.begin()->first == file->value;
  });
  const bool shown = WasShown(file->value);
  if (shown || next) {
    saves_.push_back({file->value, end, file->match, std::string(line.text), file->name, shown});
  } else if (doubtful_files_.size() < kMaxSaves &&
             std::any_of(groups_.begin(), groups_.end(),
                         [](const auto& known) { return known.second.lines >= kRegularLines; })) {
    doubtful_files_.insert(file->name);
  }
}

void ProfileLearner::ProgramBegins() {
  for (auto& [key, course] : groups_) course.begins = course.lines > 0;
  heading_.reset();
}

std::vector<SeenSave> ProfileLearner::Saves() const {
  std::vector<SeenSave> saves;
  for (const SeenSave& save : saves_) {
    if (doubtful_files_.count(save.file) == 0) saves.push_back(save);
  }
  return saves;
}

void ProfileLearner::See(std::string_view text, std::string_view rank) {
  if (text.size() > kMaxLineBytes) return;
  if (!rank.empty() && ranks_.count(rank) == 0) {
    if (ranks_.size() >= kMaxRanks) return;
    ranks_.emplace(rank);
  }
  rank_ = rank.empty() ? "" : Cat(rank, " ");
  Line line;
  line.text = text;
  line.numbers = FindNumbers(text);
  const std::size_t prefix = MessageBegin(text);
  line.numbers.erase(std::remove_if(line.numbers.begin(), line.numbers.end(),
                                    [&](const LineNumber& number) { return number.begin < prefix; }),
                     line.numbers.end());
  if (line.numbers.empty()) {
    SeeSave(line);
    return;
  }
  line.stamp = HasAnyStamp(text);
  for (const LineNumber& number : line.numbers) {
    line.loss = line.loss || NamesLoss(number);
    line.more = line.more || NamesTraining(number);
    line.other = line.other || NamesOtherLoss(number);
    line.trains = line.trains || NamesTrainingLoss(number);
    line.episode = line.episode || NamesEpisode(number);
    const bool counts = number.integer && StepRank(number);
    line.total = line.total || (counts && number.of);
    line.run = line.run || (counts && CountsTheRun(number));
  }
  if (const LineNumber* const epoch = FindEpoch(line.numbers)) line.epoch = epoch->integer;
  if (line.epoch) ++epochs_;
  if (SeeSave(line) && !line.loss) return;
  if (counts_ == Counts::kEpochs) return SeeEpochEnd(line);
  if (SeeBar(line)) return;
  const LineNumber& leader = line.numbers.front();
  // An evaluation prints its own loss, or says so in front.
  const bool evaluated = line.other && line.trains;
  line.other =
      (line.other && !line.trains) || HasOtherWord(NameParts(text.substr(prefix, leader.begin - prefix)));
  if (evaluated && !line.other && evaluated_.size() < kMaxOthers)
    evaluated_.try_emplace(MaskDigits(line.text), line.text);
  const auto count = [&](const std::string& key, CounterCourse::Kind kind, const LineNumber& number,
                         int rank) {
    if (line.other) {
      SeeOther(line.text);
      return;
    }
    CounterCourse* const course = Group(evaluated ? Cat("evaluated ", key) : key, kind, number.name, rank);
    if (course == nullptr) return;
    course->evaluated = evaluated;
    course->with_loss += line.loss ? 1 : 0;
    course->with_more += line.more ? 1 : 0;
    course->with_total += number.of || (line.total && CountsTheRun(number)) ? 1 : 0;
    course->with_stamp += line.stamp ? 1 : 0;
    course->with_episode += line.episode ? 1 : 0;
    if (line.epoch) {
      CountEpoch(*course, *line.epoch, *number.integer);
    } else if (heading_) {
      CountHeading(*course, *heading_, *number.integer);
    }
    course->counts_run = CountsTheRun(number);
    course->beside_run += line.run && !course->counts_run ? 1 : 0;
    CountLine(*course, line.text, *number.integer, number.of.value_or(0));
  };
  bool named = false;
  std::set<std::string_view> seen;
  for (const LineNumber& number : line.numbers) {
    const std::optional<int> rank = StepRank(number);
    if (!rank) continue;
    const std::string key = Cat(line.loss ? "loss " : "name ", Spelling(text, number));
    const auto rounded = IsRounded(number) ? groups_.find(Cat(rank_, key)) : groups_.end();
    if (rounded != groups_.end()) ++rounded->second.rounded;
    if (!number.integer || HasUnit(text, number) || !seen.insert(number.name).second) continue;
    named = true;
    count(key, CounterCourse::Kind::kNamed, number, *rank);
  }
  // A number without a name, beside the loss of an evaluation, counts epochs more often than steps.
  if (!evaluated && !named && leader.integer && !HasUnit(text, leader) &&
      (leader.name.empty() || IsTrainingsOwn(leader))) {
    LineNumber unnamed = leader;
    unnamed.name = {};
    count(Cat(line.loss ? "first loss " : "first ", MaskDigits(Squeezed(text.substr(0, leader.begin)))),
          CounterCourse::Kind::kUnnamed, unnamed, kUnnamedRank);
  }
  if (!line.other && !evaluated) SeeEpoch(line);
  SeeHeading(line, named);
}

void ProfileLearner::SeeEpochEnd(const Line& line) {
  const LineNumber* const epoch = FindHeading(line.numbers);
  if (epoch == nullptr || HasUnit(line.text, *epoch)) return;
  if (!line.loss) {
    if (line.other) SeeOther(line.text);  // an evaluation's
    return;
  }
  CounterCourse* const course =
      Group(Spelling(line.text, *epoch), CounterCourse::Kind::kNamed, epoch->name, 0);
  if (course == nullptr) return;
  course->epochs = true;
  ++course->with_loss;
  course->with_more += line.more ? 1 : 0;
  course->with_stamp += line.stamp ? 1 : 0;
  course->with_total += epoch->of ? 1 : 0;
  CountLine(*course, line.text, *epoch->integer, epoch->of.value_or(0));
}

// A line that names the epoch of the lines below it.
void ProfileLearner::SeeHeading(const Line& line, bool counts) {
  const LineNumber* const epoch = counts ? nullptr : FindHeading(line.numbers);
  if (epoch == nullptr) return;
  heading_ = *epoch;
  heading_->name = heading_->before = heading_->phrase = heading_->unit = {};
}

// The best name among those that count at least half as many lines as any. Lines that also have the loss of
// an evaluation are the last resort: most programs print others between them.
const ProfileLearner::Groups::value_type* ProfileLearner::Best() const {
  const auto* const best = BestOf(false, 0);
  if (best != nullptr) return best;
  int others = 0;
  for (const auto& [key, course] : groups_) {
    if (!course.evaluated) others = std::max(others, course.lines);
  }
  return BestOf(true, std::max(others + 1, kEvaluations));
}

const ProfileLearner::Groups::value_type* ProfileLearner::BestOf(bool evaluated, int least_lines) const {
  int most = least_lines;
  const auto counts = [&](const CounterCourse& course) {
    return course.evaluated == evaluated && Refusal(course).empty();
  };
  for (const auto& [key, course] : groups_) {
    if (counts(course)) most = std::max(most, course.lines);
  }
  const Groups::value_type* best = nullptr;
  for (const auto& known : groups_) {
    const CounterCourse& course = known.second;
    if (!counts(course) || course.lines < least_lines || 2 * course.lines < most) continue;
    if (best == nullptr ||
        std::pair(course.rank, -course.lines) < std::pair(best->second.rank, -best->second.lines))
      best = &known;
  }
  return best;
}

// The expression also finds a counter that is spelled otherwise and that falls.
bool ProfileLearner::TakesAnothersLines(const std::string& text, const Groups::value_type& own) const {
  const absl::StatusOr<LogProfile> profile = LogProfile::Parse(text, "learned");
  return profile.ok() && std::any_of(groups_.begin(), groups_.end(), [&](const Groups::value_type& known) {
           const CounterCourse& course = known.second;
           const bool likewise =
               &known != &own && course.kind == own.second.kind && course.name == own.second.name;
           return likewise && (BeganAnew(course) || !AreRestarts(course.falls, course)) &&
                  std::any_of(course.samples.begin(), course.samples.end(),
                              [&](const std::string& line) { return profile->Match(line).has_value(); });
         });
}

std::optional<LearnedProfile> ProfileLearner::Learn(std::string_view name, int least_lines) const {
  const auto* const best = Best();
  if (best == nullptr || best->second.lines < least_lines) return std::nullopt;
  const CounterCourse& course = best->second;
  std::map<std::string, std::string> others = others_;
  if (!course.evaluated) others.insert(evaluated_.begin(), evaluated_.end());
  std::optional<std::string> text = DraftProfile(name, course, Saves(), others);
  if (!text || TakesAnothersLines(*text, *best)) return std::nullopt;
  const bool base_known = course.kind == CounterCourse::Kind::kBar || course.first <= 1 ||
                          CountedFrom(course) != 0 ||
                          (course.kind == CounterCourse::Kind::kEpoch && course.highest == course.of);
  const int restarts = course.falls - course.new_epochs;
  const bool first_epoch = course.first_epoch == 0 || (course.first_epoch == 1 && !course.epoch_zero);
  return LearnedProfile{
      *std::move(text),
      Cat(course.epochs ? "epochs count as steps, by " : "steps are counted by ", CounterName(course), " in ",
          course.lines, course.lines == 1 ? " line" : " lines", ", from ", course.first, " to ", course.last,
          course.new_epochs > 0 ? Cat(", anew in each of ", course.new_epochs + 1, " epochs") : "",
          restarts > 0 ? Cat(", with ", restarts, restarts == 1 ? " restart" : " restarts") : "",
          IsOfEvaluations(course)
              ? "; if the program counts from 0 and evaluates after a step, these steps are one too low"
          : base_known
              ? ""
              : "; if it begins with 0, these steps are one too low (add 1: see sgoodput profile learn)"),
      best->first, course.kind == CounterCourse::Kind::kEpoch && first_epoch};
}

bool ProfileLearner::WasWrongAbout(const std::string& counter) const {
  const auto found = groups_.find(counter);
  if (found == groups_.end()) return false;
  const CounterCourse& course = found->second;
  if (course.rounded > 0) return true;
  return course.kind == CounterCourse::Kind::kEpoch ? course.steady_epochs > 0 : BeganAnew(course);
}

std::string ProfileLearner::WhyNot() const {
  const CounterCourse* likeliest = nullptr;
  for (const auto& [key, course] : groups_) {
    if (likeliest == nullptr ||
        std::pair(course.with_loss, course.lines) > std::pair(likeliest->with_loss, likeliest->lines))
      likeliest = &course;
  }
  if (likeliest == nullptr && epochs_ > 0 && counts_ == Counts::kSteps) {
    return Cat(epochs_, epochs_ == 1 ? " line counts" : " lines count",
               " epochs, and an epoch is not a step: print the step, too, name the checkpoint directory "
               "(--goodput-checkpoint-dir), or count epochs (log profile epochs)");
  }
  if (likeliest == nullptr && counts_ == Counts::kEpochs) return "no line has an epoch and a loss";
  if (likeliest == nullptr && !others_.empty()) {
    return Cat("the lines that count steps", Example(others_.begin()->second), " are of an evaluation; ",
               kAdvice);
  }
  if (likeliest == nullptr)
    return Cat(
        "no number counts steps: that takes a name such as step or iteration, or the begin of a line, ",
        "and a loss; ", kAdvice);
  std::string_view refusal = Refusal(*likeliest);
  if (refusal.empty()) refusal = "no expression distinguishes its lines from others";
  const std::string_view advice = likeliest->epochs ? "write a profile" : kAdvice;
  return Cat(CounterName(*likeliest), " in ", likeliest->lines, likeliest->lines == 1 ? " line" : " lines",
             likeliest->samples.empty() ? "" : Example(likeliest->samples.front()),
             " is not certain to count ", likeliest->epochs ? "epochs" : "steps", ": ", refusal, "; ",
             advice);
}

}  // namespace goodput
