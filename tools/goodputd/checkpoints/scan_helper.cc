#include "tools/goodputd/checkpoints/scan_helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxFileBytes = 4096;
constexpr std::size_t kMaxEnvironment = std::size_t{1} << 20U;
// An answer is one message; the newest are what matters.
constexpr std::size_t kMaxFound = 500;

std::int64_t Ns(const statx_timestamp& t) {
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

class OpenFolder : public FolderView {
 public:
  explicit OpenFolder(int fd) : fd_(fd) {}
  ~OpenFolder() override { close(fd_); }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  std::vector<FolderEntry> Entries() const override {
    std::vector<FolderEntry> entries;
    const int fd = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* dir = fd < 0 ? nullptr : fdopendir(fd);
    if (dir == nullptr) {
      if (fd >= 0) close(fd);
      return entries;
    }
    while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): one thread
      if (entries.size() >= kMaxEntries) break;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct statx info {};
      if (statx(fd_, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MTIME | STATX_CTIME | STATX_BTIME,
                &info) != 0)
        continue;
      if (!S_ISDIR(info.stx_mode) && !S_ISREG(info.stx_mode)) continue;
      FolderEntry made;
      made.name = name;
      made.is_folder = S_ISDIR(info.stx_mode);
      made.written_ns = Ns(info.stx_mtime);
      made.born_ns = (info.stx_mask & STATX_BTIME) != 0 ? Ns(info.stx_btime)
                                                        : std::min(Ns(info.stx_mtime), Ns(info.stx_ctime));
      entries.push_back(std::move(made));
    }
    closedir(dir);
    return entries;
  }

  std::optional<std::string> Read(const std::string& name) const override {
    // A FIFO must not hold us.
    const int fd = openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    std::array<char, kMaxFileBytes + 1> buffer{};
    struct stat info {};
    ssize_t got = -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) got = read(fd, buffer.data(), buffer.size());
    close(fd);
    if (got < 0 || static_cast<std::size_t>(got) > kMaxFileBytes) return std::nullopt;
    return std::string(buffer.data(), static_cast<std::size_t>(got));
  }

 private:
  int fd_;
};

std::string ReadEnvironment(const std::string& pid) {
  const int fd = open(Cat("/proc/", pid, "/environ").c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while (fd >= 0 && text.size() < kMaxEnvironment && (got = read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  if (fd >= 0) close(fd);
  return text;
}

std::string Variable(std::string_view environment, std::string_view name) {
  for (absl::string_view entry : absl::StrSplit(ToAbsl(environment), '\0')) {
    if (entry.size() > name.size() && entry.substr(0, name.size()) == ToAbsl(name) &&
        entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
  }
  return {};
}

// The directory, once it can be told: the job's process may be gone later.
class Directory {
 public:
  Directory(std::string named, std::int64_t job, std::string pid)
      : named_(std::move(named)), job_(job), pid_(std::move(pid)) {}
  const std::string& Path() {
    if (!path_.empty()) return path_;
    const std::string environment = ReadEnvironment(pid_);
    std::string path = ExpandPath(named_, job_, environment, Variable(environment, "USER"));
    if (path.empty() || path.front() != '/') {
      std::array<char, PATH_MAX> cwd{};
      const ssize_t length = readlink(Cat("/proc/", pid_, "/cwd").c_str(), cwd.data(), cwd.size() - 1);
      if (length <= 0) return path_;
      path = Cat(std::string_view(cwd.data(), static_cast<std::size_t>(length)), "/", path);
    }
    path_ = std::move(path);
    return path_;
  }

 private:
  std::string named_;
  std::int64_t job_;
  std::string pid_;
  std::string path_;
};

}  // namespace

std::string ExpandPath(std::string_view path, std::int64_t job, std::string_view environment,
                       std::string_view user) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%' || i + 1 == path.size()) {
      out += path[i];
      continue;
    }
    ++i;
    const auto variable = [&](const char* name) { return Variable(environment, name); };
    switch (path[i]) {
      case '%':
        out += '%';
        break;
      case 'j':
        out += std::to_string(job);
        break;
      case 'A': {
        const std::string array = variable("SLURM_ARRAY_JOB_ID");
        out += array.empty() ? std::to_string(job) : array;
        break;
      }
      case 'a':
        out += variable("SLURM_ARRAY_TASK_ID");
        break;
      case 'x':
        out += variable("SLURM_JOB_NAME");
        break;
      case 'u':
        out += user;
        break;
      default:
        out += '%';
        out += path[i];
    }
  }
  return out;
}

ScanResult ScanCheckpoints(const std::string& path) {
  ScanResult result;
  const std::int64_t begin = kSystemClock.mono_ns();
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    // One that is not there yet is made by the first save.
    if (errno != ENOENT) result.problem = std::strerror(errno);
    return result;
  }
  const OpenFolder folder(fd);
  result.found = FindCheckpoints(folder);
  if (result.found.size() > kMaxFound)
    result.found.erase(result.found.begin(), result.found.end() - static_cast<std::ptrdiff_t>(kMaxFound));
  result.took_ns = kSystemClock.mono_ns() - begin;
  return result;
}

// A line of words each: what a user's directory holds is not to be parsed by a parser of more.
std::string EncodeScan(const ScanResult& result) {
  std::string text = absl::StrCat("took ", result.took_ns, "\n");
  if (!result.problem.empty()) absl::StrAppend(&text, "problem ", absl::CHexEscape(result.problem), "\n");
  for (const CheckpointSeen& seen : result.found) {
    absl::StrAppend(&text, "checkpoint ", seen.layout, " ", seen.train_step, " ", seen.begin_ns, " ",
                    seen.complete_ns.value_or(0), " ", absl::WebSafeBase64Escape(seen.name), "\n");
  }
  return text;
}

absl::StatusOr<ScanResult> DecodeScan(std::string_view text) {
  ScanResult result;
  const auto bad = [] { return absl::InvalidArgumentError("the helper's answer is not one"); };
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[0] == "took") {
      if (words.size() != 2 || !absl::SimpleAtoi(words[1], &result.took_ns)) return bad();
    } else if (words[0] == "problem") {
      if (!absl::CUnescape(line.substr(words[0].size() + 1), &result.problem)) return bad();
    } else {
      CheckpointSeen seen;
      std::int64_t complete = 0;
      if (words.size() != 6 || words[0] != "checkpoint" || !absl::SimpleAtoi(words[2], &seen.train_step) ||
          !absl::SimpleAtoi(words[3], &seen.begin_ns) || !absl::SimpleAtoi(words[4], &complete) ||
          !absl::WebSafeBase64Unescape(words[5], &seen.name))
        return bad();
      seen.layout = std::string(words[1]);
      if (complete != 0) seen.complete_ns = complete;
      result.found.push_back(std::move(seen));
    }
  }
  return result;
}

HelperAnswers ScanHelper(const std::vector<std::string>& arguments) {
  std::int64_t job = 0;
  if (arguments.size() != 3 || !absl::SimpleAtoi(arguments[1], &job)) {
    return [](std::string_view, const HelperProgress&) -> std::string { return ""; };
  }
  auto directory = std::make_shared<Directory>(arguments[0], job, arguments[2]);
  return [directory](std::string_view, const HelperProgress& at) {
    at("the job's working directory");
    const std::string& path = directory->Path();
    if (path.empty()) return EncodeScan({"the job's working directory is not known", {}, 0});
    at(path);
    return EncodeScan(ScanCheckpoints(path));
  };
}

}  // namespace goodput
