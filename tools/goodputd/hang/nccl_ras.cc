#include "tools/goodputd/hang/nccl_ras.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/clock.h"
#include "sql/text.h"
#include "tools/goodputd/hang/ras_report.h"
#include "tools/goodputd/job_paths.h"

namespace goodput {
namespace {

constexpr std::int64_t kLongestNs = 15'000'000'000;
constexpr int kSliceMs = 500;
constexpr std::size_t kMostReport = std::size_t{64} << 10U;
constexpr std::size_t kMostDescriptors = 4096;
constexpr std::size_t kMostTable = std::size_t{4} << 20U;

std::string LinkOf(const std::string& path) {
  std::array<char, 128> text{};
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(length));
}

std::string ReadTable(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  for (std::string line; text.size() < kMostTable && std::getline(file, line);) text += line + "\n";
  return text;
}

std::string Variable(const std::string& environment, absl::string_view name) {
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, name) && absl::ConsumePrefix(&entry, "=")) return std::string(entry);
  }
  return {};
}

// "socket:[4711]"
void AddSockets(std::int64_t pid, std::set<std::uint64_t>& inodes) {
  const std::string folder = Cat("/proc/", pid, "/fd");
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  std::size_t seen = 0;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    if (++seen > kMostDescriptors) break;
    const std::string link = LinkOf(Cat(folder, "/", entry->d_name));
    absl::string_view name = link;
    std::uint64_t inode = 0;
    if (absl::ConsumePrefix(&name, "socket:[") && absl::ConsumeSuffix(&name, "]") &&
        absl::SimpleAtoi(name, &inode))
      inodes.insert(inode);
  }
}

class Connection {
 public:
  explicit Connection(const std::function<void()>& at)
      : at_(at), until_ns_(kSystemClock.mono_ns() + kLongestNs) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool Open(const ListeningSocket& to, std::uint16_t port) {
    sockaddr_storage address{};
    socklen_t size = 0;
    if (to.v6) {
      auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      std::memcpy(&v6->sin6_addr, to.address.data(), sizeof(v6->sin6_addr));
      if (IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) v6->sin6_addr = in6addr_loopback;
      size = sizeof(*v6);
    } else {
      auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      std::memcpy(&v4->sin_addr, to.address.data(), sizeof(v4->sin_addr));
      if (v4->sin_addr.s_addr == INADDR_ANY) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      size = sizeof(*v4);
    }
    fd_ = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return false;
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
    if (errno != EINPROGRESS || !Wait(POLLOUT)) return false;
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return false;
    errno = error;
    return error == 0;
  }
  bool Send(std::string_view line) {
    return Wait(POLLOUT) &&
           send(fd_, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  }
  // Up to a newline.
  bool ReadLine(std::string& line) {
    while (text_.find('\n') == std::string::npos) {
      if (text_.size() > kMostReport || !ReadMore()) return false;
    }
    const std::size_t end = text_.find('\n');
    line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return true;
  }
  // Until the other side closes; what there is if it takes too long or sends too much.
  std::string ReadAll() {
    while (text_.size() < kMostReport && ReadMore()) continue;
    return text_.substr(0, kMostReport);
  }

 private:
  bool Wait(short events) {  // NOLINT(google-runtime-int): as poll has it
    while (kSystemClock.mono_ns() < until_ns_) {
      at_();
      pollfd polled{fd_, events, 0};
      const int ready = poll(&polled, 1, kSliceMs);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    errno = ETIMEDOUT;
    return false;
  }
  bool ReadMore() {
    std::array<char, 4096> piece{};
    if (!Wait(POLLIN)) return false;
    const ssize_t got = recv(fd_, piece.data(), piece.size(), 0);
    if (got <= 0) return false;
    text_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }

  const std::function<void()>& at_;
  const std::int64_t until_ns_;
  int fd_ = -1;
  std::string text_;
};

RasAnswer Problem(std::string problem) {
  return {"", std::move(problem)};
}

RasAnswer Talk(const ListeningSocket& to, std::uint16_t port, const std::function<void()>& at) {
  Connection connection(at);
  if (!connection.Open(to, port)) return Problem(Cat("cannot connect to RAS: ", std::strerror(errno)));
  std::string line;
  const bool good = connection.Send("CLIENT PROTOCOL 2\n") && connection.ReadLine(line) &&
                    absl::StartsWithIgnoreCase(line, "SERVER PROTOCOL ") && connection.Send("TIMEOUT 5\n") &&
                    connection.ReadLine(line) && absl::EqualsIgnoreCase(line, "OK") &&
                    connection.Send("STATUS\n");
  if (!good) return Problem("RAS does not answer as expected");
  RasAnswer answer{connection.ReadAll(), ""};
  if (answer.report.empty()) answer.problem = "RAS does not answer";
  return answer;
}

}  // namespace

RasAnswer AskRas(const std::vector<std::int64_t>& processes, const std::function<void()>& at) {
  std::set<std::uint64_t> own;
  std::string environment;
  for (const std::int64_t pid : processes) {
    AddSockets(pid, own);
    if (environment.empty()) environment = ProcessEnvironment(pid);
    at();
  }
  if (environment.empty()) return Problem("the job's processes cannot be read");
  if (Variable(environment, "NCCL_RAS_ENABLE") == "0") return Problem("the job switched RAS off");
  const std::uint16_t port = RasPort(Variable(environment, "NCCL_RAS_ADDR"));
  if (LinkOf(Cat("/proc/", processes.front(), "/ns/net")) != LinkOf("/proc/self/ns/net"))
    return Problem("the job has a network of its own");
  std::vector<ListeningSocket> listening = ListeningSockets(ReadTable("/proc/self/net/tcp"), port);
  for (ListeningSocket& one : ListeningSockets(ReadTable("/proc/self/net/tcp6"), port))
    listening.push_back(std::move(one));
  if (listening.empty()) return Problem("RAS does not listen (NCCL before 2.24, or no communicator yet)");
  for (const ListeningSocket& one : listening) {
    if (own.count(one.inode) == 0)
      return Problem("not asked: a program that is not of this job's tasks listens at RAS's port");
  }
  return Talk(listening.front(), port, at);
}

}  // namespace goodput
