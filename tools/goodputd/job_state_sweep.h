// Removes the state files of jobs whose epilog never ran from the spool.
#pragma once

#include <cstdint>
#include <string>

namespace goodput {

// When this machine was booted, in seconds since the epoch.
std::int64_t BootTime();

// Removes the notes `job.ID` (and halves of them, `job.ID.new.PID`) of every node below `spool_root` that are
// an hour older than the boot: no job outlives that, however old a running one may be. Returns how many.
int SweepNotes(const std::string& spool_root, std::int64_t boot_s);

}  // namespace goodput
