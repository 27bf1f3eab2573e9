#include "tools/goodputd/heartbeat.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "spank/json_text.h"
#include "spank/spool.h"
#include "sql/text.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// A task's record is written after its fork, and the kernel counts a process's start in hundredths of a
// second.
constexpr std::int64_t kBeganSlackNs = 1'000'000'000;

// Written to a temporary file and renamed: a reader finds the old one or the new one.
std::string Replace(const std::string& folder, const std::string& text) {
  const std::string path = folder + "/" + kHeartbeatName;
  const std::string beside = path + ".new";
  const int fd =
      open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  bool good = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) good = close(fd) == 0 && good;
  if (good && std::rename(beside.c_str(), path.c_str()) == 0) return "";
  return Cat(path, ": cannot write: ", std::strerror(errno));
}

}  // namespace

std::map<std::string, std::vector<NodeJob>> LiveJobs(const NodeJobs& jobs, const Processes& processes,
                                                     std::int64_t boottime_less_mono_ns) {
  std::map<std::string, std::vector<NodeJob>> live;
  for (const NodeJobs::LiveTask& task : jobs.TasksNotExited()) {
    std::vector<NodeJob>& of_node = live[task.job->node];
    const auto same = [&](const NodeJob& job) {
      return job.job == task.job->job && job.since_ns == task.job->since_ns;
    };
    if (std::any_of(of_node.begin(), of_node.end(), same)) continue;
    const std::optional<std::int64_t> began = processes.BeganNs(task.pid);
    if (began && *began <= task.began_mono_ns + boottime_less_mono_ns + kBeganSlackNs)
      of_node.push_back(*task.job);
  }
  return live;
}

std::string HeartbeatText(const std::string& node, const std::vector<NodeJob>& live,
                          const std::string& boot_id, std::int64_t real_ns, std::int64_t mono_ns) {
  std::string text = Cat(R"({"v":1,"t":)", real_ns, R"(,"m":)", mono_ns, R"(,"node":")", node,
                         R"(","boot":")", boot_id, R"(","jobs":[)");
  bool first = true;
  for (const NodeJob& job : live) {
    text += first ? "{" : ",{";
    first = false;
    if (!job.cluster.empty()) text += Cat(R"("cluster":)", QuotedJson(job.cluster), ",");
    text += Cat(R"("job":)", job.job, R"(,"since":)", job.since_ns, "}");
  }
  return text + "]}\n";
}

namespace {

// When the previous goodputd looked at this node.
std::int64_t LastLook(const std::string& folder) {
  struct stat info {};
  if (lstat(Cat(folder, "/", kHeartbeatName).c_str(), &info) != 0) return kSystemClock.real_ns();
  return info.st_mtim.tv_sec * kSecondNs + info.st_mtim.tv_nsec;
}

}  // namespace

void RunHeartbeatLoop(const NodeContext& context) {
  const std::string boot_id = BootId();
  const Config& config = context.config;
  Complaint trouble;
  Complaint losing;
  const int interval_ms = static_cast<int>(absl::ToInt64Milliseconds(config.heartbeat));
  pollfd stop{context.stop_fd, POLLIN, 0};
  do {
    context.spools.RecordRefused();
    context.jobs.Refresh();
    const std::int64_t mono = kSystemClock.mono_ns();
    const std::map<std::string, std::vector<NodeJob>> live =
        LiveJobs(context.jobs, RealProcesses(), ReadClockNs(CLOCK_BOOTTIME) - mono);
    std::string problem;
    std::string loss;
    std::error_code ignored;
    for (const fs::directory_entry& folder : fs::directory_iterator(config.spool, ignored)) {
      const std::string node = folder.path().filename();
      if (!IsNodeFolderName(node) || node.front() == '@' || !fs::is_directory(folder.symlink_status(ignored)))
        continue;
      if (context.spools.RecordLost(node, LastLook(folder.path())) && loss.empty()) {
        loss = Cat("records of node ", node, " are lost: its spool ", folder.path().string(),
                   " has no room (sgoodput doctor says why)");
      }
      context.spools.KeepReserve(node);
      const auto found = live.find(node);
      const std::string text =
          HeartbeatText(node, found == live.end() ? std::vector<NodeJob>() : found->second, boot_id,
                        kSystemClock.real_ns(), mono);
      std::string failed = Replace(folder.path(), text);
      if (problem.empty()) problem = std::move(failed);
    }
    trouble.Say(problem);
    losing.Say(loss);
  } while (poll(&stop, 1, interval_ms) == 0);
}

}  // namespace goodput
