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
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

// An answer is one message; the newest are what matters.
constexpr std::size_t kMaxFound = 500;
constexpr std::size_t kMaxAnswer = kMaxHelperMessage - 1024;
// So long a wait for a change lasts, where nothing can be waited for.
constexpr int kBlinkMs = 800;

// The directory, once it can be told: the job's process may be gone later.
class Directory {
 public:
  Directory(std::string named, std::int64_t job, std::int64_t pid)
      : named_(std::move(named)), job_(job), pid_(pid) {}
  const std::string& Path() {
    if (path_.empty()) path_ = ResolveJobPath(named_, job_, pid_);
    return path_;
  }

 private:
  std::string named_;
  std::int64_t job_;
  std::int64_t pid_;
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
  std::int64_t pid = 0;
  if (arguments.size() != 4 || !absl::SimpleAtoi(arguments[1], &job) ||
      !absl::SimpleAtoi(arguments[2], &pid) || !absl::SimpleAtoi(arguments[3], &since_ns)) {
    return [](std::string_view, const HelperProgress&) -> std::string { return ""; };
  }
  auto directory = std::make_shared<Directory>(arguments[0], job, pid);
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
