// goodputd, the daemon: records marks and signals on a node; on the controller it watches the queue and
// writes to the database.
#include <getopt.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config.h"
#include "sql/text.h"
#include "tools/base/config.h"
#include "tools/base/helper_process.h"
#include "tools/base/service_manager.h"
#include "tools/base/trace_permission.h"
#include "tools/goodputd/active_role.h"
#include "tools/goodputd/checkpoints/scan_helper.h"
#include "tools/goodputd/controller_loop.h"
#include "tools/goodputd/exec_watch.h"
#include "tools/goodputd/gpu_use/gpu_use_loop.h"
#include "tools/goodputd/hang/hang_helper.h"
#include "tools/goodputd/heartbeat.h"
#include "tools/goodputd/host/host_loop.h"
#include "tools/goodputd/housekeeping/housekeeper.h"
#include "tools/goodputd/job_state_sweep.h"
#include "tools/goodputd/job_watch_loop.h"
#include "tools/goodputd/kernel/kernel_log.h"
#include "tools/goodputd/kernel/kernel_loop.h"
#include "tools/goodputd/liveness.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/mark_server.h"
#include "tools/goodputd/node_context.h"
#include "tools/goodputd/output/follow_helper.h"
#include "tools/goodputd/reader_loop.h"
#include "tools/goodputd/reload.h"
#include "tools/goodputd/shared_ingest_loop.h"
#include "tools/goodputd/ship_loop.h"
#include "tools/goodputd/signals/signal_loop.h"
#include "tools/goodputd/watch_loop.h"
#include "tools/sources/shared_spool/ingest_helper.h"
#include "tools/sources/shared_spool/ship_helper.h"
#include "tools/sources/slurm/controller.h"

namespace {

constexpr const char* kHelp = R"(Usage: goodputd [--config FILE] [--role ROLE] [--check]

On a node, goodputd receives marks from jobs, traces their signals, records which jobs are alive, and
copies these records to the shared spool. On the controller, it watches the queue and fills the database.
It runs in the foreground and logs to stderr. SIGTERM and SIGINT stop it; SIGHUP reloads the configuration.

  -c, --config FILE   read FILE instead of /etc/slurm-goodput/goodput.conf
      --role ROLE     run as node, controller or node,controller; overrides the configuration
      --check         check the configuration, print the settings in effect, and exit
  -h, --help          show this
  -V, --version       show the version

Examples:
  goodputd --check
  goodputd --config /etc/slurm-goodput/goodput.conf

Exit status: 0 stopped by a signal, 1 could not start, 2 bad usage or configuration.
)";

void PrintConfig(const goodput::Config& config) {
  std::printf("spool = %s\n", config.spool.c_str());
  std::printf("database = %s\n", config.database.c_str());
  std::printf("database_copy = %s\n", config.database_copy.empty() ? "(none)" : config.database_copy.c_str());
  std::printf("cluster = %s\n", config.cluster.empty() ? "(Slurm's)" : config.cluster.c_str());
  std::printf("socket = %s\n", config.socket.c_str());
  std::printf("socket_path = %s\n", config.socket_path.empty() ? "(none)" : config.socket_path.c_str());
  std::printf("role = %s%s%s\n", config.node_role ? "node" : "",
              config.node_role && config.controller_role ? "," : "",
              config.controller_role ? "controller" : "");
  std::printf("backfill = %s\n", absl::FormatDuration(config.backfill).c_str());
  std::printf("queue_interval = %s\n", absl::FormatDuration(config.queue_interval).c_str());
  std::printf("shared_spool = %s\n", config.shared_spool.empty() ? "(none)" : config.shared_spool.c_str());
  std::printf("shared_spool_user = %s\n",
              config.shared_spool_user.empty() ? "(root)" : config.shared_spool_user.c_str());
  std::printf("keep_spool = %s\n", absl::FormatDuration(config.keep_spool).c_str());
  std::printf("keep_events = %s\n", config.keep_events == absl::InfiniteDuration()
                                        ? "forever"
                                        : absl::FormatDuration(config.keep_events).c_str());
  std::printf("heartbeat = %s\n", absl::FormatDuration(config.heartbeat).c_str());
  std::printf("checkpoint_scan = %s\n", absl::FormatDuration(config.checkpoint_scan).c_str());
  std::printf("log_profiles = %s\n", config.log_profiles.c_str());
  std::printf("signals = %s\n", config.signals ? "on" : "off");
  std::printf("host_notices = %s\n", std::string(goodput::HostNoticesName(config.host_notices)).c_str());
  std::printf("kernel_log = %s\n", config.kernel_log.empty() ? "off" : config.kernel_log.c_str());
  std::printf("gpu_use = %s\n", config.gpu_use.empty() ? "off" : config.gpu_use.c_str());
  std::printf("gpu_use_interval = %s\n", absl::FormatDuration(config.gpu_use_interval).c_str());
  std::printf("hang_evidence = %s\n", goodput::HangSourcesName(config.hang_evidence).c_str());
  std::printf("py_spy = %s\n", config.py_spy.empty() ? "(looked for)" : config.py_spy.c_str());
  std::printf("hang_evidence_after = %s\n", absl::FormatDuration(config.hang_evidence_after).c_str());
  std::printf("listen = %s\n", config.listen.empty() ? "off" : config.listen.c_str());
  std::printf("listen_names = %s\n", config.listen_names.empty() ? "(none)" : config.listen_names.c_str());
  std::printf("query_socket = %s\n", config.query_socket.empty() ? "off" : config.query_socket.c_str());
  std::printf("reader_user = %s\n",
              config.reader_user.empty() ? "(owner of the database's folder)" : config.reader_user.c_str());
  std::printf("url = %s\n", config.url.empty() ? "(none)" : config.url.c_str());
  std::printf("spool_max = %lld\n", static_cast<long long>(config.spool_max));
}

struct CommandLine {
  std::string config;
  std::string role;
  char** argv = nullptr;
};

absl::StatusOr<goodput::Config> ReadConfig(const CommandLine& line) {
  absl::StatusOr<goodput::Config> config = goodput::LoadConfig(line.config);
  if (config.ok() && !line.role.empty()) {
    if (const absl::Status set = goodput::SetRoles(line.role, *config); !set.ok())
      return goodput::Annotate(set, "--role");
  }
  return config;
}

// Returns when the daemon is to stop, or to restart with the new configuration.
enum class Told : std::uint8_t { kStop, kStartAnew };
Told WaitForSignal(int signal_fd, const CommandLine& line) {
  signalfd_siginfo info{};
  while (true) {
    if (read(signal_fd, &info, sizeof(info)) != sizeof(info)) {
      if (errno == EINTR) continue;
      return Told::kStop;
    }
    if (info.ssi_signo != SIGHUP) return Told::kStop;
    const absl::StatusOr<goodput::Config> config = ReadConfig(line);
    if (config.ok()) return Told::kStartAnew;
    goodput::Log(
        goodput::Cat("SIGHUP: ", goodput::Message(config.status()), "; keeping the previous configuration"));
  }
}

int Run(const goodput::Config& config, const CommandLine& line) {
  // Blocked before any thread starts, so that only the signalfd receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  for (const int signal_number : {SIGPIPE, SIGXFSZ}) signal(signal_number, SIG_IGN);
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
  // Stays readable once written to: every thread polls it.
  const int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int last_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);  // likewise, once everything has been recorded
  if (signal_fd < 0 || stop_fd < 0 || last_fd < 0) {
    goodput::Log("cannot make a signalfd or eventfd");
    return 1;
  }

  const auto spool_max = static_cast<std::uint64_t>(config.spool_max);
  goodput::NodeJobs jobs(config.spool);
  // The last quarter is left to the plugin: what Slurm did is known even of a job that reports too much.
  const std::uint64_t daemon_max = spool_max - spool_max / 4;
  goodput::RecordQuota::Limits limits;
  limits.spool_bytes = daemon_max;
  goodput::RecordQuota quota(limits);
  goodput::NodeSpools spools(config.spool, daemon_max, geteuid(), quota);
  goodput::NodeSpools log_spools(config.spool, daemon_max, geteuid(), quota, goodput::kSystemClock,
                                 std::string(goodput::kLogLabel));
  goodput::JobProgress progress;
  const goodput::NodeContext node{config, jobs, spools, log_spools, stop_fd, &progress};
  // systemd's, or of the process before a reload.
  const int kernel_log_fd = goodput::PassedKernelLog(goodput::PassedDescriptors());
  std::unique_ptr<goodput::MarkServer> marks;
  if (config.node_role) {
    goodput::SweepNotes(config.spool, goodput::BootTime());
    goodput::MarkServer::Options options;
    options.socket = config.socket;
    options.socket_path = config.socket_path;
    options.spool_root = config.spool;
    options.progress = &progress;
    options.kernel_log_fd = kernel_log_fd;
    marks = std::make_unique<goodput::MarkServer>(options, jobs, spools);
    if (absl::Status status = marks->Listen(); !status.ok()) {
      goodput::Log(goodput::Message(status));
      return 1;
    }
  }
  // libslurm sets an environment variable when it starts, which threads that start programs read.
  if (config.controller_role) goodput::SlurmController();
  std::vector<std::thread> threads;
  std::atomic<bool> execs_traced{false};
  if (config.node_role && config.signals) {
    threads.emplace_back([&] { goodput::RunSignalLoop(node, execs_traced); });
  }
  // The kernel may require it for tracing; nothing else here needs it.
  goodput::DoWithoutSysAdmin();
  if (config.node_role) {
    threads.emplace_back([&] { marks->Serve(stop_fd); });
    threads.emplace_back([&] { goodput::RunHeartbeatLoop(node); });
    threads.emplace_back([&] { goodput::RunExecWatch(node, execs_traced); });
    threads.emplace_back([&] { goodput::RunHostLoop(node); });
    threads.emplace_back([&] { goodput::RunKernelLoop(node, kernel_log_fd); });
    threads.emplace_back([&] { goodput::RunGpuUseLoop(node); });
    threads.emplace_back([&] { goodput::RunJobWatches(node); });
  }
  const std::size_t recorders = threads.size();
  std::thread ship;
  if (config.node_role && !config.shared_spool.empty()) {
    ship = std::thread([&] { goodput::RunShipLoop(config, last_fd); });
  }
  std::atomic<bool> queue_changed{false};
  goodput::Liveness alive;
  std::future<void> watch;
  std::optional<goodput::ActiveRole> role;
  if (config.controller_role) {
    role.emplace(config, alive);
    threads.emplace_back([&] { role->Run(stop_fd); });
    threads.emplace_back([&] { goodput::RunControllerLoop(config, *role, stop_fd, queue_changed, alive); });
    if (!config.listen.empty() || !config.query_socket.empty()) {
      threads.emplace_back([&] { goodput::RunReaderLoop(config, line.config, stop_fd, alive); });
    }
    if (!config.shared_spool.empty()) {
      threads.emplace_back([&] { goodput::RunSharedIngestLoop(config, role->writer(), stop_fd, alive); });
    }
    threads.emplace_back([&] { goodput::RunHousekeeping(config, role->writer(), stop_fd, alive.standby); });
    watch = std::async(std::launch::async,
                       [&] { goodput::RunWatchLoop(config, stop_fd, alive, [&] { queue_changed = true; }); });
  }
  goodput::Log("ready");
  goodput::NotifyManager("READY=1");

  const Told told = WaitForSignal(signal_fd, line);
  goodput::NotifyManager(told == Told::kStop ? "STOPPING=1" : "RELOADING=1");
  // Sockets with other names are not kept.
  bool keeps_sockets = false;
  if (told == Told::kStartAnew && marks != nullptr) {
    const absl::StatusOr<goodput::Config> next = ReadConfig(line);
    keeps_sockets = next.ok() && next->node_role && next->socket == config.socket &&
                    next->socket_path == config.socket_path;
    if (keeps_sockets) marks->LeaveUnread();
  }
  const std::uint64_t one = 1;
  if (write(stop_fd, &one, sizeof(one)) < 0) goodput::Log("cannot stop the threads");
  for (std::size_t i = 0; i < recorders; ++i) threads[i].join();
  // Everything is recorded: it is copied now, whatever the controller's threads still wait for.
  if (write(last_fd, &one, sizeof(one)) < 0) goodput::Log("cannot stop the copying");
  if (ship.joinable()) ship.join();
  for (std::size_t i = recorders; i < threads.size(); ++i) threads[i].join();
  if (told == Told::kStartAnew) {
    goodput::Log("SIGHUP: reloading the configuration");
    std::vector<int> fds;
    if (keeps_sockets) fds = marks->Release();
    if (kernel_log_fd >= 0) fds.push_back(kernel_log_fd);
    marks = nullptr;
    goodput::Log(goodput::Message(goodput::StartAnew(line.argv, fds)));
    _exit(1);
  }
  // libslurm may be waiting for a controller that is down. All written data is complete, so exiting is safe.
  if (watch.valid() && watch.wait_for(std::chrono::seconds(2)) != std::future_status::ready) _exit(0);
  close(signal_fd);
  close(stop_fd);
  close(last_fd);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread starts: this process may be a helper that touches file systems that may hang.
  const std::optional<int> code =
      goodput::RunHelper(argc, argv,
                         {{goodput::kFollowHelper, goodput::FollowHelper},
                          {goodput::kHangHelper, goodput::HangHelper},
                          {goodput::kHousekeepingHelper, goodput::HousekeepingHelper},
                          {goodput::kIngestHelper, goodput::IngestHelper},
                          {goodput::kScanHelper, goodput::ScanHelper},
                          {goodput::kShipHelper, goodput::ShipHelper}});
  if (code) return *code;
  CommandLine line;
  line.argv = argv;
  bool check = false;
  constexpr int kCheckOption = 256;
  constexpr int kRoleOption = 257;
  const option options[] = {{"config", required_argument, nullptr, 'c'},
                            {"check", no_argument, nullptr, kCheckOption},
                            {"role", required_argument, nullptr, kRoleOption},
                            {"help", no_argument, nullptr, 'h'},
                            {"version", no_argument, nullptr, 'V'},
                            {nullptr, 0, nullptr, 0}};
  int option_id = 0;
  while ((option_id = getopt_long(argc, argv, "c:hV", options, nullptr)) != -1) {
    switch (option_id) {
      case 'c':
        line.config = optarg;
        break;
      case kRoleOption:
        line.role = optarg;
        break;
      case kCheckOption:
        check = true;
        break;
      case 'h':
        std::fputs(kHelp, stdout);
        return 0;
      case 'V':
        std::printf("goodputd %s (built for Slurm %s)\n", PACKAGE_VERSION, GOODPUT_SLURM_RELEASE);
        return 0;
      default:
        std::fputs("goodputd: see goodputd --help\n", stderr);
        return 2;
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "goodputd: unexpected argument '%s'; see goodputd --help\n", argv[optind]);
    return 2;
  }
  const absl::StatusOr<goodput::Config> config = ReadConfig(line);
  if (!config.ok()) {
    goodput::Log(goodput::Message(config.status()));
    return 2;
  }
  if (check) {
    PrintConfig(*config);
    return 0;
  }
  return Run(*config, line);
}
