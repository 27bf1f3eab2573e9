// Fuzzes cycle_info files of NVRx: those that are read have a time and a node.
#include "tools/sources/import_export/nvrx_cycle.h"

#include <cstdint>
#include <string_view>

#include "tests/fuzz/target.h"
#include "tools/accounting/timeline/sanitize_facts.h"

FUZZ_TARGET(nvrx_cycle) {
  using namespace goodput;
  const absl::StatusOr<NvrxCycle> cycle = ParseNvrxCycle({reinterpret_cast<const char*>(data), size});
  if (!cycle.ok()) return 0;
  REQUIRE(cycle->begin > 0 && cycle->begin < kLatest);
  REQUIRE(cycle->active > 0 && cycle->standby >= 0);
  return 0;
}
