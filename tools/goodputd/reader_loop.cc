#include "tools/goodputd/reader_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "spank/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/helper_process.h"
#include "tools/base/installed_program.h"
#include "tools/base/subprocess.h"
#include "tools/goodputd/log.h"
#include "tools/goodputd/reader_sockets.h"
#include "tools/reader/control.h"
#include "tools/reader/reader_process.h"
#include "tools/reader/rights.h"

extern char** environ;

namespace goodput {
namespace {

constexpr int kTickMs = 1000;
constexpr std::int64_t kListenAgainNs = 5'000'000'000;
constexpr std::int64_t kShortestPauseNs = 500'000'000;
constexpr std::int64_t kLongestPauseNs = 30'000'000'000;
constexpr std::int64_t kLongLifeNs = 60'000'000'000;
// Slurm's commands are run for one user at a time.
constexpr absl::Duration kCommandTimeout = absl::Seconds(8);
constexpr std::size_t kCommandOutput = std::size_t{4} << 20U;
// Older numbers do not describe the cluster's current state. A slow controller is queried every few minutes.
constexpr std::int64_t kStaleLookNs = 600'000'000'000;
constexpr std::int64_t kStaleIngestNs = 120'000'000'000;

// The user who answers: the one in goodput.conf, or the owner of the database folder.
absl::StatusOr<HelperUser> ReaderUser(const Config& config) {
  HelperUser user;
  const std::string folder = std::filesystem::path(config.database).parent_path();
  if (config.reader_user.empty()) {
    struct stat about {};
    if (stat(folder.c_str(), &about) != 0)
      return absl::NotFoundError(Cat("the database folder ", folder, " does not exist yet"));
    user = {about.st_uid, about.st_gid};
  } else {
    const absl::StatusOr<HelperUser> found = FindHelperUser(config.reader_user);
    if (!found.ok()) return Annotate(found.status(), "reader_user");
    user = *found;
  }
  if (user.uid == 0) {
    return absl::FailedPreconditionError(
        Cat("queries are not answered as root: chown ", folder, " to another user, or set reader_user"));
  }
  if (geteuid() != 0 && user.uid != geteuid())
    return absl::FailedPreconditionError("only root can answer queries as another user");
  return user;
}

// SQLite's readers take locks, so the database files must belong to the reader's user. Uses descriptors, and
// only regular files of root with one link, since the folder may belong to that user.
void GiveFiles(const std::string& database, const HelperUser& user) {
  if (geteuid() != 0) return;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const int fd = open(Cat(database, suffix).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat about {};
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1 && about.st_uid == 0 &&
        fchownat(fd, "", user.uid, static_cast<gid_t>(-1), AT_EMPTY_PATH) != 0) {
      Log(Cat("cannot give ", database, suffix, " to the reader's user: ", std::strerror(errno)));
    }
    close(fd);
  }
}

std::string AgeText(std::int64_t at_ns, std::int64_t now_ns) {
  return at_ns == 0 ? "null" : absl::StrFormat("%.1f", static_cast<double>(now_ns - at_ns) / 1e9);
}

class ReaderLoop {
 public:
  ReaderLoop(const Config& config, const std::string& config_path, const Liveness& alive)
      : config_(config),
        config_path_(config_path),
        alive_(alive),
        rights_([](const std::vector<std::string>& command,
                   const std::vector<std::pair<std::string, std::string>>& environment) {
          CommandOptions options;
          options.timeout = kCommandTimeout;
          options.max_output = kCommandOutput;
          options.env = environment;
          return RunCommand(command, options);
        }) {}

  ~ReaderLoop() {
    Stop();
    if (tcp_ >= 0) close(tcp_);
    if (unix_ >= 0) {
      close(unix_);
      unlink(config_.query_socket.c_str());
    }
  }
  ReaderLoop(const ReaderLoop&) = delete;
  ReaderLoop& operator=(const ReaderLoop&) = delete;

  void Tick() {
    Reap();
    const absl::StatusOr<HelperUser> user = ReaderUser(config_);
    user_trouble_.Say(user.ok() ? "" : Cat("reader: ", Message(user.status())));
    if (!user.ok()) return Stop();
    if (access(config_.database.c_str(), F_OK) != 0) return;
    GiveFiles(config_.database, *user);
    CheckUnixSocket();
    const bool more = Listen();
    if (more) Stop();  // restart it with all of them
    if (tcp_ < 0 && unix_ < 0) return;
    if (pid_ == 0 && kSystemClock.mono_ns() >= not_before_ns_) Start(*user);
  }

  int control() const { return control_; }
  void AnswerIt() {
    const auto answers = [this](std::string_view word, const std::string& argument) {
      return Answer(word, argument);
    };
    if (control_ >= 0 && !AnswerControl(control_, answers)) {
      close(control_);
      control_ = -1;
    }
  }

 private:
  // Somebody may have removed the socket, or put another one in its place.
  void CheckUnixSocket() {
    struct stat there {};
    if (unix_ < 0 || (lstat(config_.query_socket.c_str(), &there) == 0 && there.st_ino == unix_inode_))
      return;
    Log(Cat("reader: ", config_.query_socket, " was removed; making it again"));
    close(std::exchange(unix_, -1));
    listen_again_ns_ = 0;
  }

  // True: a new socket was opened.
  bool Listen() {
    const std::int64_t now = kSystemClock.mono_ns();
    if (now < listen_again_ns_) return false;
    listen_again_ns_ = now + kListenAgainNs;
    bool more = false;
    const auto open_one = [&](int& fd, const std::string& where, Complaint& trouble, auto listen_at) {
      if (fd >= 0 || where.empty()) return;
      const absl::StatusOr<int> opened = listen_at(where);
      trouble.Say(opened.ok() ? "" : Cat("reader: ", Message(opened.status())));
      if (!opened.ok()) return;
      fd = *opened;
      more = true;
    };
    open_one(tcp_, config_.listen, tcp_trouble_, ListenTcp);
    const bool had_unix = unix_ >= 0;
    open_one(unix_, config_.query_socket, unix_trouble_, ListenUnix);
    struct stat there {};
    if (!had_unix && unix_ >= 0 && lstat(config_.query_socket.c_str(), &there) == 0)
      unix_inode_ = there.st_ino;
    return more;
  }

  void Start(const HelperUser& user) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    const std::string program = InstalledCommand("sgoodput", "sgoodput");
    const std::string reader = InstalledProgram("reader", "goodput-reader");
    const int sgoodput = open(program.c_str(), O_RDONLY | O_CLOEXEC);
    // Above the target numbers, so that none is overwritten before it is moved.
    constexpr int kAbove = 32;
    const std::array<std::pair<int, int>, 4> places{
        {{ends[1], kReaderControl}, {sgoodput, kReaderProgram}, {tcp_, kReaderTcp}, {unix_, kReaderUnix}}};
    std::vector<int> copies;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    for (const auto& [fd, place] : places) {
      const int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kAbove);
      copies.push_back(copy);
      if (copy >= 0) {
        posix_spawn_file_actions_adddup2(&actions, copy, place);
      } else {
        posix_spawn_file_actions_addclose(&actions, place);
      }
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, kReaderUnix + 1);
    std::vector<std::string> words = {"goodput-reader", Cat(user.uid), Cat(user.gid),
                                      config_.database, config_path_,  config_.listen_names};
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int failed = sgoodput < 0
                           ? errno
                           : posix_spawn(&pid_, reader.c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    for (const int copy : copies) {
      if (copy >= 0) close(copy);
    }
    if (sgoodput >= 0) close(sgoodput);
    close(ends[1]);
    began_ns_ = kSystemClock.mono_ns();
    if (failed != 0) {
      pid_ = 0;
      close(ends[0]);
      start_trouble_.Say(
          Cat("reader: cannot start ", sgoodput < 0 ? program : reader, ": ", std::strerror(failed)));
      return Pause();
    }
    start_trouble_.Say("");
    control_ = ends[0];
  }

  void Pause() {
    const bool lived = kSystemClock.mono_ns() - began_ns_ > kLongLifeNs;
    pause_ns_ =
        lived ? kShortestPauseNs : std::min(kLongestPauseNs, std::max(kShortestPauseNs, 2 * pause_ns_));
    not_before_ns_ = kSystemClock.mono_ns() + pause_ns_;
  }

  void Reap() {
    int status = 0;
    if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) != pid_) return;
    Log(WIFSIGNALED(status) ? Cat("reader: killed by signal ", WTERMSIG(status), "; restarting it")
                            : Cat("reader: exited with code ", WEXITSTATUS(status), "; restarting it"));
    pid_ = 0;
    Stop();
    Pause();
  }

  // An idle reader has nothing to lose.
  void Stop() {
    if (control_ >= 0) close(control_);
    control_ = -1;
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

  absl::StatusOr<std::string> Answer(std::string_view word, const std::string& argument) {
    if (word == "health") return Health();
    if (word == "metrics") return Metrics();
    if (word == "munge") return rights_.MungeSocket();
    if (word == "token") {
      ASSIGN_OR_RETURN(const uid_t uid, rights_.OfToken(argument));
      return Cat(uid);
    }
    if (word != "viewer") return absl::InvalidArgumentError("what?");
    std::optional<uid_t> uid;
    if (!argument.empty()) {
      uid = 0;
      if (!absl::SimpleAtoi(argument, &*uid)) return absl::PermissionDeniedError("nobody");
    }
    ASSIGN_OR_RETURN(const Viewer viewer, rights_.Of(uid));
    return ViewerText(viewer);
  }

  std::string Metrics() const {
    const std::int64_t now = kSystemClock.mono_ns();
    std::string text;
    const auto age = [&](const char* name, const char* help, std::int64_t at_ns) {
      text += Cat("# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n");
      if (at_ns != 0) text += Cat(name, " ", AgeText(at_ns, now), "\n");
    };
    age("slurm_goodput_look_age_seconds", "Seconds since goodputd last read the queue.", alive_.looked_ns);
    age("slurm_goodput_ingest_age_seconds", "Seconds since goodputd last ingested the nodes' records.",
        alive_.ingested_ns);
    return text;
  }

  absl::StatusOr<std::string> Health() const {
    const std::int64_t now = kSystemClock.mono_ns();
    const std::int64_t looked = alive_.looked_ns;
    const std::int64_t ingested = alive_.ingested_ns;
    const bool stale =
        looked == 0 || now - looked > kStaleLookNs || ingested == 0 || now - ingested > kStaleIngestNs;
    const char* const status = alive_.standby ? "standby" : stale ? "stale" : "ok";
    const std::string text =
        Cat("{\"status\":\"", status, "\",\"seconds_since_look_at_queue\":", AgeText(looked, now),
            ",\"seconds_since_ingest\":", AgeText(ingested, now), "}");
    if (stale || alive_.standby) return absl::UnavailableError(text);
    return text;
  }

  const Config& config_;
  const std::string config_path_;
  const Liveness& alive_;
  Rights rights_;
  Complaint user_trouble_;
  Complaint tcp_trouble_;
  Complaint unix_trouble_;
  Complaint start_trouble_;
  int tcp_ = -1;
  int unix_ = -1;
  ino_t unix_inode_ = 0;
  int control_ = -1;
  pid_t pid_ = 0;
  std::int64_t listen_again_ns_ = 0;
  std::int64_t began_ns_ = 0;
  std::int64_t pause_ns_ = 0;
  std::int64_t not_before_ns_ = 0;
};

}  // namespace

void RunReaderLoop(const Config& config, const std::string& config_path, int stop_fd, const Liveness& alive) {
  ReaderLoop loop(config, config_path, alive);
  while (true) {
    loop.Tick();
    std::array<pollfd, 2> polls{{{stop_fd, POLLIN, 0}, {loop.control(), POLLIN, 0}}};
    poll(polls.data(), polls.size(), kTickMs);
    if (polls[0].revents != 0) return;
    if (polls[1].revents != 0) loop.AnswerIt();
  }
}

}  // namespace goodput
