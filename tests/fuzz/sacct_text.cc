// Fuzzes sacct's output: there are never more rows than lines, every row is valid, and no job's name becomes
// another job.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.h"
#include "tools/sources/slurm/sacct.h"
#include "tools/sources/slurm/tres.h"

namespace {
constexpr char kHeader[] =
    "Cluster|JobIDRaw|JobID|Submit|Eligible|Start|End|State|ExitCode|NNodes|NodeList|AllocTRES|ReqTRES|"
    "Suspended|Restarts|JobName\n";

// One job whose name is these bytes, as sacct prints it.
std::string JobNamed(const std::string& name, const std::string& delimiter) {
  std::string text;
  for (const char* field : {"JobIDRaw", "Submit", "Start", "End", "State"}) text += field + delimiter;
  text += "JobName\n";
  for (const char* value : {"17", "100", "110", "200", "COMPLETED"}) text += value + delimiter;
  return text + name + "\n";
}

void CheckForgery(const std::string& name) {
  using namespace goodput;
  // The name could contain this one.
  REQUIRE(!ParseSacctFile(JobNamed(name, "|")).ok());
  const std::string secret = "9c5e2c6a-5cf0-4d3a-9c39-6b9f3f5d3f21";
  if (name.find(secret.substr(0, 4)) != std::string::npos) return;
  for (const auto& read :
       {ParseSacct(JobNamed(name, secret), secret), ParseSacctFile(JobNamed(name, secret))}) {
    REQUIRE(read.ok());
    REQUIRE(read->rows.size() == 1 && read->rows[0].job_id == 17 && read->rows[0].submit_s == 100);
  }
}

}  // namespace

FUZZ_TARGET(sacct_text) {
  using namespace goodput;
  static const int utc = setenv("TZ", "UTC", 1);
  REQUIRE(utc == 0);
  if (size == 0) return 0;
  CheckForgery(std::string(reinterpret_cast<const char*>(data), size));
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
