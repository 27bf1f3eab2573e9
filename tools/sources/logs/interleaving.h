// Recognizes that several programs print their steps to the same output at the same time: tasks of an array
// whose output is one file, or ranks that each print far behind the others. Then no line tells whose step it
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/accounting/timeline/facts.h"
#include "tools/sources/logs/running_median.h"

namespace goodput {

class Interleaving {
 public:
  // A line that `step` is done. True: the lines are certain to be those of several programs.
  //
  // The number falls when a program was restarted, and when another one prints. In the second case it goes on
  // where that one was, and without a pause. That must happen several times in a row.
  bool See(std::int64_t step, Ns t);

 private:
  static constexpr int kCertain = 4;
  static constexpr std::size_t kMostPrograms = 64;
  // A pause, in usual times between two lines, and at least: a program takes longer to start, and lines
  // without a time have that of a look, which may be late.
  static constexpr Ns kPause = 3;
  static constexpr Ns kShortestPause = 2 * kSecond;

  // The program whose last step is nearest below this one.
  std::optional<std::size_t> NearestBelow(std::int64_t step) const;

  std::vector<std::int64_t> last_;  // step of each program
  std::size_t current_ = 0;         // the one that printed last
  Ns t_ = 0;
  UsualTime between_;  // lines
  int in_a_row_ = 0;
};

}  // namespace goodput
