// Any text as a host list: no more names than asked for, and one plain name is itself.
#include "tools/base/hostlist.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const std::string list(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names = ExpandHostList(list, 500);
  REQUIRE(names.size() <= 500);
  for (const std::string& name : names) {
    // A number in brackets may grow to the width of its range's first; everything else only gets shorter.
    REQUIRE(name.size() <= list.size() + 20);
  }
  if (list.find_first_of("[],") == std::string::npos && !list.empty()) {
    REQUIRE(names.size() == 1 && names[0] == list);
  }
  const std::vector<std::string> fewer = ExpandHostList(list, 5);
  REQUIRE(fewer.size() == std::min<std::size_t>(5, names.size()));
  for (std::size_t i = 0; i < fewer.size(); ++i) REQUIRE(fewer[i] == names[i]);
  return 0;
}
