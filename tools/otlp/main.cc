// goodput-otlp [--port N] [-- COMMAND ...]: receives spans of OpenTelemetry from the programs of this job on
// a port of the loopback interface, and sends what they tell of training to goodputd as marks. sgoodput otlp
// executes this program; it is separate because of libprotobuf.
//
// With a command, this process becomes the command, so that its exit status, signals and process id are its
// own; the receiver is a child of nobody, which ends after it. Nothing that goes wrong here keeps the command
// from running.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/otlp/mark_sink.h"
#include "tools/otlp/receiver.h"

namespace goodput {
namespace {

constexpr int kBadUsage = 2;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr int kDefaultPort = 4318;
constexpr int kMostPort = 65535;
constexpr int kTickMs = 1000;
// Programs that were told to end, too, may run on until they are killed. They send spans every 5 s by
// default.
constexpr std::chrono::seconds kQuiet{6};

constexpr const char* kHelp = R"(Usage: sgoodput otlp [--port PORT] [-- COMMAND ...]

In a job: receives spans of OpenTelemetry (OTLP over HTTP, protobuf or JSON) on
127.0.0.1, and reports what they tell of training, as sgoodput mark does.

With a command, it runs the command with OTEL_EXPORTER_OTLP_ENDPOINT and
OTEL_EXPORTER_OTLP_PROTOCOL set, on a free port, and has its exit status:

  srun sgoodput otlp -- python pretrain_gpt.py ... --otel-span-groups per_step

Without one, it serves port 4318 until a signal, and after SIGTERM until
nothing has come for 6 seconds, since programs of a requeued job run on:

  trap : TERM           # otherwise SIGTERM ends the script, and so the receiver
  sgoodput otlp &
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
  srun python pretrain_gpt.py ... --otel-span-groups per_step

      --port PORT    listen on this port
)";

int Complain(const std::string& what) {
  std::fprintf(stderr, "sgoodput: otlp: %s\n", what.c_str());
  return kBadUsage;
}

struct Listener {
  int fd = -1;
  int port = 0;
};

absl::StatusOr<Listener> Listen(int port) {
  Listener listener;
  listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  constexpr int kBacklog = 64;
  if (listener.fd < 0 || setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(listener.fd, any, length) != 0 || listen(listener.fd, kBacklog) != 0 ||
      getsockname(listener.fd, any, &length) != 0) {
    const int why = errno;
    if (listener.fd >= 0) close(listener.fd);
    return absl::ErrnoToStatus(why, Cat("cannot listen on 127.0.0.1:", port,
                                        why == EADDRINUSE ? "; choose another port with --port" : ""));
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

// The port is open to every user of the node, but only this one's programs are the job's.
bool IsOurs(const HttpQuestion& question, int port) {
  std::ifstream file("/proc/net/tcp");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return UserOfConnection(text, question.port, port) == getuid();
}

std::optional<std::int64_t> NumberInEnvironment(const char* name) {
  const char* const text = std::getenv(name);
  std::int64_t number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number) || number <= 0) return std::nullopt;
  return number;
}

// Of a job whose nodes are alike. Absent: not known, or this Slurm step has a part of the nodes.
std::optional<std::int64_t> GpusOfJob() {
  const std::optional<std::int64_t> nodes = NumberInEnvironment("SLURM_JOB_NUM_NODES");
  const std::optional<std::int64_t> on_node = NumberInEnvironment("SLURM_GPUS_ON_NODE");
  const std::optional<std::int64_t> of_step = NumberInEnvironment("SLURM_STEP_NUM_NODES");
  if (!nodes || !on_node || of_step.value_or(*nodes) != *nodes) return std::nullopt;
  return *nodes * *on_node;
}

class Service {
 public:
  explicit Service(MarkMessage identity)
      : sink_(std::move(identity), [this](const std::string& mark) { return connection_.Send(mark); }) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  absl::Status Start(const Listener& listener) {
    connection_.Connect();
    HttpServer::Limits limits;
    limits.connections_of_peer = limits.connections;
    limits.body_bytes = kMostRequestBytes;
    ASSIGN_OR_RETURN(server_, HttpServer::Start(listener.fd, limits,
                                                [this](const HttpQuestion& question,
                                                       const std::function<void(HttpReply)>& done) {
                                                  last_request_ = Clock::now();
                                                  done(receiver_.Answer(question));
                                                }));
    port_ = listener.port;
    return absl::OkStatus();
  }
  // Until `end` is readable, or `ended` says so.
  void Serve(int end, const std::function<bool()>& ended) {
    while (true) {
      pollfd polled{end, POLLIN, 0};
      const int ready = poll(&polled, end >= 0 ? 1 : 0, kTickMs);
      if (ready > 0 || ended()) return;
      server_->CutSlowOnes();
    }
  }
  // Until nothing has been sent for kQuiet, or `end` is readable.
  void ServeUntilQuiet(int end) {
    const Clock::time_point told = Clock::now();
    Serve(end, [&] { return Clock::now() - std::max(told, last_request_.load()) >= kQuiet; });
  }
  // The marks that were not sent.
  std::int64_t Finish() {
    server_.reset();
    spans_.Finish().IgnoreError();
    return connection_.dropped() + sink_.untimely();
  }

 private:
  using Clock = std::chrono::steady_clock;

  MarkConnection connection_;
  MarkSink sink_;
  LiveSpans spans_{sink_, GpusOfJob()};
  int port_ = 0;
  std::atomic<Clock::time_point> last_request_{Clock::time_point{}};
  SpanReceiver receiver_{spans_, [this](const HttpQuestion& question) { return IsOurs(question, port_); }};
  std::unique_ptr<HttpServer> server_;
};

bool IsOff() {
  const char* goodput = std::getenv("GOODPUT");
  return goodput != nullptr && std::string_view(goodput) == "off";
}

int ServeUntilTold(int port) {
  if (IsOff()) return Complain("GOODPUT=off: this job is not recorded");
  absl::StatusOr<MarkMessage> identity = MarkOfThisTask();
  if (!identity.ok()) return Complain(Message(identity.status()));
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signo : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signo);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int told = signalfd(-1, &signals, SFD_CLOEXEC);
  const absl::StatusOr<Listener> listener = Listen(port);
  if (!listener.ok()) return Complain(Message(listener.status()));
  Service service(*std::move(identity));
  if (absl::Status status = service.Start(*listener); !status.ok()) return Complain(Message(status));
  service.Serve(told, [] { return false; });
  signalfd_siginfo signal{};
  const bool read = ::read(told, &signal, sizeof(signal)) == sizeof(signal);
  if (read && signal.ssi_signo == SIGTERM) service.ServeUntilQuiet(told);
  const std::int64_t lost = service.Finish();
  if (lost > 0) Complain(Cat(lost, " marks could not be sent to goodputd; see sgoodput doctor"));
  return 0;
}

// In a child of nobody, until the process `of` has ended.
[[noreturn]] void ServeBeside(const Listener& listener, const MarkMessage& identity, pid_t of, int of_fd) {
  setsid();
  if (fork() != 0) _exit(0);
  // It ends after the program, which these signals are for, and must not keep its output open.
  for (const int signo : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) std::signal(signo, SIG_IGN);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  Service service(identity);
  if (!service.Start(listener).ok()) _exit(1);
  service.Serve(of_fd, [&] { return of_fd < 0 && kill(of, 0) != 0 && errno == ESRCH; });
  service.Finish();
  _exit(0);
}

// Starts the receiver, and tells the command of it. An error: the command runs without one.
absl::Status StartBeside(int port) {
  for (const char* name : {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}) {
    if (std::getenv(name) != nullptr)
      return absl::FailedPreconditionError(
          Cat(name, " is set, so that spans go there; unset it to use this receiver"));
  }
  ASSIGN_OR_RETURN(const MarkMessage identity, MarkOfThisTask());
  ASSIGN_OR_RETURN(const Listener listener, Listen(port));
  const pid_t self = getpid();
  const auto self_fd = static_cast<int>(syscall(SYS_pidfd_open, self, 0));
  const pid_t child = fork();
  if (child == 0) ServeBeside(listener, identity, self, self_fd);
  close(listener.fd);
  if (self_fd >= 0) close(self_fd);
  if (child < 0) return absl::ErrnoToStatus(errno, "cannot start a process");
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  setenv("OTEL_EXPORTER_OTLP_ENDPOINT", Cat("http://127.0.0.1:", listener.port).c_str(), 1);
  setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", 1);
  return absl::OkStatus();
}

int Run(char** command, int port) {
  if (!IsOff()) {
    if (absl::Status status = StartBeside(port); !status.ok())
      Complain(Cat(Message(status), " (", command[0], " runs without it)"));
  }
  execvp(command[0], command);
  const int why = errno;
  Complain(Cat(command[0], ": ", std::strerror(why)));
  return why == ENOENT ? kNotFound : kCannotExecute;
}

int Main(int argc, char** argv) {
  std::optional<int> port;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (word == "--") {
      if (i + 1 == argc) return Complain("no command follows --; see sgoodput otlp --help");
      return Run(argv + i + 1, port.value_or(0));
    }
    constexpr std::string_view kPort = "--port";
    std::string_view value;
    if (word == kPort && i + 1 < argc) {
      value = argv[++i];
    } else if (word.substr(0, kPort.size() + 1) == "--port=") {
      value = word.substr(kPort.size() + 1);
    } else {
      return Complain(Cat("unknown argument ", word, ": put a command after --; see sgoodput otlp --help"));
    }
    int number = 0;
    if (!absl::SimpleAtoi(ToAbsl(value), &number) || number < 1 || number > kMostPort)
      return Complain(Cat("--port ", value, ": not a port from 1 to 65535"));
    port = number;
  }
  return ServeUntilTold(port.value_or(kDefaultPort));
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  return goodput::Main(argc, argv);
}
