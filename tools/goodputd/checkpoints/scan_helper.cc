#include "tools/goodputd/checkpoints/scan_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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
#include "spank/spool.h"
#include "sql/text.h"
#include "tools/goodputd/checkpoints/open_folder.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxEnvironment = std::size_t{1} << 20U;
// An answer is one message; the newest are what matters.
constexpr std::size_t kMaxFound = 500;
constexpr std::size_t kMaxAnswer = kMaxHelperMessage - 1024;
// So long a wait for a change lasts, where nothing can be waited for.
constexpr int kBlinkMs = 800;

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

// Whether what will be made there is on a file system of this machine.
bool IsLocalPlace(std::string path) {
  while (path.size() > 1) {
    path.erase(std::max<std::size_t>(1, path.rfind('/')));
    struct statfs info {};
    if (statfs(path.c_str(), &info) == 0) return !IsRemoteFileSystem(static_cast<std::int64_t>(info.f_type));
  }
  return false;
}

// 0: it is not there.
std::uint64_t FileNumber(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

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

ScanResult ScanCheckpoints(const std::string& path, std::int64_t since_ns, ScanBudget budget) {
  ScanResult result;
  const std::int64_t begin = kSystemClock.mono_ns();
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    // One that is not there yet is made by the first save.
    if (errno != ENOENT) result.problem = std::strerror(errno);
    result.watched = errno == ENOENT && budget.watch != nullptr && IsLocalPlace(path);
    return result;
  }
  const OpenFolder folder(fd, budget);
  result.found = FindCheckpoints(folder, since_ns);
  result.whole = !budget.spent && result.found.size() <= kMaxFound;
  result.watched = budget.watch != nullptr && budget.watched;
  if (result.found.size() > kMaxFound)
    result.found.erase(result.found.begin(), result.found.end() - static_cast<std::ptrdiff_t>(kMaxFound));
  result.took_ns = kSystemClock.mono_ns() - begin;
  return result;
}

// A line of words each: what a user's directory holds is not to be parsed by a parser of more.
std::string EncodeScan(const ScanResult& result) {
  std::string lines;
  bool whole = result.whole;
  for (auto seen = result.found.rbegin(); seen != result.found.rend(); ++seen) {
    const std::string line = absl::StrCat(
        "checkpoint ", seen->layout, " ", seen->train_step ? absl::StrCat(*seen->train_step) : "-", " ",
        seen->begin_ns, " ", seen->complete_ns.value_or(0), " ", seen->id, " ", seen->written_ns, " ",
        absl::WebSafeBase64Escape(seen->name), "\n");
    if (lines.size() + line.size() > kMaxAnswer) {
      whole = false;
      break;
    }
    lines += line;
  }
  std::string text = absl::StrCat("took ", result.took_ns, "\nwhole ", whole ? 1 : 0, "\nwatched ",
                                  result.watched ? 1 : 0, "\n");
  if (!result.problem.empty()) absl::StrAppend(&text, "problem ", absl::CHexEscape(result.problem), "\n");
  return text + lines;
}

absl::StatusOr<ScanResult> DecodeScan(std::string_view text) {
  ScanResult result;
  const auto bad = [] { return absl::InvalidArgumentError("the helper's answer is not one"); };
  const auto flag = [](const std::vector<absl::string_view>& words, bool& value) {
    if (words.size() != 2 || (words[1] != "0" && words[1] != "1")) return false;
    value = words[1] == "1";
    return true;
  };
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words[0] == "took") {
      if (words.size() != 2 || !absl::SimpleAtoi(words[1], &result.took_ns)) return bad();
    } else if (words[0] == "whole") {
      if (!flag(words, result.whole)) return bad();
    } else if (words[0] == "watched") {
      if (!flag(words, result.watched)) return bad();
    } else if (words[0] == "problem") {
      if (!absl::CUnescape(line.substr(words[0].size() + 1), &result.problem)) return bad();
    } else {
      CheckpointSeen seen;
      std::int64_t step = 0;
      std::int64_t complete = 0;
      if (words.size() != 8 || words[0] != "checkpoint" || !absl::SimpleAtoi(words[3], &seen.begin_ns) ||
          !absl::SimpleAtoi(words[4], &complete) || !absl::SimpleAtoi(words[5], &seen.id) ||
          !absl::SimpleAtoi(words[6], &seen.written_ns) || !absl::WebSafeBase64Unescape(words[7], &seen.name))
        return bad();
      if (words[2] != "-") {
        if (!absl::SimpleAtoi(words[2], &step)) return bad();
        seen.train_step = step;
      }
      seen.layout = std::string(words[1]);
      if (complete != 0) seen.complete_ns = complete;
      result.found.push_back(std::move(seen));
    }
  }
  std::reverse(result.found.begin(), result.found.end());
  return result;
}

HelperAnswers ScanHelper(const std::vector<std::string>& arguments) {
  std::int64_t job = 0;
  std::int64_t since_ns = 0;
  if (arguments.size() != 4 || !absl::SimpleAtoi(arguments[1], &job) ||
      !absl::SimpleAtoi(arguments[3], &since_ns)) {
    return [](std::string_view, const HelperProgress&) -> std::string { return ""; };
  }
  auto directory = std::make_shared<Directory>(arguments[0], job, arguments[2]);
  auto watch = std::make_shared<FolderWatch>();
  auto looked_at = std::make_shared<std::uint64_t>(0);
  return [directory, watch, looked_at, since_ns](std::string_view request,
                                                 const HelperProgress& at) -> std::string {
    at("the job's working directory");
    const std::string& path = directory->Path();
    if (request == kWaitRequest) {
      const bool changed = watch->Wait(kBlinkMs);
      // Made since, or another one in its place.
      return changed || FileNumber(path) != *looked_at ? "changed" : "quiet";
    }
    ScanResult unknown;
    unknown.problem = "the job's working directory is not known";
    if (path.empty()) return EncodeScan(unknown);
    at(path);
    *looked_at = FileNumber(path);
    ScanBudget budget;
    budget.watch = watch.get();
    budget.working = [&] { at(path); };
    return EncodeScan(ScanCheckpoints(path, since_ns, budget));
  };
}

}  // namespace goodput
