// Names of signals as in Slurm and kill(1): without "SIG".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// "USR1"; a number ("34") for a signal without a name.
std::string SignalName(int signo);

// From "USR1", "SIGUSR1" or "10"; empty if it is not a signal.
std::optional<int> ParseSignal(std::string_view text);

}  // namespace goodput
