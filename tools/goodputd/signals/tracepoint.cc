#include "tools/goodputd/signals/tracepoint.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::string_view kField = "field:";
constexpr int kChildMs = 5000;
constexpr std::size_t kMaxBytes = std::size_t{16} << 10U;
// Where tracefs is on every distribution since 2015; the second is debugfs's old place of it.
constexpr std::array<const char*, 2> kTracefs{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

struct Field {
  std::size_t offset = 0;
  std::size_t size = 0;
};

std::optional<std::size_t> Number(absl::string_view line, absl::string_view name) {
  const std::size_t at = line.find(name);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view digits = line.substr(at + name.size());
  digits = digits.substr(0, digits.find(';'));
  std::size_t value = 0;
  if (!absl::SimpleAtoi(digits, &value)) return std::nullopt;
  return value;
}

// From "field:char comm[16];  offset:20;  size:16;  signed:0;"
std::optional<Field> FindField(std::string_view format, std::string_view name) {
  for (absl::string_view line : absl::StrSplit(ToAbsl(format), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.substr(0, kField.size()) != ToAbsl(kField)) continue;
    absl::string_view declared = line.substr(0, line.find(';'));
    declared = declared.substr(0, declared.find('['));
    const std::size_t space = declared.rfind(' ');
    if (space == absl::string_view::npos || declared.substr(space + 1) != ToAbsl(name)) continue;
    const auto offset = Number(line, "offset:");
    const auto size = Number(line, "size:");
    if (!offset || !size) return std::nullopt;
    return Field{*offset, *size};
  }
  return std::nullopt;
}

std::string ReadSmallFile(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  text.resize(kMaxBytes);
  const ssize_t got = read(fd, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  close(fd);
  return text;
}

std::string PathOf(const char* tracefs, const char* file) {
  return Cat(tracefs, "/events/signal/signal_generate/", file);
}

// Only system calls: the daemon may have threads. Does not return.
[[noreturn]] void MountAndPrint(int out, const char* id_path, const char* format_path) {
  if (unshare(CLONE_NEWNS) != 0) _exit(1);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(1);
  if (mount("nodev", kTracefs[0], "tracefs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    _exit(1);
  // The id, a NUL, the format.
  static std::array<char, kMaxBytes> buffer;
  for (const char* path : {id_path, format_path}) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, buffer.data(), buffer.size());
    if (got <= 0 || write(out, buffer.data(), static_cast<std::size_t>(got)) != got) _exit(1);
    if (path == id_path && write(out, "", 1) != 1) _exit(1);
  }
  _exit(0);
}

std::pair<std::string, std::string> ReadInOwnNamespace() {
  const std::string id_path = PathOf(kTracefs[0], "id");
  const std::string format_path = PathOf(kTracefs[0], "format");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) MountAndPrint(ends[1], id_path.c_str(), format_path.c_str());
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  pollfd readable{ends[0], POLLIN, 0};
  while (child > 0 && poll(&readable, 1, kChildMs) == 1) {
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got <= 0 || text.size() > 2 * kMaxBytes) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  const std::size_t nul = text.find('\0');
  if (nul == std::string::npos) return {};
  return {text.substr(0, nul), text.substr(nul + 1)};
}

}  // namespace

absl::StatusOr<SignalTracepoint> ParseSignalTracepoint(std::string_view id, std::string_view format) {
  SignalTracepoint tracepoint;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(ToAbsl(id)), &tracepoint.id) || tracepoint.id == 0)
    return absl::InvalidArgumentError("the tracepoint signal:signal_generate has no id");
  const std::array<std::pair<const char*, std::size_t*>, 5> numbers{{{"sig", &tracepoint.sig},
                                                                     {"code", &tracepoint.code},
                                                                     {"pid", &tracepoint.pid},
                                                                     {"group", &tracepoint.group},
                                                                     {"result", &tracepoint.result}}};
  const auto take = [&](const char* name, std::size_t size, std::size_t* into) {
    const std::optional<Field> field = FindField(format, name);
    // A sample is some hundred bytes; more is not the kernel's word.
    if (!field || field->size != size || field->offset > kMaxBytes) return false;
    *into = field->offset;
    tracepoint.size = std::max(tracepoint.size, field->offset + field->size);
    return true;
  };
  for (const auto& [name, into] : numbers) {
    if (!take(name, sizeof(std::int32_t), into))
      return absl::InvalidArgumentError(
          Cat("the kernel's tracepoint signal:signal_generate has no field `", name, "` that we know"));
  }
  if (!take("comm", SignalTracepoint::kCommBytes, &tracepoint.comm))
    return absl::InvalidArgumentError(
        "the kernel's tracepoint signal:signal_generate has no field `comm` that we know");
  return tracepoint;
}

absl::StatusOr<SignalTracepoint> ReadSignalTracepoint() {
  std::string id;
  std::string format;
  for (const char* tracefs : kTracefs) {
    id = ReadSmallFile(PathOf(tracefs, "id"));
    format = ReadSmallFile(PathOf(tracefs, "format"));
    if (!id.empty() && !format.empty()) break;
  }
  if (id.empty() || format.empty()) std::tie(id, format) = ReadInOwnNamespace();
  if (id.empty() || format.empty()) {
    return absl::UnavailableError(
        "the kernel's tracefs cannot be read; mount it (mount -t tracefs nodev /sys/kernel/tracing) and let "
        "goodputd run as root");
  }
  return ParseSignalTracepoint(id, format);
}

}  // namespace goodput
