// Signals by name, as Slurm and kill(1) write them: without "SIG".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace goodput {

// "USR1"; a number ("34") for one without a name of its own.
std::string SignalName(int signo);

// From "USR1", "SIGUSR1" or "10"; nothing when it is no signal.
std::optional<int> ParseSignal(std::string_view text);

}  // namespace goodput
