// Fuzzes the record writer: any values give one complete line within the size limit, and ingest reads the
// same values.
#include <fuzzer/FuzzedDataProvider.h>

#include <optional>
#include <string>

#include "spank/event.h"
#include "sql/spool_line.h"
#include "tests/fuzz/target.h"

namespace goodput {
namespace {

// Texts of any length, some of them far too long.
std::string AnyText(FuzzedDataProvider& in) {
  std::string text = in.ConsumeRandomLengthString(300);
  if (in.ConsumeIntegralInRange(0, 15) == 0 && !text.empty()) {
    while (text.size() < 3000) text += text;
  }
  return text;
}

void AddMember(FuzzedDataProvider& in, int number, int depth, RecordBuilder& record) {
  const std::string key = "k" + std::to_string(number);
  const auto worth = static_cast<Worth>(in.ConsumeIntegralInRange(0, 2));
  switch (in.ConsumeIntegralInRange(0, 5)) {
    case 0:
      return record.Int(key, in.ConsumeIntegral<std::int64_t>());
    case 1:
      // Within the range of numbers of JSON readers.
      return record.Uint(key, in.ConsumeIntegral<std::uint64_t>());
    case 2:
      return record.Number(key, in.ConsumeFloatingPoint<double>());
    case 3:
      return record.Text(key, AnyText(in), worth);
    case 4:
      return record.Texts(key, std::array<std::string, 2>{AnyText(in), AnyText(in)}, worth);
    default:
      record.OpenObject(key, worth);
      for (int i = in.ConsumeIntegralInRange(0, 4); i > 0 && depth < 5; --i) {
        AddMember(in, i, depth + 1, record);
      }
      record.CloseObject();
  }
}

}  // namespace
}  // namespace goodput

FUZZ_TARGET(record) {
  using namespace goodput;
  FuzzedDataProvider in(data, size);
  const std::string node = "n" + in.ConsumeRandomLengthString(40);
  const std::string kind = "k" + in.ConsumeRandomLengthString(20);
  const auto time = [&] { return in.ConsumeIntegralInRange<std::int64_t>(0, (std::int64_t{1} << 62U) - 1); };
  const std::int64_t real_ns = time();
  RecordBuilder record(kind, {real_ns, time(), node, in.ConsumeIntegral<int>()});
  std::optional<std::int64_t> job;
  if (in.ConsumeBool()) record.Int(key::kJob, *(job = in.ConsumeIntegral<std::int64_t>()));
  // As many members as identity has room for; real records have far fewer.
  for (int i = in.ConsumeIntegralInRange(0, 12); i > 0; --i) AddMember(in, i, 0, record);
  const std::string_view whole = record.Finish();

  REQUIRE(whole.size() >= 4 && whole.front() == '\n' && whole.back() == '\n');
  const std::string_view inside = whole.substr(1, whole.size() - 2);
  REQUIRE(inside.find('\n') == std::string_view::npos && inside.find('\0') == std::string_view::npos);
  if (whole.size() > kMaxRecordBytes) return 0;  // identity alone is too long, which only this test can do
  std::string padded(inside);
  padded.append(SpoolLineParser::kPadding, '\0');
  SpoolLineParser parser;
  const auto read = parser.Parse(std::string_view(padded).substr(0, inside.size()));
  REQUIRE(read.ok());
  REQUIRE(read->t_ns == real_ns && read->job == job);
  // Bytes that are not UTF-8 are read as U+0080 to U+00FF: the text gets longer, never shorter.
  REQUIRE(read->node.size() >= node.size() && read->kind.size() >= kind.size());
  return 0;
}
