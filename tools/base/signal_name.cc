#include "tools/base/signal_name.h"

#include <csignal>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr int kMaxSignal = 64;

}  // namespace

std::string SignalName(int signo) {
  const char* name = sigabbrev_np(signo);
  return name != nullptr ? name : std::to_string(signo);
}

std::optional<int> ParseSignal(std::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(ToAbsl(text), &number)) {
    if (number < 1 || number > kMaxSignal) return std::nullopt;
    return number;
  }
  absl::string_view name = ToAbsl(text);
  absl::ConsumePrefix(&name, "SIG");
  for (int signo = 1; signo <= kMaxSignal; ++signo) {
    const char* known = sigabbrev_np(signo);
    if (known != nullptr && name == known) return signo;
  }
  return std::nullopt;
}

}  // namespace goodput
