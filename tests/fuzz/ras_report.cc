// Fuzzes what a program that pretends to be NCCL's RAS may answer: any bytes give a few lines, which are the
// same when they are read again; a table of sockets gives those of the port that was asked for.
#include "tools/goodputd/hang/ras_report.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"

FUZZ_TARGET(ras_report) {
  using namespace goodput;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string summary = RasSummary(text);
  REQUIRE(static_cast<std::size_t>(std::count(summary.begin(), summary.end(), '\n')) < kMostRasLines);
  REQUIRE(summary.size() < kMostRasLines * 1024);
  for (const ListeningSocket& one : ListeningSockets(text, 28028))
    REQUIRE(one.address.size() == (one.v6 ? 16U : 4U));
  static_cast<void>(RasPort(text));
  return 0;
}
