#include "tools/goodputd/signals/signal_finder.h"

#include <array>
#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr int kResultIgnored = 1;  // TRACE_SIGNAL_IGNORED from include/trace/events/signal.h
constexpr int kMaxAncestors = 64;
constexpr std::size_t kMaxRemembered = 4096;
// Process ids are reused within minutes on a busy machine.
constexpr std::int64_t kRememberNs = 60'000'000'000;

// kill, tgkill or sigqueue was called by the running process.
bool IsSent(int code) {
  return code == SI_USER || code == SI_TKILL || code == SI_QUEUE;
}

bool HasBit(std::uint64_t mask, int signo) {
  return ((mask >> (static_cast<unsigned>(signo) - 1U)) & 1U) != 0;
}

}  // namespace

std::string_view SignalSenderName(SignalSender sender) {
  constexpr std::array<std::string_view, 6> kNames{"", "slurmstepd", "self", "job", "outside", "kernel"};
  return kNames[static_cast<std::size_t>(sender)];
}

std::optional<CgroupStep> ParseCgroupStep(std::string_view paths) {
  for (absl::string_view line : absl::StrSplit(ToAbsl(paths), '\n')) {
    CgroupStep found;
    bool has_job = false;
    for (absl::string_view part : absl::StrSplit(line, '/', absl::SkipEmpty())) {
      constexpr absl::string_view kNodeV1 = "slurm_";
      constexpr absl::string_view kNodeV2 = "_slurmstepd.scope";
      constexpr absl::string_view kJob = "job_";
      constexpr absl::string_view kStep = "step_";
      if (part.substr(0, kNodeV1.size()) == kNodeV1) {
        found.node = std::string(part.substr(kNodeV1.size()));
      } else if (part.size() > kNodeV2.size() && part.substr(part.size() - kNodeV2.size()) == kNodeV2) {
        found.node = std::string(part.substr(0, part.size() - kNodeV2.size()));
      } else if (part.substr(0, kJob.size()) == kJob) {
        has_job = absl::SimpleAtoi(part.substr(kJob.size()), &found.job);
      } else if (has_job && part.substr(0, kStep.size()) == kStep) {
        found.slurm_step = std::string(part.substr(kStep.size()));
        return found;
      }
    }
  }
  return std::nullopt;
}

const std::optional<ProcessStatus>& SignalFinder::StatusOf(pid_t thread) {
  const auto [at, is_new] = looked_at_.try_emplace(thread);
  if (is_new) at->second = processes_.Status(thread);
  return at->second;
}

std::optional<SignalFinder::Home> SignalFinder::HomeByCgroup(pid_t process) const {
  const std::optional<CgroupStep> path = ParseCgroupStep(processes_.Cgroups(process));
  if (!path) return std::nullopt;
  const std::optional<NodeStep> step = jobs_.FindStep(path->node, path->job, path->slurm_step);
  if (!step) return std::nullopt;
  return Home{*step, std::nullopt, false};
}

std::optional<SignalFinder::Home> SignalFinder::HomeOf(pid_t process, std::int64_t mono_ns,
                                                       const std::optional<ProcessStatus>& status) {
  if (const std::optional<NodeTask> task = jobs_.TaskOf(process, mono_ns))
    return Home{task->step, task->task, true};
  if (!status) {
    const auto known = remembered_.find(process);
    if (known == remembered_.end() || mono_ns - known->second.mono_ns > kRememberNs) return std::nullopt;
    return known->second.home;
  }
  // slurmstepd itself runs as root beside the job, not in it.
  if (jobs_.StepOfStepd(process, mono_ns)) return std::nullopt;
  pid_t at = status->parent;
  for (int i = 0; i < kMaxAncestors && at > 1; ++i) {
    if (const std::optional<NodeTask> task = jobs_.TaskOf(at, mono_ns))
      return Home{task->step, task->task, false};
    if (const std::optional<NodeStep> step = jobs_.StepOfStepd(at, mono_ns))
      return Home{*step, std::nullopt, false};
    const std::optional<ProcessStatus>& parent = StatusOf(at);
    if (!parent) break;
    at = parent->parent;
  }
  return HomeByCgroup(process);
}

void SignalFinder::Remember(pid_t process, const Home& home, std::int64_t mono_ns) {
  if (remembered_.size() >= kMaxRemembered && remembered_.count(process) == 0) {
    for (auto at = remembered_.begin(); at != remembered_.end();) {
      at = mono_ns - at->second.mono_ns > kRememberNs ? remembered_.erase(at) : std::next(at);
    }
    if (remembered_.size() >= kMaxRemembered) remembered_.clear();
  }
  remembered_[process] = {home, mono_ns};
}

std::optional<JobSignal> SignalFinder::Find(const SignalSample& sample) {
  const std::optional<ProcessStatus>& status = StatusOf(sample.target_thread);
  // The process of a thread that is gone is unknown; usually it is the first thread, which has the same id.
  const pid_t process = status ? status->process : sample.target_thread;
  // The kernel also reports a signal as ignored if the target is about to exit: it reached no process.
  const bool ignores = status && !status->zombie && HasBit(status->ignored, sample.signo);
  if (sample.result == kResultIgnored && !ignores) return std::nullopt;
  const bool sent = IsSent(sample.code);
  const std::optional<NodeStep> from = sent ? jobs_.StepOfStepd(sample.sender, sample.mono_ns) : std::nullopt;

  std::optional<Home> home = HomeOf(process, sample.mono_ns, status);
  // slurmstepd signals processes of its own step; what else is on its way to exec is not the job yet.
  if (!home && from && process != sample.sender) home = Home{*from, std::nullopt, false};
  if (!home) return std::nullopt;
  Remember(process, *home, sample.mono_ns);

  JobSignal signal;
  signal.mono_ns = sample.mono_ns;
  signal.signo = sample.signo;
  signal.step = home->step;
  signal.task = home->task;
  signal.is_task = home->is_task;
  signal.target = process;
  signal.comm = sample.comm;
  signal.ignored = ignores;
  if (status && !status->zombie) {
    signal.handled = HasBit(status->caught, sample.signo) || HasBit(status->blocked, sample.signo);
  }
  if (sent) {
    signal.sender_pid = sample.sender;
    if (from) {
      signal.sender = SignalSender::kSlurmstepd;
    } else if (sample.sender == process) {
      signal.sender = SignalSender::kSelf;
    } else {
      const std::optional<Home> theirs = HomeOf(sample.sender, sample.mono_ns, StatusOf(sample.sender));
      const bool same = theirs && theirs->step.job == home->step.job;
      signal.sender = same ? SignalSender::kJob : SignalSender::kOutside;
      // Nothing is recorded about processes outside jobs.
      if (!same) signal.sender_pid = 0;
    }
  } else if (sample.code == SI_KERNEL) {
    signal.sender = SignalSender::kKernel;
  }
  return signal;
}

}  // namespace goodput
