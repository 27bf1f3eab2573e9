#include "spank/step_use.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace goodput {
namespace {

constexpr std::size_t kMaxCgroupText = 4096;
constexpr std::size_t kMaxCgroupPath = 1024;
using Text = std::array<char, kMaxCgroupText>;
using Path = std::array<char, kMaxCgroupPath>;

// Empty: there is none, or it is longer than a page.
std::string_view ReadSmall(Files& files, const char* path, Text* text) noexcept {
  const Fd fd(files, files.OpenAt(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0));
  if (fd.get() < 0) return {};
  const ssize_t size = Uninterrupted([&] { return files.Read(fd.get(), text->data(), text->size()); });
  // Of a longer one, a part would be a wrong sum.
  if (size <= 0 || static_cast<std::size_t>(size) >= text->size()) return {};
  return {text->data(), static_cast<std::size_t>(size)};
}

std::string_view TakeLine(std::string_view* text) noexcept {
  const std::size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::optional<int64_t> NumberAt(std::string_view text) noexcept {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value < 0) return std::nullopt;
  return value;
}

// The step's own group, without the mount: the line "0::/.../job_7/step_0/slurm" less "/slurm".
std::string_view StepGroup(std::string_view self) noexcept {
  constexpr std::string_view kVersion2 = "0::";
  constexpr std::string_view kStepd = "/slurm";
  while (!self.empty()) {
    std::string_view line = TakeLine(&self);
    if (line.substr(0, kVersion2.size()) != kVersion2) continue;
    line.remove_prefix(kVersion2.size());
    const bool ours = line.size() > kStepd.size() && line.substr(line.size() - kStepd.size()) == kStepd &&
                      line.find("/step_") != std::string_view::npos;
    return ours ? line.substr(0, line.size() - kStepd.size()) : std::string_view();
  }
  return {};
}

// "usage_usec 123" of cpu.stat.
std::optional<int64_t> UsageOf(std::string_view stat) noexcept {
  constexpr std::string_view kUsage = "usage_usec ";
  while (!stat.empty()) {
    const std::string_view line = TakeLine(&stat);
    if (line.substr(0, kUsage.size()) == kUsage) return NumberAt(line.substr(kUsage.size()));
  }
  return std::nullopt;
}

// The sum over devices of "259:0 rbytes=1 wbytes=2 rios=3 ..." of io.stat. `name` is " rbytes=" or the like.
std::optional<int64_t> IoOf(std::string_view stat, std::string_view name) noexcept {
  std::optional<int64_t> sum;
  while (!stat.empty()) {
    const std::string_view line = TakeLine(&stat);
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) continue;
    const std::optional<int64_t> bytes = NumberAt(line.substr(at + name.size()));
    if (bytes) sum = sum.value_or(0) + *bytes;
  }
  return sum;
}

void ReadGroup(Files& files, const char* mount, std::string_view group, StepUse* use) noexcept {
  Text text;
  Path path;
  const auto read = [&](const char* file) {
    const int size = std::snprintf(path.data(), path.size(), "%s%.*s/user/%s", mount,
                                   static_cast<int>(group.size()), group.data(), file);
    if (size < 0 || static_cast<std::size_t>(size) >= path.size()) return std::string_view();
    return ReadSmall(files, path.data(), &text);
  };
  use->cpu_us = UsageOf(read("cpu.stat"));
  use->memory_peak = NumberAt(read("memory.peak"));
  const std::string_view io = read("io.stat");
  use->read_bytes = IoOf(io, " rbytes=");
  use->written_bytes = IoOf(io, " wbytes=");
}

int64_t Microseconds(const timeval& time) noexcept {
  constexpr int64_t kMillion = 1'000'000;
  return static_cast<int64_t>(time.tv_sec) * kMillion + static_cast<int64_t>(time.tv_usec);
}

}  // namespace

StepUse ReadStepUse(Files& files, const char* self, const char* mount) noexcept {
  StepUse use;
  Text text;
  Path group;
  const std::string_view found = StepGroup(ReadSmall(files, self, &text));
  if (!found.empty() && found.size() < group.size()) {
    std::memcpy(group.data(), found.data(), found.size());
    ReadGroup(files, mount, {group.data(), found.size()}, &use);
  }
  constexpr int64_t kKilobyte = 1024;
  rusage waited{};
  if (getrusage(RUSAGE_CHILDREN, &waited) == 0) {
    use.waited_cpu_us = Microseconds(waited.ru_utime) + Microseconds(waited.ru_stime);
    use.waited_rss = static_cast<int64_t>(waited.ru_maxrss) * kKilobyte;
  }
  return use;
}

void AddStepUse(const StepUse& use, RecordBuilder* record) noexcept {
  const auto add = [&](std::string_view name, const std::optional<int64_t>& value) {
    if (value) record->Int(name, *value);
  };
  add(key::kCpuUs, use.cpu_us);
  add(key::kMemPeak, use.memory_peak);
  add(key::kReadBytes, use.read_bytes);
  add(key::kWrittenBytes, use.written_bytes);
  add(key::kWaitedCpuUs, use.waited_cpu_us);
  add(key::kWaitedRss, use.waited_rss);
}

}  // namespace goodput
