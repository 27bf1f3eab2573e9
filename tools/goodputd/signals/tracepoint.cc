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
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::string_view kField = "field:";
constexpr int kChildMs = 5000;
constexpr std::size_t kMaxBytes = std::size_t{16} << 10U;
// Where distributions have mounted tracefs since 2015; the second is its older place in debugfs.
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

// Parses "field:char comm[16];  offset:20;  size:16;  signed:0;".
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

// The files to read below tracefs, and their texts; an empty text means that the file cannot be read.
constexpr std::array<const char*, 3> kFiles{"/events/signal/signal_generate/id",
                                            "/events/signal/signal_generate/format",
                                            "/events/sched/sched_process_exec/id"};
using Texts = std::array<std::string, kFiles.size()>;

bool HasSignals(const Texts& texts) {
  return !texts[0].empty() && !texts[1].empty();
}

// Makes only system calls, since the daemon may have threads. Does not return.
[[noreturn]] void MountAndPrint(int out, const std::array<const char*, kFiles.size()>& paths) {
  if (unshare(CLONE_NEWNS) != 0) _exit(1);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(1);
  if (mount("nodev", kTracefs[0], "tracefs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    _exit(1);
  // Each text is followed by a NUL.
  static std::array<char, kMaxBytes> buffer;
  for (const char* path : paths) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, buffer.data(), buffer.size());
    if (got > 0 && write(out, buffer.data(), static_cast<std::size_t>(got)) != got) _exit(1);
    if (write(out, "", 1) != 1) _exit(1);
  }
  _exit(0);
}

Texts ReadInOwnNamespace() {
  std::array<std::string, kFiles.size()> names;
  std::array<const char*, kFiles.size()> paths{};
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    names[i] = Cat(kTracefs[0], kFiles[i]);
    paths[i] = names[i].c_str();
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) MountAndPrint(ends[1], paths);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  pollfd readable{ends[0], POLLIN, 0};
  while (child > 0 && poll(&readable, 1, kChildMs) == 1) {
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got <= 0 || text.size() > kFiles.size() * kMaxBytes) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Texts texts;
  std::size_t at = 0;
  for (std::string& one : texts) {
    const std::size_t nul = text.find('\0', at);
    if (nul == std::string::npos) break;
    one = text.substr(at, nul - at);
    at = nul + 1;
  }
  return texts;
}

Texts ReadMounted(const char* tracefs) {
  Texts texts;
  for (std::size_t i = 0; i < kFiles.size(); ++i) texts[i] = ReadSmallFile(Cat(tracefs, kFiles[i]));
  return texts;
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
    // A sample has some hundred bytes; a larger offset is not from the kernel.
    if (!field || field->size != size || field->offset > kMaxBytes) return false;
    *into = field->offset;
    tracepoint.size = std::max(tracepoint.size, field->offset + field->size);
    return true;
  };
  for (const auto& [name, into] : numbers) {
    if (!take(name, sizeof(std::int32_t), into))
      return absl::InvalidArgumentError(
          Cat("the kernel's tracepoint signal:signal_generate has no usable field `", name, "`"));
  }
  if (!take("comm", SignalTracepoint::kCommBytes, &tracepoint.comm))
    return absl::InvalidArgumentError(
        "the kernel's tracepoint signal:signal_generate has no usable field `comm`");
  return tracepoint;
}

absl::StatusOr<Tracepoints> ReadTracepoints() {
  Texts texts;
  for (const char* tracefs : kTracefs) {
    texts = ReadMounted(tracefs);
    if (HasSignals(texts)) break;
  }
  if (!HasSignals(texts)) texts = ReadInOwnNamespace();
  if (!HasSignals(texts)) {
    return absl::UnavailableError(
        "the kernel's tracefs cannot be read; mount it (mount -t tracefs nodev /sys/kernel/tracing) and let "
        "goodputd run as root");
  }
  ASSIGN_OR_RETURN(const SignalTracepoint signal, ParseSignalTracepoint(texts[0], texts[1]));
  Tracepoints tracepoints{signal};
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(texts[2]), &tracepoints.exec_id)) tracepoints.exec_id = 0;
  return tracepoints;
}

}  // namespace goodput
