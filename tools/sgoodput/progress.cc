#include "tools/sgoodput/progress.h"

#include <unistd.h>

#include <cstdio>

namespace goodput {
namespace {

constexpr absl::Duration kQuietFor = absl::Seconds(2);
constexpr absl::Duration kApart = absl::Milliseconds(200);

}  // namespace

Progress::Progress() : shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (said_) std::fputs("\r\033[K", stderr);
}

void Progress::Say(std::string_view words) {
  const absl::Time now = absl::Now();
  if (!shown_ || now - began_ < kQuietFor || now - last_ < kApart) return;
  last_ = now;
  said_ = true;
  std::fprintf(stderr, "\r\033[Ksgoodput: %.*s", static_cast<int>(words.size()), words.data());
  std::fflush(stderr);
}

}  // namespace goodput
