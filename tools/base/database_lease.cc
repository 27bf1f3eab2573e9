#include "tools/base/database_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLongestSign = 512;
constexpr std::size_t kWordsOfSign = 6;

std::string LockFile(const std::string& database) {
  return database + ".lock";
}

std::string ReadAll(int fd) {
  std::array<char, kLongestSign> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string HostName() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string ThisBoot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

// Whether a free lock proves that the holder has ended: a process of this machine, or of an earlier boot of
// it. Without a boot id it may be on any machine.
bool OfThisMachine(const LeaseSign& sign, const DatabaseLease::Self& self) {
  return sign.host == self.host && !sign.boot.empty() && !self.boot.empty();
}

}  // namespace

std::string LeaseSign::Text() const {
  return Cat(holder, "\nlease ", host, " ", boot.empty() ? "-" : boot, " ", nonce, " ", count, " ", lease_ms,
             "\n");
}

std::optional<LeaseSign> ParseLeaseSign(std::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(ToAbsl(text), '\n');
  if (lines.size() < 2 || lines[0].empty()) return std::nullopt;
  LeaseSign sign;
  sign.holder = lines[0];
  const std::vector<std::string> words = absl::StrSplit(lines[1], ' ');
  if (words.size() != kWordsOfSign || words[0] != "lease") return sign;
  LeaseSign full = sign;
  full.host = words[1];
  full.boot = words[2] == "-" ? "" : words[2];
  full.nonce = words[3];
  if (!absl::SimpleAtoi(words[4], &full.count) || !absl::SimpleAtoi(words[5], &full.lease_ms)) return sign;
  return full;
}

DatabaseLease::Self DatabaseLease::ThisProcess() {
  std::random_device random;
  const std::string nonce = absl::StrFormat("%08x%08x", random(), random());
  return {HostName(), ThisBoot(), getpid(), nonce};
}

DatabaseLease::DatabaseLease(const std::string& database, absl::Duration lease, Self self)
    : database_(database),
      path_(LockFile(database)),
      lease_(lease),
      self_(std::move(self)),
      writer_(Cat("goodputd ", self_.pid, " on ", self_.host, " ", self_.nonce)) {
  mine_.holder = Cat("goodputd ", self_.pid, " on ", self_.host);
  mine_.host = self_.host;
  mine_.boot = self_.boot;
  mine_.nonce = self_.nonce;
  mine_.lease_ms = absl::ToInt64Milliseconds(lease);
}

DatabaseLease::~DatabaseLease() {
  if (held_) {
    const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const std::optional<LeaseSign> sign = fd < 0 ? std::nullopt : ParseLeaseSign(ReadAll(fd));
    if (sign && sign->nonce == self_.nonce && ftruncate(fd, 0) != 0) errno = 0;
    if (fd >= 0) close(fd);
  }
  if (lock_fd_ >= 0) close(lock_fd_);
}

bool DatabaseLease::Locked() {
  if (lock_fd_ >= 0) return true;
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    lock_fd_ = fd;
    return true;
  }
  close(fd);
  return false;
}

absl::Status DatabaseLease::Standby(const LeaseSign& of) const {
  std::string until = "standing by until it ends";
  if (of.lease_ms > 0)
    until += Cat(" or gives no heartbeat for ", absl::FormatDuration(absl::Milliseconds(of.lease_ms)));
  return absl::UnavailableError(Cat(of.holder, " writes to the database ", database_, "; ", until));
}

absl::Status DatabaseLease::Write(int fd) {
  ++mine_.count;
  const std::string text = mine_.Text();
  if (pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd, static_cast<off_t>(text.size())) != 0 || fdatasync(fd) != 0) {
    return absl::InternalError(Cat("cannot write ", path_, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

// Not the holder: may this process become it?
absl::Status DatabaseLease::Contend(int fd, std::int64_t now_ns) {
  const std::string text = ReadAll(fd);
  const std::optional<LeaseSign> sign = ParseLeaseSign(text);
  const bool locked = Locked();
  if (sign && sign->nonce == self_.nonce && confirming_) {
    confirming_ = false;
    held_ = true;
    return Write(fd);
  }
  confirming_ = false;
  const bool free = !sign || (locked && (OfThisMachine(*sign, self_) || sign->lease_ms == 0));
  if (!free) {
    // A file counts as unchanged only if it was watched all the time.
    const absl::Duration gap = absl::Nanoseconds(now_ns - looked_ns_);
    if (text != seen_ || gap > lease_ / 2) {
      seen_ = text;
      seen_since_ns_ = now_ns;
    }
    looked_ns_ = now_ns;
    const absl::Duration still = absl::Nanoseconds(now_ns - seen_since_ns_);
    if (sign->lease_ms == 0 || still < absl::Milliseconds(sign->lease_ms)) return Standby(*sign);
  }
  taken_from_ = sign ? sign->holder : "";
  RETURN_IF_ERROR(Write(fd));
  if (locked) {
    held_ = true;
    return absl::OkStatus();
  }
  // Another process may have done the same: the last to write wins.
  confirming_ = true;
  return absl::UnavailableError(Cat("taking over the database ", database_, " from ", taken_from_));
}

absl::Status DatabaseLease::Look(std::int64_t now_ns) {
  // Opened each time, so that NFS asks its server for the current contents. The folder may belong to an
  // untrusted user, so no link is followed.
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0) {
    const std::string why = Cat("cannot open ", path_, ": ", std::strerror(errno));
    // A standby daemon remains on standby.
    if (!seen_.empty() && !held_) return absl::UnavailableError(why);
    return absl::PermissionDeniedError(why);
  }
  absl::Status status;
  if (held_) {
    const std::optional<LeaseSign> sign = ParseLeaseSign(ReadAll(fd));
    if (!sign || sign->nonce == self_.nonce) {
      Locked();
      status = Write(fd);
    } else {
      held_ = false;
      if (lock_fd_ >= 0) close(lock_fd_);
      lock_fd_ = -1;
      seen_.clear();
      status = Standby(*sign);
    }
  } else {
    status = Contend(fd, now_ns);
  }
  close(fd);
  return status;
}

LeaseState LeaseOf(const std::string& database) {
  LeaseState state;
  const int fd = open(LockFile(database).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return state;
  const std::optional<LeaseSign> sign = ParseLeaseSign(ReadAll(fd));
  struct stat file {};
  const bool dated = fstat(fd, &file) == 0;
  const bool free = flock(fd, LOCK_SH | LOCK_NB) == 0;
  close(fd);
  if (!sign) {
    if (!free) state.holder = "another process";
    return state;
  }
  state.elsewhere = sign->lease_ms > 0 && sign->host != HostName();
  // A process of this machine that ended. For another machine, the lock may mean nothing.
  if (free && !state.elsewhere) return state;
  state.holder = sign->holder;
  state.lease = absl::Milliseconds(sign->lease_ms);
  if (dated) state.age = absl::Now() - absl::TimeFromTimespec(file.st_mtim);
  return state;
}

}  // namespace goodput
