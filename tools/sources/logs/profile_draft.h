// Writes the text of an inferred profile (profile_learner.h): an expression for the lines of steps, those for
// saves, and examples from the lines that were seen. The text is checked against these lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// What was seen of lines whose counter has the same name.
struct CounterCourse {
  enum class Kind { kNamed, kUnnamed, kBar, kEpoch };
  Kind kind = Kind::kNamed;
  std::string name;     // kNamed: of the counter
  int rank = 0;         // of the name: lower is better
  bool epochs = false;  // these are epochs, which count as steps
  int lines = 0;
  int with_loss = 0;
  int with_more = 0;   // something else that training prints
  int with_epoch = 0;  // an epoch as a whole number
  int with_total = 0;
  int with_stamp = 0;
  int with_episode = 0;     // of reinforcement learning
  bool evaluated = false;   // the lines also have the loss of an evaluation
  int rounded = 0;          // further lines, in which it is a rounded number (7K)
  int beside_run = 0;       // another number counts the steps of the whole run
  bool counts_run = false;  // its name says that it does
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  int repeats = 0;  // lines that are the same as the one before, as TensorFlow 1 prints each line twice
  int falls = 0;
  int falls_to_start = 0;                  // to where it began, or below
  int falls_at_total = 0;                  // after it had reached its total, which stayed the same
  std::map<std::int64_t, int> increments;  // how often it rose by how much
  std::int64_t of = 0;                     // its total, in the last line
  std::vector<std::string> samples;        // the first lines, and the latest
  bool begins = false;                     // a program began after its last line: it may fall

  // Epochs in these lines.
  std::int64_t first_epoch = 0;
  std::int64_t last_epoch = 0;
  int new_epochs = 0;       // lines in which the epoch rose and the counter fell
  int steady_epochs = 0;    // lines in which the epoch rose and the counter did not fall
  bool epoch_of = false;    // "epoch 1/3"
  bool epoch_zero = false;  // an epoch 0 was seen

  // Epochs that lines without the counter name.
  std::int64_t heading = 0;        // the latest before the latest of these lines; 0: none
  std::int64_t first_heading = 0;  // the latest before the first of them, if it had a total
  int new_headings = 0;            // lines before which the epoch rose and in which the counter fell
  int steady_headings = 0;         // before which it rose and in which the counter did not fall
};

// A line about a save.
struct SeenSave {
  std::optional<std::int64_t> step;  // empty: the line does not tell it
  bool end = false;
  std::string match;
  std::string line;
  std::string file;    // its name with `#` for the step, if only that has it; empty: the line says the step
  bool shown = false;  // the step is what a counter showed last
};

// The number to add to what such lines count, so that the first step is 1.
std::int64_t CountedFrom(const CounterCourse& course);
// The lines are of evaluations once in several steps.
bool IsOfEvaluations(const CounterCourse& course);

// `others`: lines with a counter that are not about training. Empty if no expression finds the counter in
// each of the samples, and in none of the others.
std::optional<std::string> DraftProfile(std::string_view name, const CounterCourse& course,
                                        const std::vector<SeenSave>& saves,
                                        const std::map<std::string, std::string>& others);

// The expression of a line about a save whose verb is at this place: `counts` is the word after the number,
// if that tells that it counts steps.
std::string SaveMatch(std::string_view line, std::string_view verb, std::size_t number_begin,
                      std::size_t name_begin, std::string_view counts);

// A line about a save to a file or folder whose name has one number, such as model_40.pth: perhaps the step.
struct FileNumber {
  std::int64_t value = 0;
  std::string name;  // of the file, with `#` for the number
  std::string match;
};
std::optional<FileNumber> FindFileNumber(std::string_view line, std::string_view verb);

// The expression of a line that says that a checkpoint is or was saved, and not of which step: it is of those
// that were done. Empty: it may say something else.
std::optional<std::string> UntoldSaveMatch(std::string_view line);

// tqdm's bar (tqdm/std.py, format_meter); groups: percent, step, total, elapsed.
inline constexpr std::string_view kBar = R"((\d+)%\|[^|]*\| *(\d+)/(\d+) \[([\d:]+)<[^\]]*(?:it/s|s/it))";
// Whether the line has a time that this one of kStamps finds.
bool HasStamp(std::string_view line, std::size_t stamp);

}  // namespace goodput
