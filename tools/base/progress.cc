#include "tools/base/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace goodput {
namespace {

constexpr absl::Duration kQuietFor = absl::Seconds(2);
constexpr absl::Duration kApart = absl::Milliseconds(200);

bool CanRedraw() {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

}  // namespace

Progress::Progress() : shown_(isatty(STDERR_FILENO) == 1 && CanRedraw()) {}

Progress::~Progress() {
  if (said_) std::fputs("\r\033[K", stderr);
}

void Progress::Say(std::string_view words) {
  const absl::Time now = absl::Now();
  if (!shown_ || now - began_ < kQuietFor || now - last_ < kApart) return;
  last_ = now;
  said_ = true;
  // Cut at the terminal's width: if it wrapped, only the last line could be redrawn.
  std::fprintf(stderr, "\r\033[K\033[?7lsgoodput: %.*s\033[?7h", static_cast<int>(words.size()),
               words.data());
  std::fflush(stderr);
}

}  // namespace goodput
