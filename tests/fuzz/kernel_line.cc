// Fuzzes what the kernel's log may contain, in part by the names of programs: any line gives at most one
// piece of evidence, which is short and printable.
#include "tools/goodputd/kernel/kernel_line.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/target.h"

FUZZ_TARGET(kernel_line) {
  using namespace goodput;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto record = ParseKernelRecord(line);
  const auto found = ParseHardwareLine(record ? record->text : line);
  if (record) {
    REQUIRE(record->facility >= 0 && record->clock_us >= 0);
    REQUIRE(record->text.data() >= line.data() && record->text.data() <= line.data() + line.size());
  }
  if (!found) return 0;
  REQUIRE(found->text.size() <= kMostHardwareText + 3 && found->device.size() <= 35);
  for (const std::string_view text : {std::string_view(found->text), std::string_view(found->device)}) {
    REQUIRE(
        std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }));
  }
  return 0;
}
