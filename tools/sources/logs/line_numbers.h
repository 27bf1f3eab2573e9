// The numbers in a line of output, each with the word that names it: "step 7/100 | loss: 2.5 | dt 120.5ms".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

struct LineNumber {
  std::size_t begin = 0;  // in the line
  std::size_t end = 0;
  std::optional<std::int64_t> integer;  // absent: a fraction, negative, or of more than 15 digits
  std::string_view name;                // the word before it, across separators; empty: none
  std::string_view before;              // the word before that, if only a space is between
  std::string_view phrase;         // up to three words before the name: "Gen Loss" of "Gen Loss Total : 7"
  bool follows_colon = false;      // a colon is between them: "Loss: pixel=7"
  std::size_t name_begin = 0;      // of `name` in the line
  std::optional<std::int64_t> of;  // the total in "7/100" and "7 / 100"
  std::size_t of_end = 0;
  std::string_view unit;  // letters that follow at once: "ms"
  // The word behind it that ends its part of the line, if no word is before it: "0.1 loss, 7 s run | 3e-4
  // lr".
  std::string_view after;
  bool is_clock = false;  // "0:01:23"
};

// In order. Dates, times of day and numbers within words (e4m3, 0x7f, node17) are omitted; a clock, hours and
// minutes after a name, is one number without an integer, and so is what a name has instead of a number (nan,
// inf). After a name, 107,200 is one number.
std::vector<LineNumber> FindNumbers(std::string_view line);

// The parts of a name in lower case: "train/global_step" gives train, global, step.
std::vector<std::string> NameParts(std::string_view name);

}  // namespace goodput
