// What the words of a line of output tell about its numbers: which may count training steps, which are
// measured by training, and which belong to something else, such as an evaluation or a download.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sources/logs/line_numbers.h"

namespace goodput {

// How well the name of a number tells that it counts training steps; lower is better. Empty: it does not.
std::optional<int> StepRank(const LineNumber& number);

// Of reinforcement learning, whose steps are often those of an environment.
bool NamesEpisode(const LineNumber& number);
// The number counts the steps of the whole run, whatever else the line counts.
bool CountsTheRun(const LineNumber& number);
// A counter of this name says how many steps are done: num_updates.
bool CountsWhatIsDone(std::string_view name);

bool NamesLoss(const LineNumber& number);
// `train_loss`, or just `loss`: not one of several losses.
bool NamesTrainingLoss(const LineNumber& number);
// The loss of an evaluation.
bool NamesOtherLoss(const LineNumber& number);
// Something else that training prints, such as the learning rate.
bool NamesTraining(const LineNumber& number);

// Whether a line has a number that may count training steps, beside a loss or its total, and is not about
// something else.
bool LooksLikeProgress(std::string_view line);

// Whether a line has an epoch and a loss, as programs print when an epoch is over.
bool LooksLikeEpoch(std::string_view line);

// A line's text with each number replaced by `#`: the same for lines that differ only in their numbers.
std::string MaskDigits(std::string_view text);

// The words of a text, in lower case.
bool HasLossWord(const std::vector<std::string>& words);
bool HasOtherWord(const std::vector<std::string>& words);
bool HasEpochWord(const std::vector<std::string>& words);
// Of a progress bar's description.
bool HasTrainingWord(const std::vector<std::string>& words);

// Where the message begins, behind what the loggers of Google's libraries print before it; 0 for others.
std::size_t MessageBegin(std::string_view line);

// An epoch and a counter with a total behind it, such as `Epoch [2][ 50/500]`, or directly before it, `50/500
// of epoch 2`: the indices of both numbers.
std::optional<std::pair<std::size_t, std::size_t>> FindEpochAndCounter(
    std::string_view line, const std::vector<LineNumber>& numbers);
// The epoch, whether or not there is such a counter.
const LineNumber* FindEpoch(const std::vector<LineNumber>& numbers);
// The epoch that a line says training is in: not the number of epochs, or that of the best one.
const LineNumber* FindHeading(const std::vector<LineNumber>& numbers);

// How long a step took, "120.5ms" or "2.5 s": of a number whose name says so, or that has none.
struct LineDuration {
  std::string_view unit;  // "ms", or another of "s", "sec", ...
  std::size_t unit_begin = 0;
  bool is_ms = false;
};
std::optional<LineDuration> FindDuration(std::string_view line, const LineNumber& number);

}  // namespace goodput
