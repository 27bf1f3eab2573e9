// Any bytes as a block of records, any lines as records of a block, and any bytes as a record to summarize.
#include "sql/blocks/record_pack.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/blocks/record_summary.h"
#include "tests/fuzz/target.h"

namespace goodput {
namespace {

void RequireRoundTrip(std::string_view text) {
  std::map<std::string, std::pair<RecordTemplate, std::size_t>> shapes;
  RecordPacker packer;
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    std::vector<std::int64_t> numbers;
    packer.SetFile(static_cast<std::int64_t>(all.size() / 3), "n1", "boot");
    const auto shape = RecordTemplate::Of(line, "n1", numbers);
    if (!shape || !shape->NumberOf("t")) {
      packer.AddText(static_cast<std::int64_t>(at), -static_cast<std::int64_t>(at), "kind", line);
      all.push_back(line);
      continue;
    }
    std::vector<std::int64_t> read(RecordTemplate::kMostNumbers);
    REQUIRE(shape->Read(line, "n1", read.data()));
    read.resize(numbers.size());
    REQUIRE(read == numbers);
    const auto [known, fresh] = shapes.try_emplace(shape->text(), *shape, 0);
    if (fresh) known->second.second = packer.AddShape(known->second.first);
    packer.Add(known->second.second, static_cast<std::int64_t>(at), numbers.data());
    all.push_back(line);
  }
  for (const std::string& data : {packer.Finish(), packer.FinishCompressed()}) {
    RecordUnpacker records(data);
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(records.Next());
      std::string record;
      records.AppendText(record);
      REQUIRE(record == all[i]);
      REQUIRE(records.source_id() == static_cast<std::int64_t>(i / 3));
    }
    REQUIRE(!records.Next() && records.good());
  }
}

}  // namespace
}  // namespace goodput

FUZZ_TARGET(record_pack) {
  using namespace goodput;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RecordUnpacker records(bytes);
  std::size_t count = 0;
  std::string record;
  while (records.Next()) {
    ++count;
    record.clear();
    records.AppendText(record);
    REQUIRE(!records.node().empty());
  }
  // zlib makes a thousand bytes of one.
  REQUIRE(count <= size * 1032 / 3);
  const std::string summary = SummaryOfRecord(bytes, "task_exit");
  REQUIRE(SummaryOfRecord(summary, "task_exit") == summary);
  RequireRoundTrip(bytes);
  return 0;
}
