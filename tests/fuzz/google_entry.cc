// Fuzzes entries of goodput logs: an accepted entry has a time, and the fast path for steps accepts only what
// the JSON parser accepts, with the same result.
#include "tools/sources/logs/google_entry.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"
#include "tools/accounting/timeline/sanitize_facts.h"
#include "tools/base/decimal.h"
#include "tools/sources/logs/step_entry.h"

FUZZ_TARGET(google_entry) {
  using namespace goodput;
  // As from the stream: with bytes after the entry that do not belong to it.
  std::string padded(reinterpret_cast<const char*>(data), size);
  padded.append(GoogleEntryParser::kPadding, '}');
  const std::string_view text = std::string_view(padded).substr(0, size);
  GoogleEntryParser parser;
  GoogleEntry entry;
  const auto taken = parser.ParseJson(text, entry);
  if (taken.ok() && *taken) {
    REQUIRE(entry.time() >= 0 && entry.time() < kLatest);
    REQUIRE(!entry.step || (*entry.step >= 0 && *entry.step < kMaxTrainStep));
    REQUIRE(!entry.checkpoint_end || *entry.checkpoint_end >= entry.checkpoint_start);
  }
  if (!taken.ok()) REQUIRE(!taken.status().message().empty());
  PlainStep plain;
  if (ReadPlainStep(text, plain)) {
    REQUIRE(taken.ok() && *taken);
    REQUIRE(plain.step == entry.step && plain.start == entry.step_start && plain.job_name == entry.job_name);
    REQUIRE(entry.time() == plain.start);
  }
  // The result does not depend on what the reader read before.
  PlainStepReader reader;
  PlainStep before;
  reader.Read(R"({"job_name": "llm", "step_count": 12, "step_start_time": 1735000000.123456})", before);
  for (int i = 0; i < 2; ++i) {
    PlainStep again;
    REQUIRE(reader.Read(text, again) == ReadPlainStep(text, plain));
    if (ReadPlainStep(text, plain))
      REQUIRE(again.step == plain.step && again.start == plain.start && again.job_name == plain.job_name);
  }
  if (const auto ns = ParseDecimal(text, 9); ns && *ns >= 0) {
    std::string printed;
    AppendSeconds(*ns, printed);
    REQUIRE(ParseDecimal(printed, 9) == ns);
  }
  return 0;
}
