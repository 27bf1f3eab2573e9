#include "tools/sources/logs/line_words.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "re2/re2.h"

namespace goodput {
namespace {

using Words = std::set<std::string, std::less<>>;

const Words& Losses() {
  static const auto* const words =
      new Words{"loss", "losses", "ppl", "perplexity", "nll", "ce", "xent", "bpb"};
  return *words;
}
const Words& TrainingWords() {
  static const auto* const words =
      new Words{"lr",     "learning", "rate",       "grad", "gnorm", "norm",    "mfu",
                "tflops", "flops",    "tok",        "toks", "token", "tokens",  "tps",
                "wps",    "ups",      "throughput", "time", "dt",    "elapsed", "reward"};
  return *words;
}
// Of evaluations. A loss may have other words of other work: load_balancing_loss.
const Words& EvaluationWords() {
  static const auto* const words = new Words{"eval",    "evaluate", "evaluating", "evaluation", "val",
                                             "valid",   "validate", "validating", "validation", "test",
                                             "testing", "dev",      "predict",    "predicting", "sanity"};
  return *words;
}
const Words& OtherWords() {
  static const auto* const words = [] {
    auto* const all =
        new Words{"load",         "loading",  "download",   "downloading", "tokenize",   "tokenizing",
                  "tokenization", "map",      "shard",      "shards",      "preprocess", "preprocessing",
                  "warmup",       "generate", "generating", "extracting",  "fetching"};
    all->insert(EvaluationWords().begin(), EvaluationWords().end());
    return all;
  }();
  return *words;
}

bool AnyOf(const std::vector<std::string>& parts, const Words& words) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return words.count(part) != 0; });
}

// The words of a number's name, and those of the word before it.
std::vector<std::string> PartsWithBefore(const LineNumber& number) {
  std::vector<std::string> parts = NameParts(number.name);
  for (const std::string& word : NameParts(number.before)) parts.push_back(word);
  return parts;
}

// The number is called a loss, in one of the words of its name or in those before it: `Gen Loss Total : 7`,
// `Loss is 7`, `Loss: pixel=7`, `l_pix: 7`, `Cost 7`; or behind it: `7 loss`.
bool IsCalledLoss(const LineNumber& number) {
  if (AnyOf(NameParts(number.after), Losses())) return true;
  const std::vector<std::string> parts = NameParts(number.name);
  if (AnyOf(parts, Losses())) return true;
  const std::size_t slash = number.name.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? number.name : number.name.substr(slash + 1);
  if (last.size() > 2 && last.substr(0, 2) == "l_") return true;
  if (parts.size() == 1 && parts.front() == "cost" && number.phrase.empty()) return true;
  static const auto* const fillers =
      new Words{"is", "total", "sum", "avg", "average", "mean", "value", "function"};
  const std::vector<std::string> before = NameParts(number.phrase);
  return !before.empty() && Losses().count(before.back()) != 0 &&
         (number.follows_colon || (parts.size() == 1 && AnyOf(parts, *fillers)));
}

// The words of a loss, or those before it, are of an evaluation.
bool IsEvaluations(const LineNumber& number) {
  std::vector<std::string> parts = PartsWithBefore(number);
  for (const std::string& word : NameParts(number.phrase)) parts.push_back(word);
  return AnyOf(parts, EvaluationWords());
}

bool IsEpochName(const LineNumber& number) {
  const std::vector<std::string> parts = NameParts(number.name);
  return number.integer && std::count(parts.begin(), parts.end(), "epoch") != 0;
}

std::string_view WordAt(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && absl::ascii_isalpha(static_cast<unsigned char>(line[end]))) ++end;
  return line.substr(at, end - at);
}

}  // namespace

std::optional<int> StepRank(const LineNumber& number) {
  static const auto* const totals =
      new Words{"total",  "max", "num",   "per",   "every",        "remaining", "save",
                "saving", "log", "local", "accum", "accumulation", "micro",     "inner",
                "sub",    "env", "agent", "of",    "sim",          "sampling",  "denoising"};
  // `global_step/max_steps: 56/176` names both.
  std::string_view name = number.name;
  const std::size_t slash = number.of ? name.rfind('/') : std::string_view::npos;
  if (slash != std::string_view::npos && AnyOf(NameParts(name.substr(slash)), *totals))
    name = name.substr(0, slash);
  std::vector<std::string> parts = NameParts(name);
  // As in `Iter(train)`.
  if (parts.size() > 1 && (parts.back() == "train" || parts.back() == "training")) parts.pop_back();
  if (parts.empty()) return std::nullopt;
  std::string last = parts.back();
  if (last.size() > 3 && last.back() == 's') last.pop_back();
  parts.pop_back();
  for (const std::string& word : NameParts(number.before)) parts.push_back(word);
  const bool updates = last == "update";
  if (AnyOf(parts, OtherWords())) return std::nullopt;
  if (AnyOf(parts, *totals) && !(updates && std::count(parts.begin(), parts.end(), "num") == 1))
    return std::nullopt;
  if (last == "step") {
    static const auto* const whole = new Words{"global", "train", "training", "optimizer", "opt", "current"};
    return AnyOf(parts, *whole) ? 0 : 1;
  }
  // `Up. 7`.
  if (updates || number.name == "Up.") return 2;
  if (last == "iteration") return 3;
  if (last == "iter") return 4;
  if (last == "it") return 5;
  return std::nullopt;
}

bool NamesLoss(const LineNumber& number) {
  return IsCalledLoss(number) && !IsEvaluations(number);
}
bool NamesTrainingLoss(const LineNumber& number) {
  if (!NamesLoss(number)) return false;
  static const auto* const training = new Words{"train", "training", "trn"};
  std::vector<std::string> parts = PartsWithBefore(number);
  for (const std::string& word : NameParts(number.phrase)) parts.push_back(word);
  return AnyOf(parts, *training) || (parts.size() == 1 && parts.front() == "loss");
}
bool NamesOtherLoss(const LineNumber& number) {
  return IsCalledLoss(number) && IsEvaluations(number);
}
bool NamesTraining(const LineNumber& number) {
  return (AnyOf(NameParts(number.name), TrainingWords()) ||
          AnyOf(NameParts(number.after), TrainingWords())) &&
         !AnyOf(PartsWithBefore(number), OtherWords());
}

bool LooksLikeProgress(std::string_view line) {
  bool step = false;
  bool loss = false;
  for (const LineNumber& number : FindNumbers(line)) {
    if (NamesOtherLoss(number)) return false;
    const bool counts = number.integer && StepRank(number);
    step = step || counts;
    loss = loss || NamesLoss(number) || (counts && number.of);
  }
  return step && loss;
}

bool LooksLikeEpoch(std::string_view line) {
  const std::vector<LineNumber> numbers = FindNumbers(line);
  return FindHeading(numbers) != nullptr && std::any_of(numbers.begin(), numbers.end(), NamesLoss);
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

bool NamesEpisode(const LineNumber& number) {
  static const auto* const words = new Words{"episode", "episodes", "episodic"};
  return AnyOf(PartsWithBefore(number), *words);
}
bool CountsTheRun(const LineNumber& number) {
  std::vector<std::string> parts = PartsWithBefore(number);
  return StepRank(number) == 0 && std::count(parts.begin(), parts.end(), "global") != 0;
}
bool CountsWhatIsDone(std::string_view name) {
  const std::vector<std::string> parts = NameParts(name);
  return std::count(parts.begin(), parts.end(), "num") != 0;
}

bool HasLossWord(const std::vector<std::string>& words) {
  return AnyOf(words, Losses());
}
bool HasOtherWord(const std::vector<std::string>& words) {
  return AnyOf(words, OtherWords());
}
bool HasEpochWord(const std::vector<std::string>& words) {
  static const auto* const epochs = new Words{"epoch", "epochs"};
  return AnyOf(words, *epochs);
}
bool HasTrainingWord(const std::vector<std::string>& words) {
  static const auto* const training = new Words{"train", "training", "trainer", "epoch", "step", "steps"};
  return AnyOf(words, *training);
}

std::size_t MessageBegin(std::string_view line) {
  static const auto* const glog =
      new RE2(R"([DIWEF]\d{4}(?:\d{4})? \d\d:\d\d:\d\d(?:\.\d+)? +\d+ (?:[\w.-]+ )?[^ \]]+:\d+\])");
  re2::StringPiece rest(line.data(), line.size());
  return RE2::Consume(&rest, *glog) ? line.size() - rest.size() : 0;
}

const LineNumber* FindEpoch(const std::vector<LineNumber>& numbers) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), IsEpochName);
  return found == numbers.end() ? nullptr : &*found;
}

const LineNumber* FindHeading(const std::vector<LineNumber>& numbers) {
  const auto names = [](const LineNumber& number) {
    const std::vector<std::string> parts = NameParts(number.name);
    static const auto* const words = new Words{"train", "training", "current"};
    const bool name = parts.size() == 1 || (parts.size() == 2 && words->count(parts.front()) != 0);
    static const auto* const totals =
        new Words{"max", "maximum", "num", "total", "last", "every", "per", "save", "of", "best"};
    return number.integer && name && !parts.empty() && parts.back() == "epoch" &&
           !AnyOf(NameParts(number.before), *totals);
  };
  const auto found = std::find_if(numbers.begin(), numbers.end(), names);
  return found == numbers.end() ? nullptr : &*found;
}

std::optional<std::pair<std::size_t, std::size_t>> FindEpochAndCounter(
    std::string_view line, const std::vector<LineNumber>& numbers) {
  const auto counts = [&](std::size_t i) {
    return numbers[i].integer && numbers[i].of && *numbers[i].of > 0;
  };
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::vector<std::string> parts = NameParts(numbers[i].name);
    // `Train: 2 [ 50/500 ...` may be an epoch, too, and `Train: [2/30][50/500]`.
    const std::size_t end = numbers[i].of ? numbers[i].of_end : numbers[i].end;
    const std::string_view between = i + 1 < numbers.size() && numbers[i + 1].begin > end
                                         ? line.substr(end, numbers[i + 1].begin - end)
                                         : std::string_view("-");
    const bool bracket = between.find_first_not_of(numbers[i].of ? " []" : " [") == std::string_view::npos;
    const bool train = numbers[i].integer && bracket && parts.size() == 1 &&
                       (parts.front() == "train" || parts.front() == "training");
    if (!IsEpochName(numbers[i]) && !train) continue;
    for (std::size_t k = i + 1; k < numbers.size(); ++k) {
      if (counts(k)) return std::pair(i, k);
    }
    // `50/500 of epoch 2/30`
    const bool before =
        i > 0 && counts(i - 1) &&
        line.substr(numbers[i - 1].of_end, numbers[i].name_begin - numbers[i - 1].of_end) == " of ";
    return before ? std::optional(std::pair(i, i - 1)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<LineDuration> FindDuration(std::string_view line, const LineNumber& number) {
  LineDuration found;
  found.unit_begin = number.end;
  if (number.unit.empty() && number.end < line.size() && line[number.end] == ' ') ++found.unit_begin;
  found.unit = WordAt(line, found.unit_begin);
  const std::size_t after = found.unit_begin + found.unit.size();
  // Per step, if it says per what.
  if (after < line.size() && line[after] == '/') {
    static const auto* const steps = new Words{"step", "it", "iter", "iteration", "update"};
    if (steps->count(WordAt(line, after + 1)) == 0) return std::nullopt;
  }
  const std::vector<std::string> parts = NameParts(number.name);
  static const auto* const seconds = new Words{"s", "sec", "secs", "second", "seconds"};
  found.is_ms = found.unit == "ms" || (found.unit.empty() && std::count(parts.begin(), parts.end(), "ms"));
  if (!found.is_ms && seconds->count(found.unit) == 0) return std::nullopt;
  if (!parts.empty()) {
    static const auto* const times = new Words{"time", "dt", "elapsed", "ms", "sec", "seconds", "took"};
    static const auto* const totals = new Words{"total", "remaining", "eta", "load", "data", "save"};
    if (!AnyOf(parts, *times) || AnyOf(parts, *totals)) return std::nullopt;
    // Since the beginning, as `elapsed_time: 36s`, unless it is `elapsed_time_per_step`.
    static const auto* const elapsed = new Words{"elapsed"};
    static const auto* const per = new Words{"per", "step", "it", "iter", "iteration", "update", "batch"};
    if (AnyOf(parts, *elapsed) && !AnyOf(parts, *per)) return std::nullopt;
  }
  return found;
}

}  // namespace goodput
