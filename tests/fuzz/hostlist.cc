// Fuzzes host lists: there are at most as many names as requested, and a single plain name expands to itself.
#include "tools/base/hostlist.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"

FUZZ_TARGET(hostlist) {
  using namespace goodput;
  const std::string list(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names = ExpandHostList(list, 500);
  REQUIRE(names.size() <= 500);
  for (const std::string& name : names) {
    // A number in brackets may be padded to the width of the range's first number; everything else gets
    // shorter.
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
