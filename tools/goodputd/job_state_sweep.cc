#include "tools/goodputd/job_state_sweep.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "spank/clock.h"

namespace goodput {
namespace {

// The clock may be set after a boot.
constexpr std::int64_t kMarginS = 3600;

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// job.ID or follow.ID, or one of them with .new.PID
bool IsNoteOfAJob(std::string_view name) {
  constexpr std::string_view kNew = ".new.";
  const std::string_view kind = name.substr(0, name.find('.'));
  if (kind != "job" && kind != "follow") return false;
  name.remove_prefix(std::min(kind.size() + 1, name.size()));
  const std::size_t half = name.find(kNew);
  if (half == std::string_view::npos) return IsNumber(name);
  return IsNumber(name.substr(0, half)) && IsNumber(name.substr(half + kNew.size()));
}

}  // namespace

std::int64_t BootTime() {
  return (ReadClockNs(CLOCK_REALTIME) - ReadClockNs(CLOCK_BOOTTIME)) / 1'000'000'000;
}

int SweepNotes(const std::string& spool_root, std::int64_t boot_s) {
  namespace fs = std::filesystem;
  int swept = 0;
  std::error_code ignored;
  for (const fs::directory_entry& node : fs::directory_iterator(spool_root, ignored)) {
    if (!fs::is_directory(node.symlink_status(ignored))) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(node.path(), ignored)) {
      struct stat info {};
      const std::string name = file.path().filename();
      if (!IsNoteOfAJob(name) || lstat(file.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      if (info.st_mtime < boot_s - kMarginS && unlink(file.path().c_str()) == 0) ++swept;
    }
  }
  return swept;
}

}  // namespace goodput
