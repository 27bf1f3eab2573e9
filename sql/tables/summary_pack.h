// Many records of a job in few bytes: of each what accounts of it are made of. Pure.
//
// Left out are the members that no report reads: the writer's process id, the job's uid and gid, process ids
// of tasks and of senders of signals. Time, place (source and offset) and all else stay, to the nanosecond.
//
// The bytes: LEB128 length of what follows, and that deflated (zlib): LEB128 number of records, LEB128 length
// of the columns, the columns, the texts. Columns, a record each, numbers as zigzag LEB128: source less that
// of the record before, offset likewise, time likewise; 0, or 1 and the clock (time less `m`) less the one
// before; the length of its kind, and of its record without `m`. Texts: kind and record, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sql/tables/evidence.h"

namespace goodput {

// What a summary keeps of a record, as a JSON object; `m` is its last member. What is no JSON object stays as
// it is. A summary's own record stays the same.
std::string SummaryOfRecord(const EventRow& event);

// Empty where zlib has no memory.
std::string PackSummary(const std::vector<EventRow>& events);

// Appends the events, their records as SummaryOfRecord has them. False: that is no summary.
bool UnpackSummary(std::string_view data, std::vector<EventRow>& events);

}  // namespace goodput
