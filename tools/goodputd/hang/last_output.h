// The last lines of a job's output. Call with the rights of the job's user.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace goodput {

struct LastOutput {
  std::string text;       // up to kMostLines lines that are not empty, of a progress bar its last state
  bool is_public = true;  // everyone may read the file; otherwise there is no text
};

inline constexpr std::size_t kMostLines = 5;
inline constexpr std::size_t kMostLineBytes = 320;

// Of the regular files behind links such as /proc/PID/fd/1, each once, at most `most` files. Reports are read
// by others than the job's user: a file's lines are kept only if its mode and those of all folders above let
// everyone read them.
std::vector<LastOutput> LastOutputs(const std::vector<std::string>& links, std::size_t most);

// The last lines of a piece of a file; pure.
std::string LastLines(const std::string& piece);

}  // namespace goodput
