// Fuzzes sacct's output: there are never more rows than lines, and every row is valid.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/require.h"
#include "tools/sources/slurm/sacct.h"
#include "tools/sources/slurm/tres.h"

namespace {
constexpr char kHeader[] =
    "Cluster|JobIDRaw|JobID|Submit|Eligible|Start|End|State|ExitCode|NNodes|NodeList|AllocTRES|ReqTRES|"
    "Suspended|Restarts|JobName\n";
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  setenv("TZ", "UTC", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  if (size == 0) return 0;
  // Mostly with a valid header; the first byte decides.
  std::string text = data[0] == '#' ? "" : kHeader;
  text.append(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto read = ParseSacct(text, "|");
  if (!read.ok()) {
    REQUIRE(!read.status().message().empty());
    return 0;
  }
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  REQUIRE(static_cast<std::int64_t>(read->rows.size()) + read->bad_lines <= lines);
  for (const AccountingRow& row : read->rows) {
    REQUIRE(row.job_id > 0 && row.submit_s > 0);
    REQUIRE(!row.start_s || *row.start_s > 0);
    REQUIRE(row.gpus >= 0 && row.suspended_s >= 0 && row.nodes >= 0);
  }
  REQUIRE(GpusOfGres({reinterpret_cast<const char*>(data), size}).gpus >= 0);
  return 0;
}
