// Fuzzes times: any text as a time from Slurm or in an option, and any second converted to text and back.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "tests/fuzz/target.h"
#include "tools/base/parse_time.h"
#include "tools/sources/slurm/slurm_time.h"

FUZZ_TARGET(times) {
  using namespace goodput;
  // No summer time, which would make one hour ambiguous.
  static const bool utc = setenv("TZ", "UTC", 1) == 0 && (tzset(), true);
  REQUIRE(utc);
  constexpr std::int64_t kYear9999 = 253402300799;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto seconds = ParseSlurmTime(text);
  if (seconds) {
    REQUIRE(*seconds > 0);
    // A value that 64-bit nanoseconds cannot hold would become a wrong time.
    REQUIRE(*seconds <= INT64_MAX / 1'000'000'000);
    REQUIRE(ParseSlurmTime(FormatSlurmTime(*seconds)) == seconds);
  }
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  const auto option = ParseTimeOption(text, now);
  if (option.ok()) {
    REQUIRE(*option > INT64_MIN && *option < INT64_MAX);
  } else {
    REQUIRE(!option.status().message().empty());
  }

  std::int64_t any = 0;
  std::memcpy(&any, data, size < sizeof(any) ? size : sizeof(any));
  any = static_cast<std::int64_t>(static_cast<std::uint64_t>(any) % kYear9999);
  if (any > 0 && any <= INT64_MAX / 1'000'000'000) {
    REQUIRE(ParseSlurmTime(FormatSlurmTime(any)) == any);
    const auto written = ParseTimeOption(FormatSlurmTime(any), now);
    REQUIRE(written.ok() && *written == any * 1'000'000'000);
  }
  return 0;
}
