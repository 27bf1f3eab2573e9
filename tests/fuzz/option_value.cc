// Fuzzes values of plugin options: a value is rejected with a one-line error, or accepted in a form that is
// accepted again and fits into a record.
#include <cstdint>
#include <string>
#include <vector>

#include "spank/event.h"
#include "spank/options.h"
#include "sql/spool_line.h"
#include "tests/fuzz/target.h"

namespace goodput {
namespace {

bool IsOneLine(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

void RequireFits(const JobOptions& options) {
  RecordBuilder record(kind::kJobProlog, {1, 2, "n1", 3});
  AddOptions(options, &record);
  const std::string_view whole = record.Finish();
  REQUIRE(whole.size() <= kMaxRecordBytes);
  std::string padded(whole.substr(1, whole.size() - 2));
  padded.append(SpoolLineParser::kPadding, '\0');
  SpoolLineParser parser;
  REQUIRE(parser.Parse(std::string_view(padded).substr(0, whole.size() - 2)).ok());
  if (options.run) {
    // The run is part of the job's identity: complete in every record with options.
    REQUIRE(options.run->size() <= kMaxIdentityBytes);
    REQUIRE(whole.find("\"run\":") != std::string_view::npos);
  }
}

void TryOption(OptionId id, std::string_view value, JobOptions* options) {
  const JobOptions before = *options;
  const std::string bad = ParseOption(id, value, options);
  REQUIRE(IsOneLine(ComplaintLine("--goodput", value, bad)));
  if (!bad.empty()) return;
  JobOptions again;
  const auto accepted_again = [&](const std::optional<std::string>& canonical) {
    REQUIRE(canonical);
    REQUIRE(ParseOption(id, *canonical, &again).empty());
  };
  switch (id) {
    case OptionId::kRun:
      accepted_again(options->run);
      REQUIRE(again.run == options->run && IsOneLine(*options->run));
      break;
    case OptionId::kCheckpointSignal:
      accepted_again(options->checkpoint_signal);
      REQUIRE(again.checkpoint_signal == options->checkpoint_signal);
      break;
    case OptionId::kPrecision:
      accepted_again(options->precision);
      REQUIRE(again.precision == options->precision);
      break;
    case OptionId::kSpares:
      REQUIRE(*options->spares >= 0);
      break;
    case OptionId::kFlopsPerStep:
      REQUIRE(*options->flops_per_step > 0);
      break;
    default:
      break;
  }
}

}  // namespace
}  // namespace goodput

FUZZ_TARGET(option_value) {
  using namespace goodput;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  // The text as one option; then each line as another option, in plugstack.conf's arguments and in one job's
  // options.
  JobOptions one;
  TryOption(static_cast<OptionId>(data[0] % kOptionCount), text, &one);
  RequireFits(one);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  JobOptions all;
  std::vector<const char*> arguments;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TryOption(static_cast<OptionId>((data[0] + i) % kOptionCount), lines[i], &all);
    arguments.push_back(lines[i].c_str());
  }
  RequireFits(all);
  std::vector<std::string> complaints;
  const Site site = ParseSite(static_cast<int>(arguments.size()), arguments.data(), &complaints);
  REQUIRE(!site.spool.empty() && site.spool.front() == '/' && site.spool_max > 0);
  REQUIRE(site.socket.size() >= 2 && site.socket.size() <= 107);
  for (const std::string& complaint : complaints) REQUIRE(IsOneLine(complaint));
  RequireFits(Merge(all, site.defaults));
  return 0;
}
