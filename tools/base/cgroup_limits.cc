#include "tools/base/cgroup_limits.h"

#include <fstream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Version 1 has a number for "no limit", a little below 2^63.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62U;

// Lowers `limit` to what the file says; "max", or no such file, says nothing.
void Lower(const std::string& path, std::optional<std::int64_t>& limit) {
  std::ifstream in(path);
  std::string word;
  std::int64_t value = 0;
  if (!(in >> word) || !absl::SimpleAtoi(word, &value) || value >= kNoLimit) return;
  if (!limit || value < *limit) limit = value;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& self, const std::string& mount) {
  CgroupLimits limits;
  std::ifstream in(self);
  // "0::/system.slice/goodputd.service" in version 2, "8:pids:/system.slice/goodputd.service" in version 1.
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || !absl::StartsWith(fields[2], "/")) continue;
    std::string folder = mount;
    if (!fields[1].empty()) absl::StrAppend(&folder, "/", fields[1]);
    for (std::string path = fields[2]; !path.empty(); path.erase(path.rfind('/'))) {
      const std::string group = Cat(folder, path == "/" ? "" : path);
      Lower(group + "/pids.max", limits.tasks);
      for (const char* name : {"/memory.high", "/memory.max", "/memory.limit_in_bytes"})
        Lower(group + name, limits.memory_bytes);
    }
  }
  return limits;
}

}  // namespace goodput
