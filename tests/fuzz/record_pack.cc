// Fuzzes blocks of records: any bytes as a block, and any lines as records of a block.
#include "sql/blocks/record_pack.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/require.h"

namespace goodput {
namespace {

struct Kept {
  std::string_view line;
  std::size_t shape;
  std::vector<std::int64_t> numbers;
};

void RequireRoundTrip(std::string_view text) {
  std::map<std::string, std::pair<RecordTemplate, std::size_t>> shapes;
  RecordPacker packer;
  std::vector<Kept> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    std::vector<std::int64_t> numbers;
    const auto shape = RecordTemplate::Of(line, "n1", numbers);
    if (!shape) continue;
    std::vector<std::int64_t> read(RecordTemplate::kMostNumbers);
    REQUIRE(shape->Read(line, "n1", read.data()));
    read.resize(numbers.size());
    REQUIRE(read == numbers);
    if (!shape->NumberOf("t")) continue;
    const auto [known, fresh] = shapes.try_emplace(shape->text(), *shape, 0);
    if (fresh) known->second.second = packer.AddShape(known->second.first);
    packer.SetFile(static_cast<std::int64_t>(all.size() / 3), "n1", "boot");
    packer.Add(known->second.second, static_cast<std::int64_t>(at), numbers.data());
    all.push_back({line, known->second.second, std::move(numbers)});
  }
  const std::string data = packer.Finish();
  RecordUnpacker records(data);
  for (std::size_t i = 0; i < all.size(); ++i) {
    REQUIRE(records.Next());
    std::string record;
    records.AppendText(record);
    REQUIRE(record == all[i].line);
    REQUIRE(records.source_id() == static_cast<std::int64_t>(i / 3));
  }
  REQUIRE(!records.Next() && records.good());
}

}  // namespace
}  // namespace goodput

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RecordUnpacker records(bytes);
  std::size_t count = 0;
  std::string record;
  while (records.Next()) {
    ++count;
    record.clear();
    records.AppendText(record);
    REQUIRE(!records.node().empty() && !records.boot().empty());
  }
  REQUIRE(count <= size / 3);
  RequireRoundTrip(bytes);
  return 0;
}
