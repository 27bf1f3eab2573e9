// The step entries of a log, as nearly all programs write them: one flat object, nothing escaped. Nearly all
// of a log is steps, and these are read several times faster than JSON in general.
#ifndef GOODPUT_TOOLS_EXCHANGE_PLAIN_STEP_H_
#define GOODPUT_TOOLS_EXCHANGE_PLAIN_STEP_H_

#include <string_view>

#include "tools/exchange/google_entry.h"

namespace goodput {

// True: the text is {"job_name": "...", "step_count": N, "step_start_time": S}, in any order and with any
// blanks, and `entry`, which must be as it was constructed, says so. False: whatever else, and `entry` is as
// it was. What is taken here, GoogleEntryParser::ParseJson takes the same.
bool ReadPlainStep(std::string_view text, GoogleEntry& entry);

}  // namespace goodput

#endif  // GOODPUT_TOOLS_EXCHANGE_PLAIN_STEP_H_
