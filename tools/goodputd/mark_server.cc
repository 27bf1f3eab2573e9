#include "tools/goodputd/mark_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/service_manager.h"
#include "tools/base/unix_socket.h"
#include "tools/goodputd/job_record.h"

namespace goodput {
namespace {

// A node has at most a few hundred tasks. Three quarters of the descriptors are for other files: each CPU
// needs three to trace signals.
constexpr std::size_t kMaxClients = 4096;
constexpr rlim_t kShareOfDescriptors = 4;
// Of all places: what one user, one job, and all connections that have not yet sent a mark of a job may take.
constexpr std::size_t kUserShare = 4;
constexpr std::size_t kJobShare = 8;
constexpr std::size_t kNewShare = 4;
// How long a connection may take to send a mark of a job of its user.
constexpr std::int64_t kNewNs = 10LL * 1'000'000'000;
// How long a connection may outlive its job.
constexpr std::int64_t kAfterJobNs = 60LL * 1'000'000'000;
constexpr int kMaxAccepts = 256;
// Messages read from one client before the next has its turn.
constexpr int kTurn = 64;
// A mark may wait in the socket's buffer while the daemon restarts; an older time is not believed.
constexpr std::int64_t kMaxAgeNs = 3600LL * 1'000'000'000;
constexpr std::int64_t kStaysNs = 1'000'000'000;
constexpr std::int64_t kCountsIntervalNs = 1'000'000'000;
// A client that never stops sending must not prevent the daemon from stopping.
constexpr std::int64_t kDrainNs = 1'000'000'000;
// A daemon that was killed a moment ago may still have the socket in a helper that has not begun.
constexpr int kBindTries = 40;
constexpr useconds_t kBindPauseUs = 50'000;
constexpr const char* kCountsFile = "/marks";

bool IsSeqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

absl::StatusOr<int> Bind(const std::string& name) {
  const UnixAddress address = UnixAddressOf(name);
  if (address.length == 0) return absl::InvalidArgumentError(Cat("socket ", name, ": the name is too long"));
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::InternalError(Cat("socket: ", std::strerror(errno)));
  const bool path = name.front() == '/';
  if (path) {
    // A socket without a listener was left by a daemon that was killed.
    const int probe = ConnectUnixSocket(name);
    const bool alive = probe >= 0;
    if (alive) close(probe);
    struct stat info {};
    if (!alive && lstat(name.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(name.c_str());
  }
  absl::Status status = absl::OkStatus();
  if (bind(fd, address.get(), address.length) != 0) {
    const int error = errno;
    const std::string problem = Cat("cannot bind the mark socket ", name, ": ", std::strerror(error));
    status = error == EADDRINUSE
                 ? absl::AlreadyExistsError(
                       Cat(problem, "; is another goodputd running? set `socket` in goodput.conf"))
                 : absl::InternalError(Cat(problem, "; set `socket` or `socket_path` in goodput.conf"));
  } else if (path && chmod(name.c_str(), 0666) != 0) {
    status = absl::InternalError(Cat(name, ": ", std::strerror(errno)));
  } else if (listen(fd, SOMAXCONN) != 0) {
    status = absl::InternalError(Cat("listen: ", std::strerror(errno)));
  }
  if (status.ok()) return fd;
  close(fd);
  return status;
}

absl::StatusOr<int> BindWhenFree(const std::string& name) {
  absl::StatusOr<int> fd = Bind(name);
  for (int tries = 1; tries < kBindTries && absl::IsAlreadyExists(fd.status()); ++tries) {
    usleep(kBindPauseUs);
    fd = Bind(name);
  }
  return fd;
}

CountsFile::Names NamedCounts(MarkCounts& counts) {
  return {{"accepted", &counts.accepted},       {"malformed", &counts.malformed},
          {"unknown_job", &counts.unknown_job}, {"not_owner", &counts.not_owner},
          {"not_stored", &counts.not_stored},   {"too_many", &counts.too_many}};
}

}  // namespace

MarkServer::MarkServer(Options options, NodeJobs& jobs, NodeSpools& spools)
    : options_(std::move(options)),
      jobs_(jobs),
      spools_(spools),
      counts_file_(options_.spool_root + kCountsFile) {
  rlimit files{};
  std::size_t places = kMaxClients;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    places = static_cast<std::size_t>(std::min<rlim_t>(places, files.rlim_cur / kShareOfDescriptors));
  }
  max_clients_ = std::max<std::size_t>(places, kJobShare);
  counts_file_.Read(NamedCounts(counts_));
}

MarkServer::~MarkServer() {
  for (const auto& [fd, client] : clients_) close(fd);
  for (const int fd : listen_fds_) close(fd);
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

std::vector<int> MarkServer::Release() {
  std::vector<int> fds = std::exchange(listen_fds_, {});
  for (const auto& [fd, client] : clients_) fds.push_back(fd);
  clients_.clear();
  return fds;
}

absl::Status MarkServer::Listen() {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0) return absl::InternalError(Cat("epoll: ", std::strerror(errno)));
  std::vector<int> kept;
  for (const int fd : PassedDescriptors()) {
    if (fd == options_.kernel_log_fd) continue;
    if (!IsSeqpacket(fd)) {
      close(fd);
    } else if (IsListening(fd)) {
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      listen_fds_.push_back(fd);
    } else {
      kept.push_back(fd);
    }
  }
  if (listen_fds_.empty()) {
    for (const std::string& name : {options_.socket, options_.socket_path}) {
      if (name.empty()) continue;
      ASSIGN_OR_RETURN(const int fd, BindWhenFree(name));
      listen_fds_.push_back(fd);
    }
  }
  for (const int fd : listen_fds_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0)
      return absl::InternalError(Cat("epoll: ", std::strerror(errno)));
  }
  // Connections of the previous process, with what was sent since.
  for (const int fd : kept) Admit(fd, true);
  return absl::OkStatus();
}

bool MarkServer::IsListener(int fd) const {
  return std::find(listen_fds_.begin(), listen_fds_.end(), fd) != listen_fds_.end();
}

void MarkServer::Accept() {
  for (const int listener : listen_fds_) {
    for (int i = 0; i < kMaxAccepts; ++i) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) break;
      Admit(fd, false);
    }
  }
}

void MarkServer::Admit(int fd, bool stored) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    close(fd);
    return;
  }
  if (!MakeRoomFor(peer.uid)) {
    ++counts_.too_many;
    close(fd);
    return;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    close(fd);
    return;
  }
  clients_[fd] = {peer.uid, peer.pid, options_.clock.mono_ns(), stored};
  ++clients_of_[peer.uid];
  ++new_clients_;
}

bool MarkServer::MakeRoomFor(uid_t uid) {
  if (new_clients_ >= max_clients_ / kNewShare)
    DropNewest([](const Client& client) { return client.job == 0; });
  if (clients_of_[uid] >= max_clients_ / kUserShare) return false;
  if (clients_.size() < max_clients_) return true;
  const auto most = std::max_element(clients_of_.begin(), clients_of_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second <= clients_of_[uid]) return false;
  DropNewest([user = most->first](const Client& client) { return client.uid == user; });
  return true;
}

// Of the user with the most connections that match.
void MarkServer::DropNewest(const std::function<bool(const Client&)>& matches) {
  std::map<uid_t, std::size_t> matching;
  for (const auto& [fd, client] : clients_) matching[client.uid] += matches(client) ? 1 : 0;
  const Client* newest = nullptr;
  int newest_fd = -1;
  const auto rank = [&](const Client& client) {
    return std::make_pair(matching[client.uid], client.since_mono_ns);
  };
  for (const auto& [fd, client] : clients_) {
    if (!matches(client) || (newest != nullptr && rank(client) < rank(*newest))) continue;
    newest = &client;
    newest_fd = fd;
  }
  if (newest == nullptr) return;
  ++counts_.too_many;
  Drop(newest_fd);
}

bool MarkServer::BelongsTo(std::int64_t job, Client& client) {
  if (client.job == job) return true;
  if (client.job == 0 && clients_of_job_[job] >= max_clients_ / kJobShare) {
    ++counts_.too_many;
    return false;
  }
  if (client.job == 0) {
    --new_clients_;
    client.job = job;
    ++clients_of_job_[job];
  }
  return true;
}

void MarkServer::DropUseless() {
  const std::int64_t now = options_.clock.mono_ns();
  std::vector<int> useless;
  std::map<std::int64_t, bool> live;
  for (auto& [fd, client] : clients_) {
    if (client.job == 0) {
      if (now - client.since_mono_ns > kNewNs) useless.push_back(fd);
      continue;
    }
    const auto [job, unknown] = live.try_emplace(client.job, false);
    if (unknown) job->second = jobs_.IsOnNode(client.job);
    if (job->second) client.job_seen_ns = now;
    if (now - client.job_seen_ns > kAfterJobNs) useless.push_back(fd);
  }
  for (const int fd : useless) Drop(fd);
}

// A lasting connection is worth a place with the service manager; one with a single mark is not.
void MarkServer::StoreConnections() {
  if (!stores_) return;
  const std::int64_t now = options_.clock.mono_ns();
  for (auto& [fd, client] : clients_) {
    if (!client.stored && client.job != 0 && now - client.since_mono_ns >= kStaysNs)
      client.stored = StoreDescriptor(fd, absl::ZeroDuration());
  }
}

// The next process gets these too, however new they are, so that jobs do not notice the restart.
void MarkServer::StoreAllConnections() {
  if (!stores_) return;
  const std::int64_t until = options_.clock.mono_ns() + kDrainNs;
  for (auto& [fd, client] : clients_) {
    const std::int64_t left = until - options_.clock.mono_ns();
    if (!client.stored && left > 0) client.stored = StoreDescriptor(fd, absl::Nanoseconds(left));
  }
}

void MarkServer::Drop(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  const Client& client = found->second;
  if (--clients_of_[client.uid] == 0) clients_of_.erase(client.uid);
  if (client.job == 0) --new_clients_;
  if (client.job != 0 && --clients_of_job_[client.job] == 0) clients_of_job_.erase(client.job);
  clients_.erase(found);
  close(fd);
}

MarkServer::Received MarkServer::Receive(int fd, Client& client) {
  std::array<char, kMaxMarkBytes + 1> buffer{};
  for (int i = 0; i < kTurn; ++i) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return i == 0 ? Received::kNothing : Received::kAll;
    if (got <= 0) return Received::kGone;
    if (!Take({buffer.data(), static_cast<std::size_t>(got)}, client)) return Received::kGone;
  }
  return Received::kTurn;
}

std::optional<std::int64_t> MarkServer::AgeOf(const Client& client) const {
  const std::optional<std::int64_t> began = options_.processes->BeganNs(client.pid);
  if (!began) return std::nullopt;
  return std::max<std::int64_t>(0, ReadClockNs(CLOCK_BOOTTIME) - *began);
}

bool MarkServer::Take(std::string_view message, Client& client) {
  const absl::StatusOr<MarkMessage> mark = ParseMark(message);
  if (!mark.ok()) {
    ++counts_.malformed;
    return true;
  }
  const std::shared_ptr<const JobOwners::Job> job = jobs_.OwnerOf(mark->job, client.uid);
  if (job == nullptr) {
    ++counts_.unknown_job;
    return true;
  }
  if (job->uid != client.uid) {
    ++counts_.not_owner;
    return true;
  }
  if (!BelongsTo(mark->job, client)) return false;
  client.job_seen_ns = options_.clock.mono_ns();
  NodeJob identity;
  identity.cluster = job->cluster;
  identity.job = mark->job;
  identity.uid = job->uid;
  const std::string& node = job->nodes.count(mark->node) != 0 ? mark->node : job->first_node;
  const Moment now = ReadMoment(options_.clock);
  std::int64_t age = now.mono_ns - mark->mono_ns.value_or(now.mono_ns);
  if (age < 0 || age > kMaxAgeNs) age = 0;
  const Stamp stamp{now.real_ns - age, now.mono_ns - age, node, static_cast<int>(getpid())};
  identity.node = node;
  const auto add_sender = [&](RecordBuilder& record) {
    if (mark->task) record.Int(key::kTask, *mark->task);
    record.Int(key::kPid, client.pid);
  };
  // `sgoodput mark` starts for its single mark, which says nothing about the program.
  if (const auto process_age = ++client.marks == 2 ? AgeOf(client) : std::nullopt) {
    const Stamp began{now.real_ns - *process_age, now.mono_ns - *process_age, node,
                      static_cast<int>(getpid())};
    JobMarkRecord start(kind::kProgramStart, identity, mark->slurm_step, began);
    add_sender(start);
    spools_.Write(identity, start.Finish());
  }
  JobMarkRecord record(kind::kMark, identity, mark->slurm_step, stamp);
  add_sender(record);
  record.Text(key::kMark, MarkKindName(mark->kind));
  record.Text(key::kEdge, mark->begin ? "begin" : "end");
  if (mark->train_step) record.Int(key::kTrainStep, *mark->train_step);
  if (!mark->name.empty()) record.Text(key::kName, mark->name);
  if (mark->kind == MarkMessage::Kind::kWorld) record.Int(key::kWorld, mark->world);
  if (mark->wanted) record.Int(key::kWanted, *mark->wanted);
  if (mark->spares) record.Int(key::kSpares, *mark->spares);
  if (mark->tokens) record.Int(key::kTokens, *mark->tokens);
  if (options_.progress != nullptr)
    options_.progress->Note({node, mark->job}, mark->kind == MarkMessage::Kind::kStep, stamp.mono_ns);
  ++(spools_.Write(identity, record.Finish()) ? counts_.accepted : counts_.not_stored);
  return true;
}

void MarkServer::Serve(int stop_fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = stop_fd;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, stop_fd, &event);
  std::array<epoll_event, 64> events{};
  bool stopping = false;
  std::int64_t next_counts = 0;
  while (!stopping) {
    const int ready = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), 1000);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_fd) {
        stopping = true;
      } else if (IsListener(fd)) {
        Accept();
      } else if (const auto client = clients_.find(fd); client != clients_.end()) {
        if (Receive(fd, client->second) == Received::kGone) Drop(fd);
      }
    }
    const std::int64_t now = options_.clock.mono_ns();
    if (now >= next_counts) {
      DropUseless();
      StoreConnections();
      counts_file_.Write(NamedCounts(counts_));
      next_counts = now + kCountsIntervalNs;
    }
  }
  if (!leave_unread_) Drain();
  counts_file_.Write(NamedCounts(counts_));
}

void MarkServer::Drain() {
  Accept();
  StoreAllConnections();
  const std::int64_t until = options_.clock.mono_ns() + kDrainNs;
  while (!clients_.empty() && options_.clock.mono_ns() < until) {
    // Round-robin: each client gets a turn; one with nothing more to send is closed.
    std::vector<int> fds;
    for (const auto& [fd, client] : clients_) fds.push_back(fd);
    for (const int fd : fds) {
      if (Receive(fd, clients_[fd]) != Received::kTurn) Drop(fd);
    }
  }
}

}  // namespace goodput
