// Infers a log profile from the output of a program that no profile matches: which number counts the training
// steps, which lines say that a checkpoint was saved, and what the lines say about time.
//
// Lines are grouped by the words that name their numbers, as log parsers group lines by their constant tokens
// (He et al., "Drain: An Online Log Parsing Approach with Fixed Depth Tree", 2017). The integer of a group is
// a step counter if all of this holds:
//
// - Its name says so (step, iteration, update), or it has none and leads at least kUnnamedLines lines.
// - Its lines carry what training prints: a loss, and for a single line something else, too. Lines of
//   evaluations, of loading and of downloads do not count.
// - It rises from line to line, apart from repetitions and restarts. A counter that begins anew with each
//   epoch is accepted only if its line has the epoch and the epoch's total.
//
// Otherwise nothing is inferred: a wrong step is worse than none. What cannot be inferred is whether the
// counter begins with 0, unless the log shows the 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

struct LearnedProfile {
  std::string text;     // a profile with examples, as LogProfile::Parse reads it
  std::string why;      // what was inferred from how many lines, in one line
  std::string counter;  // identifies the number that counts steps
};

class ProfileLearner {
 public:
  // An unnamed number is a counter only if it leads this many lines.
  static constexpr int kUnnamedLines = 4;

  // Lines without colours and labels (lines.h). Constant memory; longer lines than kMaxLineBytes are ignored.
  void See(std::string_view line);
  // Empty if nothing in the lines is certain enough, or fewer lines than that have the counter. `name`: of
  // the profile.
  std::optional<LearnedProfile> Learn(std::string_view name, int least_lines = 1) const;

  // How many lines about saves it keeps.
  std::size_t saves() const { return saves_.size(); }

  static constexpr std::size_t kMaxLineBytes = 4096;
  static constexpr std::size_t kMaxGroups = 256;

 private:
  // Lines whose counter has the same name.
  struct Group {
    int rank = 0;      // of the name: lower is better
    bool bar = false;  // a progress bar
    int lines = 0;
    int with_loss = 0;
    int with_more = 0;  // something else that training prints
    int with_epoch = 0;
    int with_total = 0;
    int with_stamp = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    int falls = 0;
    std::map<std::int64_t, int> increments;  // how often it rose by how much
    std::vector<std::string> samples;        // the first lines, and the latest
  };
  struct Line;
  class Draft;
  struct Save {
    std::int64_t step = 0;
    bool end = false;
    std::string match;
    std::string line;
  };
  void Count(const std::string& key, const Line& line, std::int64_t value, bool has_total, int rank,
             bool bar);
  void SeeBar(const Line& line);
  bool SeeSave(const Line& line);
  bool IsCounter(const Group& group) const;
  const std::pair<const std::string, Group>* Best() const;

  std::map<std::string, Group> groups_;
  std::vector<Save> saves_;
  // Lines with a counter that are not about training, one of each shape.
  std::map<std::string, std::string> others_;
};

}  // namespace goodput
