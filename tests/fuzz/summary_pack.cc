// Fuzzes summaries: any bytes as a summary, any bytes as its uncompressed content, and any records in a
// summary.
#include "sql/tables/summary_pack.h"

#include <fuzzer/FuzzedDataProvider.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sql/blocks/varint.h"
#include "tests/fuzz/require.h"

namespace goodput {
namespace {

// A compressed summary with this content.
std::string Deflated(std::string_view plain) {
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                    reinterpret_cast<const Bytef*>(plain.data()), plain.size(), 1) == Z_OK);
  packed.resize(size);
  std::string data;
  PutVarint(plain.size(), data);
  return data + packed;
}

void RequireRoundTrip(const std::vector<EventRow>& events) {
  std::vector<EventRow> again;
  REQUIRE(UnpackSummary(PackSummary(events), again));
  REQUIRE(again.size() == events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    REQUIRE(again[i].source_id == events[i].source_id && again[i].offset == events[i].offset);
    REQUIRE(again[i].t_ns == events[i].t_ns && again[i].kind == events[i].kind);
    REQUIRE(again[i].record == SummaryOfRecord(events[i]));
    REQUIRE(SummaryOfRecord(again[i]) == again[i].record);
  }
}

}  // namespace
}  // namespace goodput

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<EventRow> events;
  UnpackSummary(bytes, events);
  events.clear();
  UnpackSummary(Deflated(bytes), events);
  // A record takes at least six bytes.
  REQUIRE(events.size() <= size / 6 + 1);

  FuzzedDataProvider in(data, size);
  events.clear();
  while (in.remaining_bytes() > 0) {
    EventRow event;
    event.source_id = in.ConsumeIntegral<std::int64_t>();
    event.offset = in.ConsumeIntegral<std::int64_t>();
    event.t_ns = in.ConsumeIntegral<std::int64_t>();
    event.kind = in.ConsumeRandomLengthString(20);
    event.record = in.ConsumeRandomLengthString();
    events.push_back(event);
  }
  RequireRoundTrip(events);
  return 0;
}
