#include "tools/goodputd/output/open_mode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 20U;
// Slurm's default, that of an installation below /usr/local, and a copy from slurmctld.
constexpr std::array<const char*, 3> kUsualPlaces = {
    "/etc/slurm/slurm.conf", "/usr/local/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"};

// The last JobFileAppend counts, as in Slurm; several settings may share a line.
bool AppendsByDefault(std::string_view slurm_conf) {
  bool appends = false;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(slurm_conf), '\n')) {
    const absl::string_view settings = line.substr(0, line.find('#'));
    for (const absl::string_view word :
         absl::StrSplit(settings, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      constexpr absl::string_view kName = "jobfileappend=";
      if (absl::StartsWithIgnoreCase(word, kName)) appends = word.substr(kName.size()) != "0";
    }
  }
  return appends;
}

}  // namespace

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  std::optional<std::string> text;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= kMostBytes) {
    text.emplace(static_cast<std::size_t>(info.st_size), '\0');
    const ssize_t got = read(fd, text->data(), text->size());
    text->resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(fd);
  return text;
}

bool SlurmAppends(std::string_view environment, const ReadText& read) {
  const std::string mode = VariableOf(environment, "SLURM_OPEN_MODE");
  if (!mode.empty()) return mode[0] == 'a';
  const std::string named = VariableOf(environment, "SLURM_CONF");
  if (!named.empty()) return AppendsByDefault(read(named).value_or(""));
  for (const char* const usual : kUsualPlaces) {
    if (const std::optional<std::string> text = read(usual)) return AppendsByDefault(*text);
  }
  return false;
}

}  // namespace goodput
