// Whether Slurm appends to a job's output files when they exist, or truncates them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// The text of a file; absent: it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

// From a process's environment ("NAME=value" ended by NULs): SLURM_OPEN_MODE, which sbatch sets for
// --open-mode; without it JobFileAppend in slurm.conf, which is where SLURM_CONF says or at a usual place.
bool SlurmAppends(std::string_view environment, const ReadText& read);

// Reads a regular file of at most 1 MiB.
std::optional<std::string> ReadSmallFile(const std::string& path);

}  // namespace goodput
