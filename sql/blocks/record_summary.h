// What remains of an old record: all that a report reads. Pure.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

// The record, a JSON object, without the members that no report reads: the format's version, the writer's
// process id, the job's uid and gid, and process ids of tasks and of senders of signals. Anything but a JSON
// object stays as it is, and so does a record that is a summary already.
std::string SummaryOfRecord(std::string_view record, std::string_view kind);

}  // namespace goodput
