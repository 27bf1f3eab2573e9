// Reads step entries in the form that nearly all programs write them: one flat object without escapes. Most
// of a log is steps, and this is several times faster than a JSON parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/sources/logs/google_entry.h"

namespace goodput {

struct PlainStep {
  std::string_view job_name;  // points into the text
  std::int64_t step = 0;
  Ns start = 0;
};

// True: the text is {"job_name": "...", "step_count": N, "step_start_time": S}, in any order and with any
// blanks; sets `into`. False: anything else. GoogleEntryParser::ParseJson accepts what this accepts.
bool ReadPlainStep(std::string_view text, PlainStep& into);

// Reads consecutive entries: since one program writes them, most differ from the previous one only in two
// numbers.
class PlainStepReader {
 public:
  bool Read(std::string_view text, PlainStep& into);

 private:
  // The text around the numbers of the previous entry; `first_` says which number comes first.
  std::string head_;
  std::string between_;
  std::string tail_;
  std::string job_name_;
  bool step_first_ = true;
};

}  // namespace goodput
