// The step entries of a log, as nearly all programs write them: one flat object, nothing escaped. Nearly all
// of a log is steps, and these are read several times faster than JSON in general.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/sources/logs/google_entry.h"

namespace goodput {

struct PlainStep {
  std::string_view job_name;  // in the text
  std::int64_t step = 0;
  Ns start = 0;
};

// True: the text is {"job_name": "...", "step_count": N, "step_start_time": S}, in any order and with any
// blanks, and `into` says so. False: whatever else. What is taken here, GoogleEntryParser::ParseJson takes
// the same.
bool ReadPlainStep(std::string_view text, PlainStep& into);

// Entries one after the other: one program writes them, so most are the one before but for two numbers.
class PlainStepReader {
 public:
  bool Read(std::string_view text, PlainStep& into);

 private:
  // What is around the numbers of the entry before, of which `first_` says which comes first.
  std::string head_;
  std::string between_;
  std::string tail_;
  std::string job_name_;
  bool step_first_ = true;
};

}  // namespace goodput
