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

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "spank/spool.h"
#include "sql/text.h"
#include "tools/base/helper_message.h"
#include "tools/goodputd/checkpoints/open_folder.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

// A reply is one message; the newest checkpoints matter.
constexpr std::size_t kMaxFound = 500;
constexpr std::size_t kMaxAnswer = kMaxHelperMessage - 1024;
// How long a wait for changes lasts if changes cannot be watched.
constexpr int kBlinkMs = 800;
// How long a container may take to start.
constexpr std::int64_t kMomentNs = 10'000'000'000;

int Fail(int error) {
  errno = error;
  return -1;
}

// The directory of a job.
class Directory {
 public:
  Directory(std::string named, std::int64_t job, std::int64_t pid)
      : named_(std::move(named)), job_(job), pid_(pid) {}
  ~Directory() { Hold(-1); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Resolved once possible, since the job's process may be gone later.
  const std::string& Path() {
    if (path_.empty()) path_ = ResolveJobPath(named_, job_, pid_);
    return path_;
  }

  // Returns -1 with errno: EAGAIN if it is too early to look, ENOENT if no view has it. Searches for
  // containers again if `thoroughly`.
  int Open(const std::vector<std::int64_t>& tasks, bool thoroughly) {
    tasks_ = tasks;
    if (std::any_of(tasks.begin(), tasks.end(), IsBeingSetUp)) return Fail(EAGAIN);
    int error = 0;
    int fd = OpenAsSeenBy(tasks, "task", error);
    const bool no_task_has_it = error == ENOENT;
    // The script may have another directory with the name that a task or a container saw.
    const bool scripts = view_ != "task" && view_ != "container";
    if (fd < 0 && tasks.empty() && scripts) fd = OpenAsSeenBy({pid_}, "script", error);
    if (fd < 0 && thoroughly) containers_ = FindContainers();
    if (fd < 0 && (!tasks.empty() || view_ != "task"))
      fd = OpenAsSeenBy(containers_.pids, "container", error);
    if (fd < 0 && !tasks.empty() && scripts) fd = OpenAsSeenBy({pid_}, "script", error);
    if (fd >= 0) {
      unseen_.clear();
      return fd;
    }
    if (error == 0) return OpenLeft();
    if (thoroughly && (no_task_has_it || !containers_.client.empty())) NoteUnseen(error);
    return Fail(last_error_ = error);
  }
  // The view that last had it.
  const std::string& view() const { return view_; }
  // Why it may exist although no view has it, once that has lasted for a while; empty: it does not exist yet.
  std::string Unseen() const {
    return nobody_lives_ || kSystemClock.mono_ns() - unseen_since_ns_ >= kMomentNs ? unseen_ : std::string();
  }

  // Identifies the current directory; 0: there is none.
  std::uint64_t Number() {
    const int fd = Open(tasks_, false);
    struct stat info {};
    const bool is = fd >= 0 && fstat(fd, &info) == 0;
    if (fd >= 0) close(fd);
    return is ? info.st_ino : 0;
  }

  // The path at which it was searched, below the root of the view.
  std::string PathThere() { return root_ + Path(); }

 private:
  // The first of the processes that has it. Otherwise `error` is the worst of all, 0 if none lives.
  int OpenAsSeenBy(const std::vector<std::int64_t>& pids, const char* view, int& error) {
    for (const std::int64_t pid : pids) {
      const int fd = OpenFolderOf(pid, Path());
      if (fd >= 0) {
        Hold(fcntl(fd, F_DUPFD_CLOEXEC, 0));
        view_ = view;
        root_ = Cat("/proc/", pid, "/root");
        return fd;
      }
      if (errno != ESRCH && (error == 0 || error == ENOENT)) error = errno;
      if (errno == ENOENT && root_.empty()) root_ = Cat("/proc/", pid, "/root");
    }
    return -1;
  }

  JobContainers FindContainers() const {
    std::vector<std::int64_t> pids = tasks_;
    pids.push_back(pid_);
    return ContainersOf(pids);
  }

  // For a directory that no view has: whether the program may have it nevertheless.
  void NoteUnseen(int error) {
    std::string why;
    if (error == ENOENT && !containers_.client.empty() && containers_.pids.empty()) {
      why = Cat("a container of ", containers_.client,
                " cannot be inspected: its processes do not belong to the job");
    } else if (error == ENOENT && !SomebodyCouldMakeIt()) {
      why = "no process of the job sees it, and its user may not create it there";
    }
    if (!why.empty() && unseen_.empty()) unseen_since_ns_ = kSystemClock.mono_ns();
    unseen_ = why;
  }
  bool SomebodyCouldMakeIt() {
    std::vector<std::int64_t> pids = tasks_;
    pids.insert(pids.end(), containers_.pids.begin(), containers_.pids.end());
    pids.push_back(pid_);
    return std::any_of(pids.begin(), pids.end(),
                       [this](std::int64_t pid) { return CouldMakeFolder(pid, Path()); });
  }

  // No process of the job lives: uses what was seen before, or the node's directory with that name. The job
  // and this process may each have had their own /tmp.
  int OpenLeft() {
    nobody_lives_ = true;
    if (held_ >= 0) return openat(held_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!unseen_.empty()) return Fail(ENOENT);
    if (last_error_ != 0 && last_error_ != ENOENT) return Fail(last_error_);
    for (const char* own : {"/tmp/", "/var/tmp/", "/dev/shm/"}) {
      if (absl::StartsWith(Path(), own)) return Fail(last_error_ != 0 ? last_error_ : ESRCH);
    }
    view_ = "node";
    root_.clear();
    return open(Path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  void Hold(int fd) {
    if (held_ >= 0) close(held_);
    held_ = fd;
  }

  std::string named_;
  std::int64_t job_;
  std::int64_t pid_;
  std::string path_;
  std::vector<std::int64_t> tasks_;
  int held_ = -1;
  int last_error_ = 0;
  std::string view_;
  std::string root_;
  JobContainers containers_;
  std::string unseen_;
  std::int64_t unseen_since_ns_ = 0;
  bool nobody_lives_ = false;
};

std::string WhyNot(int error) {
  return error == ESRCH ? "the job ended before the directory could be found" : std::strerror(error);
}

// Whether the directory will be created on a local file system.
bool IsLocalPlace(std::string path) {
  while (path.size() > 1) {
    path.erase(std::max<std::size_t>(1, path.rfind('/')));
    struct statfs info {};
    if (statfs(path.c_str(), &info) == 0) return !IsRemoteFileSystem(static_cast<std::int64_t>(info.f_type));
  }
  return false;
}

// Explains `errno` if there is nothing to look at. A directory that does not exist yet is created by the
// first save.
ScanResult NothingSeen(const std::string& path, bool watch) {
  ScanResult nothing;
  const bool not_yet = errno == ENOENT || errno == EAGAIN;
  nothing.watched = watch && errno == ENOENT;
  if (!not_yet) nothing.problem = WhyNot(errno);
  nothing.watched = nothing.watched && IsLocalPlace(path);
  return nothing;
}

// From "look 12 34".
std::vector<std::int64_t> TasksOf(std::string_view request) {
  std::vector<std::int64_t> tasks;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(request), ' ')) {
    std::int64_t task = 0;
    if (absl::SimpleAtoi(word, &task) && task > 0) tasks.push_back(task);
  }
  return tasks;
}

}  // namespace

ScanResult ScanCheckpoints(int folder_fd, std::int64_t since_ns, ScanBudget budget) {
  ScanResult result;
  const std::int64_t begin = kSystemClock.mono_ns();
  const OpenFolder folder(folder_fd, budget);
  result.found = FindCheckpoints(folder, since_ns);
  result.whole = !budget.spent && result.found.size() <= kMaxFound;
  result.watched = budget.watch != nullptr && budget.watched;
  if (result.found.size() > kMaxFound)
    result.found.erase(result.found.begin(), result.found.end() - static_cast<std::ptrdiff_t>(kMaxFound));
  result.took_ns = kSystemClock.mono_ns() - begin;
  return result;
}

ScanResult ScanCheckpoints(const std::string& path, std::int64_t since_ns, const ScanBudget& budget) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? NothingSeen(path, budget.watch != nullptr) : ScanCheckpoints(fd, since_ns, budget);
}

std::string EncodeScan(const ScanResult& result) {
  // The newest first: what does not fit is the oldest.
  std::size_t size = 0;
  std::size_t fit = 0;
  std::vector<std::string> encoded;
  for (auto seen = result.found.rbegin(); seen != result.found.rend(); ++seen, ++fit) {
    MessageWriter one;
    one.Text(seen->layout).OptionalNumber(seen->train_step).Number(seen->begin_ns);
    one.OptionalNumber(seen->complete_ns)
        .Number(static_cast<std::int64_t>(seen->id))
        .Number(seen->written_ns);
    one.Flag(seen->begin_known).Text(seen->name);
    if (size + one.size() > kMaxAnswer) break;
    size += one.size();
    encoded.push_back(one.Take());
  }
  MessageWriter all;
  all.Number(result.took_ns).Flag(result.whole && fit == result.found.size()).Flag(result.watched);
  all.Text(result.view).Text(result.problem);
  std::string message = all.Take();
  for (auto one = encoded.rbegin(); one != encoded.rend(); ++one) message += *one;
  return message;
}

absl::StatusOr<ScanResult> DecodeScan(std::string_view text) {
  MessageReader message(text);
  ScanResult result;
  result.took_ns = message.Number();
  result.whole = message.Flag();
  result.watched = message.Flag();
  result.view = message.Text();
  result.problem = message.Text();
  while (message.ok() && !message.AtEnd()) {
    CheckpointSeen seen;
    seen.layout = message.Text();
    seen.train_step = message.OptionalNumber();
    seen.begin_ns = message.Number();
    seen.complete_ns = message.OptionalNumber();
    seen.id = static_cast<std::uint64_t>(message.Number());
    seen.written_ns = message.Number();
    seen.begin_known = message.Flag();
    seen.name = message.Text();
    result.found.push_back(std::move(seen));
  }
  if (!message.ok() || result.took_ns < 0)
    return absl::InvalidArgumentError("malformed reply from the helper");
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
      const std::uint64_t number = directory->Number();
      if (number != 0 && *looked_at == 0) return std::string(kCreatedAnswer);
      return changed || number != *looked_at ? "changed" : "quiet";
    }
    if (path.empty()) {
      ScanResult unknown;
      unknown.problem = "the job's working directory is not known";
      return EncodeScan(unknown);
    }
    at(path);
    // It searches /proc, which loads nothing but the processor.
    const std::int64_t began = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
    const int fd = directory->Open(TasksOf(request), true);
    const std::int64_t opening_ns = ReadClockNs(CLOCK_THREAD_CPUTIME_ID) - began;
    if (fd < 0) {
      *looked_at = 0;
      const bool nowhere = errno == ENOENT;
      ScanResult nothing = NothingSeen(directory->PathThere(), true);
      nothing.took_ns = opening_ns;
      if (nowhere) nothing.problem = directory->Unseen();
      return EncodeScan(nothing);
    }
    struct stat info {};
    *looked_at = fstat(fd, &info) == 0 ? info.st_ino : 0;
    ScanBudget budget;
    budget.watch = watch.get();
    budget.working = [&] { at(path); };
    ScanResult result = ScanCheckpoints(fd, since_ns, budget);
    result.view = directory->view();
    result.took_ns += opening_ns;
    return EncodeScan(result);
  };
}

}  // namespace goodput
