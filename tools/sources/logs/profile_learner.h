// Infers a log profile from the output of a program that no profile matches: which number counts the training
// steps, which lines say that a checkpoint was saved, and what the lines say about time.
//
// Lines are grouped by the words that name their numbers, as log parsers group lines by their constant tokens
// (He et al., "Drain: An Online Log Parsing Approach with Fixed Depth Tree", 2017). The integer of a group is
// a step counter if all of this holds:
//
// - Its name says so (step, iteration, update), or it has none and leads at least kUnnamedLines lines.
// - Its lines carry what training prints: a loss, and for a single line something else, too. Lines of
//   evaluations, of loading and of downloads do not count. Lines with the losses of both count if no other
//   lines have a counter as often.
// - It rises from line to line, apart from repetitions and restarts. A counter that begins anew with each
//   epoch is accepted only if its line has the epoch and the epoch's total, and the lines tell whether epochs
//   are counted from 0 or from 1. A counter beside an epoch that is not the first may be one of these, unless
//   its name says otherwise or it continues when the epoch changes. The epoch may also be in a line above,
//   and a counter that falls when it has reached its total has begun anew without one. Restarts fall, too,
//   but seldom to the start.
// - No number of the whole run (global_step) is beside it, and it has no unit (7%) and is
//   rounded in no line (7K).
//
// Otherwise nothing is inferred: a wrong step is worse than none. What cannot be inferred is whether the
// counter begins with 0, unless the log shows the 0 or an interval that tells (19, 39, 59).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sources/logs/line_numbers.h"
#include "tools/sources/logs/profile_draft.h"

namespace goodput {

struct LearnedProfile {
  std::string text;     // a profile with examples, as LogProfile::Parse reads it
  std::string why;      // what was inferred from how many lines, in one line
  std::string counter;  // identifies the number that counts steps
  // It counts within an epoch, and the steps of the first epoch are what it shows.
  bool from_first_epoch = false;
};

class ProfileLearner {
 public:
  // What counts as steps. kEpochs: the epochs in lines that have a loss, too, as programs print when an epoch
  // is over.
  enum class Counts : std::uint8_t { kSteps, kEpochs };
  explicit ProfileLearner(Counts counts = Counts::kSteps) : counts_(counts) {}
  Counts counts() const { return counts_; }

  // An unnamed number is a counter only if it leads this many lines.
  static constexpr int kUnnamedLines = 4;

  // Lines without colours and labels (lines.h). Constant memory; longer lines than kMaxLineBytes are ignored.
  // `rank`: of the line, if known; empty: none. Ranks count for themselves; those after the first few are
  // ignored.
  void See(std::string_view line, std::string_view rank = {});
  // The lines that follow are another program's: counters may begin anew.
  void ProgramBegins();
  // Empty if nothing in the lines is certain enough, or fewer lines than that have the counter. `name`: of
  // the profile.
  std::optional<LearnedProfile> Learn(std::string_view name, int least_lines = 1) const;
  // Later lines show that the counter of a learned profile does not count as it did: it began anew with an
  // epoch, or is rounded (7K).
  bool WasWrongAbout(const std::string& counter) const;
  // Why nothing was inferred: the likeliest counter and what is missing, in one line.
  std::string WhyNot() const;

  // How many lines about saves it keeps.
  std::size_t saves() const { return saves_.size(); }

  static constexpr std::size_t kMaxLineBytes = 4096;
  static constexpr std::size_t kMaxGroups = 256;
  static constexpr std::size_t kMaxRanks = 4;

 private:
  struct Line;
  using Groups = std::map<std::string, CounterCourse>;

  // The group of that key, if there is room for it.
  CounterCourse* Group(const std::string& key, CounterCourse::Kind kind, std::string_view name, int rank);
  void ForgetSingleLines();
  void SeeOther(std::string_view line);
  bool SeeBar(const Line& line);
  void SeeEpoch(const Line& line);
  void SeeEpochEnd(const Line& line);
  void SeeHeading(const Line& line, bool counts);
  bool SeeSave(const Line& line);
  void SeeSavedFile(const Line& line, std::string_view verb, bool end);
  void SeeUntoldSave(const Line& line, bool end);
  bool WasShown(std::int64_t step) const;
  bool IsNearACounter(std::int64_t step) const;
  std::vector<SeenSave> Saves() const;
  const Groups::value_type* Best() const;
  const Groups::value_type* BestOf(bool evaluated, int least_lines) const;
  bool TakesAnothersLines(const std::string& text, const Groups::value_type& own) const;

  Counts counts_;
  Groups groups_;
  std::set<std::string, std::less<>> ranks_;
  std::string rank_;  // of the line being seen, as the groups' keys begin
  std::vector<SeenSave> saves_;
  std::set<std::string> doubtful_files_;  // names (SeenSave) whose number was not always the step
  // Lines with a counter that are not about training, one of each shape.
  std::map<std::string, std::string> others_;
  // Lines with a counter and the losses of training and of an evaluation, likewise.
  std::map<std::string, std::string> evaluated_;
  std::int64_t epochs_ = 0;  // lines that name one
  // The epoch that the latest line without a counter names.
  std::optional<LineNumber> heading_;
};

}  // namespace goodput
