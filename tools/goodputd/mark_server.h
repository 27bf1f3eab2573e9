// Serves the mark socket, on which jobs report their own progress. The kernel identifies the sender
// (SO_PEERCRED). A mark from a user who does not own the job is refused and counted.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "spank/clock.h"
#include "spank/spool.h"
#include "tools/base/mark_message.h"
#include "tools/goodputd/counts_file.h"
#include "tools/goodputd/hang/job_progress.h"
#include "tools/goodputd/node_jobs.h"
#include "tools/goodputd/node_spools.h"
#include "tools/goodputd/processes.h"

namespace goodput {

struct MarkCounts {
  std::uint64_t accepted = 0;
  std::uint64_t malformed = 0;
  std::uint64_t unknown_job = 0;
  std::uint64_t not_owner = 0;
  std::uint64_t not_stored = 0;  // the spool refused it
  std::uint64_t too_many = 0;    // connections refused
};

class MarkServer {
 public:
  struct Options {
    std::string socket;       // "@name" or a path
    std::string socket_path;  // a second one; empty: none
    std::string spool_root;
    Clock clock = kSystemClock;
    const Processes* processes = &RealProcesses();
    JobProgress* progress = nullptr;  // told of every mark; null: nobody wants to know
    int kernel_log_fd = -1;           // of the descriptors that were passed, the one that is not for marks
  };
  // `jobs` and `spools` must outlive it.
  MarkServer(Options options, NodeJobs& jobs, NodeSpools& spools);
  ~MarkServer();
  MarkServer(const MarkServer&) = delete;
  MarkServer& operator=(const MarkServer&) = delete;

  // Takes over sockets and connections from systemd, or binds the names. An error if another process holds
  // one.
  absl::Status Listen();
  // Serves until `stop_fd` becomes readable.
  void Serve(int stop_fd);
  const MarkCounts& counts() const { return counts_; }
  // Call before stopping it: leaves unread what clients have sent, for the next process.
  void LeaveUnread() { leave_unread_ = true; }
  // Call after Serve: its sockets and connections for the next process; the caller owns them.
  std::vector<int> Release();

 private:
  struct Client {
    uid_t uid = 0;
    pid_t pid = 0;
    std::int64_t since_mono_ns = 0;
    bool stored = false;  // kept by the service manager for the next process
    std::uint64_t marks = 0;
    std::int64_t job = 0;          // of its first mark; 0: none of a job of its user yet
    std::int64_t job_seen_ns = 0;  // when that job was last known to run
  };
  bool IsListener(int fd) const;
  void Accept();
  void Admit(int fd, bool stored);
  // False: its user has taken its share.
  bool MakeRoomFor(uid_t uid);
  void DropNewest(const std::function<bool(const Client&)>& matches);
  // False: the job has taken its share.
  bool BelongsTo(std::int64_t job, Client& client);
  // Connections that no job of their user needs.
  void DropUseless();
  void StoreConnections();
  void StoreAllConnections();
  enum class Received : std::uint8_t { kNothing, kAll, kTurn, kGone };
  // Reads from a client, at most one turn's worth, so that others are served too.
  Received Receive(int fd, Client& client);
  // Reads what was sent before the daemon was told to stop.
  void Drain();
  // How long ago a client's process began; empty if it is gone.
  std::optional<std::int64_t> AgeOf(const Client& client) const;
  // False: the connection is to be dropped.
  bool Take(std::string_view message, Client& client);
  void Drop(int fd);

  Options options_;
  NodeJobs& jobs_;
  std::vector<int> listen_fds_;
  bool stores_ = std::getenv("NOTIFY_SOCKET") != nullptr;
  std::atomic<bool> leave_unread_{false};
  int epoll_fd_ = -1;
  std::size_t max_clients_;
  std::map<int, Client> clients_;
  std::map<uid_t, std::size_t> clients_of_;
  std::map<std::int64_t, std::size_t> clients_of_job_;
  std::size_t new_clients_ = 0;  // with no job
  NodeSpools& spools_;
  MarkCounts counts_;
  CountsFile counts_file_;
};

}  // namespace goodput
