// Removes job state files from the spool whose job's epilog never ran.
#pragma once

#include <cstdint>
#include <string>

namespace goodput {

// When this machine booted, in seconds since the epoch.
std::int64_t BootTime();

// Removes the notes `job.ID` (and incomplete ones, `job.ID.new.PID`) of every node below `spool_root` that
// are more than an hour older than the boot: no job survives a boot, however old a running job may be.
// Returns the number removed.
int SweepNotes(const std::string& spool_root, std::int64_t boot_s);

}  // namespace goodput
