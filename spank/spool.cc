#include "spank/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "spank/fixed_text.h"

namespace goodput {
namespace {

constexpr std::size_t kDropsBytes = kDropKinds * sizeof(uint64_t);

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

std::string Complaint(const std::string& path, const std::string& what, const char* mend) {
  return "spool " + path + ": " + what + "; nothing is recorded here; " + mend;
}

// Opens (making it if need be) one folder of the spool. -1 with *complaint set.
int OpenFolder(int at, const char* name, const std::string& path, const Spool::Config& config,
               std::string* complaint) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int opened = openat(at, name, kFlags);
  if (opened < 0 && errno == ENOENT) {
    if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
      *complaint = Complaint(path, std::string("cannot be made: ") + strerror(errno),
                             "make it on a local disk, owned by root, mode 0700");
      return -1;
    }
    opened = openat(at, name, kFlags);
  }
  Fd fd(opened);
  if (fd.get() < 0) {
    const bool not_a_folder = errno == ELOOP || errno == ENOTDIR;
    *complaint = Complaint(path, not_a_folder ? "is a symbolic link or not a folder" : strerror(errno),
                           "it must be a folder on a local disk, owned by root, mode 0700");
    return -1;
  }
  struct stat st {};
  struct statfs fs {};
  if (fstat(fd.get(), &st) != 0 || fstatfs(fd.get(), &fs) != 0) {
    *complaint = Complaint(path, strerror(errno), "it must be a folder on a local disk");
    return -1;
  }
  if (st.st_uid != config.owner || (st.st_mode & 022U) != 0) {
    *complaint = Complaint(path, "others than uid " + std::to_string(config.owner) + " may write to it",
                           "chown it to root and chmod it to 0700");
    return -1;
  }
  const auto is_remote = config.is_remote != nullptr ? config.is_remote : IsRemoteFileSystem;
  if (is_remote(static_cast<int64_t>(fs.f_type))) {
    *complaint = Complaint(path, "is on a network or FUSE file system, which can hang a job",
                           "put spool= in plugstack.conf on a local disk");
    return -1;
  }
  return fd.release();
}

void ReadBootId(std::array<char, 64>* out) {
  const Fd fd(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t n = fd.get() < 0 ? -1 : read(fd.get(), out->data(), out->size() - 1);
  const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
  (*out)[length] = '\0';
  if (char* end = std::strchr(out->data(), '\n')) *end = '\0';
  if ((*out)[0] == '\0') CopyText("unknown-boot", out);
}

bool Exists(int at, const char* name) {
  return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

bool IsRemoteFileSystem(int64_t fs_type) noexcept {
  // From Linux's magic.h and the file systems' own sources; not every one is in this machine's headers.
  constexpr std::array<uint32_t, 20> kRemote = {
      0x6969,      // NFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2, SMB3
      0x517B,      // smbfs
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS, Spectrum Scale
      0x65735546,  // FUSE (gcsfuse, sshfs, s3fs, ...)
      0x01021997,  // 9p
      0x00C36400,  // Ceph
      0x19830326,  // BeeGFS
      0x20030528,  // PVFS2, OrangeFS
      0x5346414F,  // AFS of OpenAFS
      0x6B414653,  // AFS of the kernel
      0x01161970,  // GFS2
      0x7461636F,  // OCFS2
      0x73757245,  // Coda
      0x564C,      // NCP
      0xAAD7AAEA,  // PanFS
      0x61756673,  // aufs, which may lie over any of these
      0x786F4256,  // vboxsf
  };
  // f_type is a signed long: a magic number with its top bit set may arrive sign-extended.
  const auto magic = static_cast<uint32_t>(static_cast<uint64_t>(fs_type) & 0xFFFFFFFFU);
  return std::find(kRemote.begin(), kRemote.end(), magic) != kRemote.end();
}

bool IsNodeFolderName(std::string_view node) noexcept {
  if (node == "@controller") return true;
  if (node.empty() || node.size() > 255 || node.front() == '.' || node == kKillSwitchName) return false;
  return std::all_of(node.begin(), node.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::string Spool::Open(const Config& config) {
  Close();
  max_bytes_ = config.max_bytes;
  clock_ = config.clock;
  if (!IsNodeFolderName(config.node)) {
    return "node name '" + config.node.substr(0, 64) +
           "' cannot be a folder of the spool; nothing is recorded";
  }
  std::string complaint;
  Fd root(OpenFolder(AT_FDCWD, config.root.c_str(), config.root, config, &complaint));
  if (root.get() < 0) return complaint;
  if (Exists(root.get(), kKillSwitchName)) return "";
  Fd node(OpenFolder(root.get(), config.node.c_str(), config.root + "/" + config.node, config, &complaint));
  if (node.get() < 0) return complaint;
  if (config.boot_id.empty()) {
    ReadBootId(&boot_id_);
  } else {
    std::snprintf(boot_id_.data(), boot_id_.size(), "%s", config.boot_id.c_str());
  }
  root_fd_ = root.release();
  node_fd_ = node.release();
  return "";
}

void Spool::Close() noexcept {
  if (node_fd_ >= 0) close(node_fd_);
  if (root_fd_ >= 0) close(root_fd_);
  node_fd_ = root_fd_ = -1;
}

bool Spool::enabled() const noexcept {
  return is_open() && !Exists(root_fd_, kKillSwitchName) && !Exists(node_fd_, kKillSwitchName);
}

void Spool::MakeFileName(NameBuffer* name) const noexcept {
  // Civil date from days by Howard Hinnant's algorithm: gmtime_r takes the time zone lock and may read files.
  const int64_t seconds = clock_.real_ns() / 1'000'000'000;
  const int64_t day = seconds / 86400;
  const auto hour = static_cast<int>(seconds / 3600 % 24);
  const int64_t z = day + 719468;
  const int64_t era = z / 146097;
  const int64_t doe = z - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  const auto dd = static_cast<int>(doy - (153 * mp + 2) / 5 + 1);
  const auto mm = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  const auto yyyy = static_cast<int>(yoe + era * 400 + (mm <= 2 ? 1 : 0));
  std::snprintf(name->data(), name->size(), "%.40s.%04d%02d%02d%02dZ.jsonl", boot_id_.data(), yyyy % 10000,
                mm, dd, hour);
}

std::string Spool::FileName() const {
  NameBuffer name;
  MakeFileName(&name);
  return name.data();
}

// Sums the folder. Only done when an hour's file is new, or again while the spool is full.
uint64_t Spool::BytesHeld() const noexcept {
  const int fd = openat(node_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : fdopendir(fd);
  if (dir == nullptr) {
    if (fd >= 0) close(fd);
    return 0;
  }
  uint64_t sum = 0;
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
    struct stat st {};
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
      sum += static_cast<uint64_t>(st.st_size);
    }
  }
  closedir(dir);
  return sum;
}

int Spool::OpenFile(const char* name, Drop* why) const noexcept {
  constexpr int kFlags =
      O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;  // a FIFO must not block us
  const auto failed = [why] {
    *why = errno == ENOSPC || errno == EDQUOT ? Drop::kNoSpace : Drop::kIo;
    return -1;
  };
  Fd fd(openat(node_fd_, name, kFlags));
  if (fd.get() < 0 && errno == ENOENT) {
    if (BytesHeld() >= max_bytes_) {
      *why = Drop::kCap;
      return -1;
    }
    // While there is still room: on a full disk the counters could not be made.
    const Fd drops(OpenDrops());
    const int created = openat(node_fd_, name, kFlags | O_CREAT, 0600);
    return created >= 0 ? created : failed();
  }
  if (fd.get() < 0) return failed();
  struct stat st {};
  if (fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    *why = Drop::kIo;
    return -1;
  }
  if (static_cast<uint64_t>(st.st_size) >= max_bytes_) {
    *why = Drop::kCap;
    return -1;
  }
  return fd.release();
}

Append Spool::Write(std::string_view record) noexcept {
  if (!is_open()) return Append::kClosed;
  if (!enabled()) return Append::kDisabled;
  NameBuffer name;
  MakeFileName(&name);
  Drop why = Drop::kIo;
  const Fd fd(OpenFile(name.data(), &why));
  if (fd.get() < 0) {
    CountDrop(why);
    return Append::kDropped;
  }
  const ssize_t written = write(fd.get(), record.data(), record.size());
  if (written == static_cast<ssize_t>(record.size())) return Append::kWritten;
  // A torn record spoils only itself: the next one begins with a newline.
  const bool no_space = written >= 0 || errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  CountDrop(no_space ? Drop::kNoSpace : Drop::kIo);
  return Append::kDropped;
}

int Spool::OpenDrops() const noexcept {
  Fd fd(openat(node_fd_, kDropsName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  struct stat st {};
  if (fd.get() < 0 || fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return -1;
  // Allocated before it is mapped: on a full disk that fails here, instead of by SIGBUS when it is counted
  // in.
  if (st.st_size < static_cast<off_t>(kDropsBytes) && posix_fallocate(fd.get(), 0, kDropsBytes) != 0) {
    return -1;
  }
  return fd.release();
}

bool Spool::CountDrop(Drop why) const noexcept {
  if (!is_open()) return false;
  const Fd fd(OpenDrops());
  if (fd.get() < 0) return false;
  void* map = mmap(nullptr, kDropsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) return false;
  // Many processes count at once; an atomic add on the shared page loses none of them and needs no lock.
  __atomic_fetch_add(static_cast<uint64_t*>(map) + static_cast<std::size_t>(why), 1, __ATOMIC_RELAXED);
  munmap(map, kDropsBytes);
  return true;
}

DropCounts Spool::Drops() const noexcept {
  DropCounts counts{};
  if (!is_open()) return counts;
  const Fd fd(openat(node_fd_, kDropsName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() >= 0 && read(fd.get(), counts.data(), kDropsBytes) != static_cast<ssize_t>(kDropsBytes)) {
    counts.fill(0);
  }
  return counts;
}

bool Spool::PutNote(const char* name, std::string_view text) const noexcept {
  if (!is_open()) return false;
  const Fd fd(
      openat(node_fd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  return fd.get() >= 0 && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string_view Spool::GetNote(const char* name, char* buffer, std::size_t size) const noexcept {
  if (!is_open()) return {};
  const Fd fd(openat(node_fd_, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  const ssize_t n = fd.get() < 0 ? -1 : read(fd.get(), buffer, size);
  return n > 0 ? std::string_view(buffer, static_cast<std::size_t>(n)) : std::string_view();
}

void Spool::DropNote(const char* name) const noexcept {
  if (is_open()) unlinkat(node_fd_, name, 0);
}

}  // namespace goodput
