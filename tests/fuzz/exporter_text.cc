// Fuzzes what whoever listens at dcgm-exporter's port may answer: any text gives a bounded number of GPUs
// with values that are possible, or an error.
#include "tools/goodputd/gpu_use/exporter_text.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/fuzz/target.h"

FUZZ_TARGET(exporter_text) {
  using namespace goodput;
  const auto reading = ParseExporterText(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!reading.ok()) return 0;
  REQUIRE(reading->gpus.size() <= kMostGpus);
  for (const GpuReading& gpu : reading->gpus) {
    REQUIRE(!gpu.uuid.empty() && gpu.index.value_or(0) >= 0);
    for (const std::optional<double>& share : {gpu.engine, gpu.util, gpu.tensor})
      REQUIRE(share.value_or(0) >= 0 && share.value_or(0) <= 1);
    for (const std::optional<std::int64_t>& number :
         {gpu.energy_mj, gpu.memory_used_mib, gpu.memory_free_mib, gpu.memory_reserved_mib})
      REQUIRE(number.value_or(0) >= 0);
    for (const std::int64_t job : gpu.jobs) REQUIRE(job >= 0);
  }
  return 0;
}
